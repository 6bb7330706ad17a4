"""What the transcript says: word and character error rates, from one alignment each.

Substitutions (S), deletions (D) and insertions (I) are those of a minimal edit script with unit costs
(Levenshtein 1966), as jiwer counts them. N is the length of the normalized reference.
"""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

from rapidfuzz.distance import Levenshtein

from sayagain.metrics.definitions import CannotMeasureError, Computation, Measurement
from sayagain.metrics.landmarks import Landmarks
from sayagain.metrics.normalizer import normalize
from sayagain.records import Item, Trace

_CACHED_REFERENCES = 256


class EditCounts(NamedTuple):
    """The errors of one alignment, and the length N of the reference in words or characters."""

    substitutions: int
    deletions: int
    insertions: int
    reference: int

    @property
    def errors(self) -> int:
        """S + D + I."""
        return self.substitutions + self.deletions + self.insertions


def align(reference: Sequence[str], hypothesis: Sequence[str]) -> EditCounts:
    """Align two sequences of words, or two strings by code point, and count what was done to the reference."""
    substitutions = deletions = insertions = 0
    for tag, _, _ in Levenshtein.editops(reference, hypothesis).as_list():
        if tag == "replace":
            substitutions += 1
        elif tag == "delete":
            deletions += 1
        else:
            insertions += 1
    return EditCounts(substitutions, deletions, insertions, len(reference))


def wer(item: Item, trace: Trace, landmarks: Landmarks) -> Measurement:
    """Word error rate in percent: (S + D + I) ÷ N over the words of the normalized texts."""
    hypothesis = normalize(_transcript(trace), item.language).split()
    return _error_rate(align(_reference_words(item.text, item.language), hypothesis), "words")


def cer(item: Item, trace: Trace, landmarks: Landmarks) -> Measurement:
    """Character error rate in percent: (S + D + I) ÷ N over the code points of the normalized texts.

    Spaces between words are characters too, as in jiwer.
    """
    hypothesis = normalize(_transcript(trace), item.language)
    return _error_rate(align(normalize(item.text, item.language), hypothesis), "characters")


@lru_cache(maxsize=_CACHED_REFERENCES)
def _reference_words(text: str, language: str) -> tuple[str, ...]:
    return tuple(normalize(text, language).split())


def _transcript(trace: Trace) -> str:
    if trace.transcript is None:
        raise CannotMeasureError("the answer holds no final segment")
    return trace.transcript


def _error_rate(counts: EditCounts, unit: str) -> Measurement:
    detail: dict[str, float] = {
        "S": counts.substitutions,
        "D": counts.deletions,
        "I": counts.insertions,
        "N": counts.reference,
    }
    if counts.reference == 0:
        return Measurement(None, f"the normalized reference has no {unit}", detail)
    return Measurement(100 * counts.errors / counts.reference, detail=detail)


COMPUTATIONS: Mapping[str, Computation] = {"wer": wer, "cer": cer}
"""The metrics of this family by name."""
