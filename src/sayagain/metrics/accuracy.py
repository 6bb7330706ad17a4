"""What the transcript says: word and character error rates, from one alignment each.

Substitutions (S), deletions (D) and insertions (I) are those of a minimal edit script with unit costs
(Levenshtein 1966), as jiwer counts them. N is the length of the normalized reference.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

from rapidfuzz.distance import Levenshtein

from sayagain.metrics import normalization
from sayagain.metrics.definitions import CannotMeasureError, Computation, Measurement
from sayagain.metrics.landmarks import Landmarks
from sayagain.metrics.normalizer import CACHED_TEXTS, normalize, whisper_english
from sayagain.records import Item, Trace


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


def mistakes(reference: Sequence[str], hypothesis: Sequence[str]) -> Iterator[tuple[str | None, str | None]]:
    """Yield what `align` counts: a substitution as (said, heard), a deletion as (said, None), (None, heard)."""
    for edit in Levenshtein.editops(reference, hypothesis):
        said = None if edit.tag == "insert" else reference[edit.src_pos]
        heard = None if edit.tag == "delete" else hypothesis[edit.dest_pos]
        yield said, heard


def primary_metric(language: str) -> str:
    """Return the error rate a language is judged by: `cer` where no spaces part its words, else `wer`."""
    return "wer" if normalization.uses_spaces(language) else "cer"


def wer(item: Item, trace: Trace, landmarks: Landmarks) -> Measurement:
    """Word error rate in percent: (S + D + I) ÷ N over the words of the normalized texts.

    Without a value where the language has no spaces: there are no words to count, and `cer` is the primary metric.
    """
    if primary_metric(item.language) != "wer":
        return Measurement(None, "the language is written without spaces; cer is its primary metric")
    hypothesis = normalize(_transcript(trace), item.language).split()
    counts = align(_reference_words(item.text, item.language), hypothesis)
    return _error_rate(counts, "words", item.language)


def cer(item: Item, trace: Trace, landmarks: Landmarks) -> Measurement:
    """Character error rate in percent: (S + D + I) ÷ N over the code points of the normalized texts.

    Spaces between words are characters too, as in jiwer.
    """
    hypothesis = normalize(_transcript(trace), item.language)
    return _error_rate(align(normalize(item.text, item.language), hypothesis), "characters", item.language)


def wer_whisper(item: Item, trace: Trace, landmarks: Landmarks) -> Measurement:
    """Word error rate under whisper-normalizer's English rules, to be held against published figures.

    Without a value where the item is not English.
    """
    if not _is_english(item.language):
        return Measurement(None, "the item is not English, and the rules are")
    hypothesis = whisper_english(_transcript(trace)).split()
    return _error_rate(align(_whisper_words(item.text), hypothesis), "words", item.language)


def reference_length(metric: str, item: Item) -> int | None:
    """Return the N that a metric divides by for an item, or None when it has no value for the item's language.

    It is known without an answer, so that a failed case can be counted as if everything had been left out.
    """
    length = _LENGTHS.get(metric)
    return None if length is None else length(item)


@lru_cache(maxsize=CACHED_TEXTS)
def _reference_words(text: str, language: str) -> tuple[str, ...]:
    return tuple(normalize(text, language).split())


@lru_cache(maxsize=CACHED_TEXTS)
def _whisper_words(text: str) -> tuple[str, ...]:
    return tuple(whisper_english(text).split())


def _is_english(language: str) -> bool:
    return normalization.rules_for(language) == normalization.NAME


def _transcript(trace: Trace) -> str:
    if trace.transcript is None:
        raise CannotMeasureError("the answer holds no final segment")
    return trace.transcript


def _error_rate(counts: EditCounts, unit: str, language: str) -> Measurement:
    detail: dict[str, float] = {
        "S": counts.substitutions,
        "D": counts.deletions,
        "I": counts.insertions,
        "N": counts.reference,
    }
    if counts.reference == 0:
        return Measurement(None, f"the normalized reference has no {unit}", detail)
    reason = None if _is_english(language) else normalization.rules_for(language)
    return Measurement(100 * counts.errors / counts.reference, reason, detail)


def _words_of(item: Item) -> int | None:
    return len(_reference_words(item.text, item.language)) if primary_metric(item.language) == "wer" else None


def _characters_of(item: Item) -> int:
    return len(normalize(item.text, item.language))


def _whisper_words_of(item: Item) -> int | None:
    return len(_whisper_words(item.text)) if _is_english(item.language) else None


def _english_words_of(item: Item) -> int | None:
    return _words_of(item) if _is_english(item.language) else None


_LENGTHS: Mapping[str, Callable[[Item], int | None]] = {
    "wer": _words_of,
    "cer": _characters_of,
    "wer_whisper": _whisper_words_of,
    "intelligibility_wer": _english_words_of,
}

COMPUTATIONS: Mapping[str, Computation] = {"wer": wer, "cer": cer, "wer_whisper": wer_whisper}
"""The metrics of this family by name."""
