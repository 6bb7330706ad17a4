"""What a reader of a comparison has to know beside its numbers, in sentences."""

from collections.abc import Iterable, Iterator

from sayagain.analysis.cases import Cases, Run
from sayagain.analysis.model import CaseComparison
from sayagain.analysis.outcomes import Outcome, replays
from sayagain.records import RunHeader


def notes(a: Run, b: Run, first: Cases, second: Cases, cases: Iterable[CaseComparison]) -> Iterator[str]:
    """Yield what the outcomes of two runs alone would not tell."""
    outcomes = {case.outcome for case in cases}
    if Outcome.MISSING in outcomes and b.counts.not_run:
        yield _perhaps_not_run("missing", "B", b.counts.not_run)
    if Outcome.NEW in outcomes and a.counts.not_run:
        yield _perhaps_not_run("new", "A", a.counts.not_run)
    changed = len(_changed_items(first, second))
    if changed:
        yield f"items with other content under the same id: {changed}; their cases are missing and new"
    parent = b.header.replay_of
    if parent and replays(b.header, a.header) and a.sha256 not in (None, parent.artifact_sha256):
        yield "B names A as its parent, but the digest of another file than this one"


def nothing_in_common(a: RunHeader, b: RunHeader) -> str:
    """Say why two runs have no case in common, as far as their headers tell."""
    text = "no case of A is in B, so there is nothing to compare"
    targets = [{target.key for target in header.targets} for header in (a, b)]
    datasets = [{dataset.id for dataset in header.datasets} for header in (a, b)]
    for what, (one, other) in (("target", targets), ("dataset", datasets)):
        if not one & other:
            return f"{text}: A has the {what}s {_listed(one)}, and B has {_listed(other)}"
    return f"{text}: the content of every item differs, or the samples share none"


def _perhaps_not_run(outcome: str, side: str, count: int) -> str:
    return f"{count} planned cases of {side} never ran; they may be among the {outcome} ones"


def _changed_items(first: Cases, second: Cases) -> set[str]:
    a, b = ({slot.item_id: slot.item_digest for slot in cases} for cases in (first, second))
    return {item for item in a.keys() & b.keys() if a[item] != b[item]}


def _listed(names: set[str]) -> str:
    shown = sorted(names)[:5]
    return ", ".join(f"{name!a}" for name in shown) + (", ..." if len(names) > len(shown) else "")
