"""Error rates against hand counts and against jiwer."""

from collections.abc import Callable

import jiwer
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sayagain import metrics
from sayagain.metrics.accuracy import align
from sayagain.metrics.normalizer import normalize
from sayagain.records import EventKind, FinishedCase, Result

Build = Callable[..., FinishedCase]

WORDS = st.lists(st.sampled_from(["a", "b", "ab", "the", "then", "é", "kettle", "-"]), max_size=12)
FINAL = [(10, EventKind.STREAM_STARTED), (2510, EventKind.END_SENT), (2600, EventKind.FINAL, "x")]


def scored(finished: FinishedCase) -> dict[str, Result]:
    return {result.metric: result for result in metrics.score(finished)}


@pytest.mark.parametrize(
    ("reference", "hypothesis", "counts"),
    [
        ("put the kettle on", "put the kettle on", (0, 0, 0, 4)),
        ("put the kettle on", "put a kettle on", (1, 0, 0, 4)),
        ("put the kettle on", "put kettle on", (0, 1, 0, 4)),
        ("put the kettle on", "put the old kettle on", (0, 0, 1, 4)),
        ("put the kettle on", "", (0, 4, 0, 4)),
        ("", "put the kettle", (0, 0, 3, 0)),
        ("", "", (0, 0, 0, 0)),
    ],
)
def test_the_counts_are_those_one_would_make_by_hand(
    reference: str, hypothesis: str, counts: tuple[int, int, int, int]
) -> None:
    assert tuple(align(reference.split(), hypothesis.split())) == counts


@given(WORDS.filter(bool), WORDS)
def test_word_counts_are_those_of_jiwer(reference: list[str], hypothesis: list[str]) -> None:
    expected = jiwer.process_words(" ".join(reference), " ".join(hypothesis))
    counts = align(reference, hypothesis)
    assert (counts.substitutions, counts.deletions, counts.insertions) == (
        expected.substitutions,
        expected.deletions,
        expected.insertions,
    )
    assert counts.errors / counts.reference == pytest.approx(expected.wer)


@given(WORDS.filter(bool), WORDS)
def test_character_counts_are_those_of_jiwer(reference: list[str], hypothesis: list[str]) -> None:
    expected = jiwer.process_characters(" ".join(reference), " ".join(hypothesis))
    counts = align(" ".join(reference), " ".join(hypothesis))
    assert counts.errors / counts.reference == pytest.approx(expected.cer)


@given(WORDS)
def test_a_text_has_no_errors_against_itself(words: list[str]) -> None:
    assert align(words, words).errors == 0


@given(WORDS, WORDS)
def test_exchanging_the_two_texts_exchanges_deletions_and_insertions_in_number(
    reference: list[str], hypothesis: list[str]
) -> None:
    there, back = align(reference, hypothesis), align(hypothesis, reference)
    assert there.errors == back.errors
    assert there.deletions - there.insertions == len(reference) - len(hypothesis)


def test_wer_and_cer_are_percent_with_their_counts(stt_case: Build) -> None:
    results = scored(stt_case(FINAL, text="Put the kettle on.", transcript="put a kettle on"))
    assert results["wer"].value == 25
    assert results["wer"].detail == {"S": 1, "D": 0, "I": 0, "N": 4}
    # "the" becomes "a": three characters of 17.
    assert results["cer"].value == pytest.approx(100 * 3 / 17)
    assert results["cer"].detail is not None
    assert results["cer"].detail["N"] == 17


def test_more_insertions_than_reference_words_give_more_than_100_percent(stt_case: Build) -> None:
    results = scored(stt_case(FINAL, text="stop", transcript="stop it right now"))
    assert results["wer"].value == 300


def test_a_reference_of_which_normalization_leaves_nothing_gives_insertions_and_no_ratio(stt_case: Build) -> None:
    results = scored(stt_case(FINAL, text="um [noise]", transcript="something else"))
    for name, insertions in (("wer", 2), ("cer", 14)):
        assert results[name].value is None
        assert results[name].reason
        assert results[name].failure is None
        assert results[name].detail == {"S": 0, "D": 0, "I": insertions, "N": 0}


def test_an_empty_transcript_is_a_poor_score_and_not_a_failure(stt_case: Build) -> None:
    results = scored(stt_case(FINAL, transcript=""))
    assert results["wer"].value == 100
    assert results["wer"].detail == {"S": 0, "D": 4, "I": 0, "N": 4}


@pytest.mark.parametrize("language", ["en", "en-US", "EN_gb"])
def test_every_english_gets_english_rules(language: str) -> None:
    assert normalize("Twenty-five colours, don't!", language) == "25 colors do not"


@pytest.mark.parametrize("language", ["de", "", "eng-like", "hi"])
def test_other_languages_get_no_english_rules(language: str) -> None:
    assert normalize("Twenty-five colours", language) == "twenty five colours"


def test_other_languages_keep_the_vowel_signs_of_their_words() -> None:
    assert normalize("हिन्दी", "hi").split() == ["हिन्दी"]


@given(st.text(max_size=40), st.sampled_from(["en", "de"]))
def test_a_normalized_text_is_words_parted_by_single_spaces(text: str, language: str) -> None:
    normalized = normalize(text, language)
    assert normalized == " ".join(normalized.split())
