"""Whether a machine understands synthesized speech: the word error rate of what a judge heard in it.

A judge errs on human speech, too. Its own rate there, measured in the same run, is the floor below which a value
says nothing about a voice, and it is in the detail of each result.
"""

from sayagain.metrics import METRICS, normalization
from sayagain.metrics.accuracy import EditCounts, align
from sayagain.metrics.normalizer import normalize
from sayagain.records import Item, Result, Status

METRIC = "intelligibility_wer"


def compare(item: Item, heard: str) -> EditCounts:
    """Align what was heard with an item's text, both normalized."""
    return align(normalize(item.text, item.language).split(), normalize(heard, item.language).split())


def is_judged(item: Item) -> bool:
    """Tell whether the judge knows the language of an item."""
    return normalization.rules_for(item.language) == normalization.NAME


def intelligibility(item: Item, heard: str, judge: str, floor: EditCounts) -> Result:
    """Return the word error rate, in percent, of what the named judge heard where an item's text was spoken."""
    counts = compare(item, heard)
    detail: dict[str, float] = {
        "S": counts.substitutions,
        "D": counts.deletions,
        "I": counts.insertions,
        "N": counts.reference,
        "floor_errors": floor.errors,
        "floor_words": floor.reference,
    }
    if counts.reference == 0:
        return without_value("the normalized reference has no words")
    return _result(100 * counts.errors / counts.reference, f"heard by {judge}", detail)


def without_value(reason: str) -> Result:
    """Return a result that says why the judge gave no value: that is not the target's failure."""
    return _result(None, reason, None)


def _result(value: float | None, reason: str, detail: dict[str, float] | None) -> Result:
    info = METRICS[METRIC]
    return Result(
        metric=METRIC,
        version=info.version,
        unit=info.unit,
        status=Status.SUCCEEDED,
        value=value,
        reason=reason,
        detail=detail,
    )
