"""Error rates against hand counts and against jiwer."""

from collections.abc import Callable

import jiwer
import pytest
from hypothesis import given
from hypothesis import strategies as st
from whisper_normalizer.english import EnglishTextNormalizer

from sayagain import metrics
from sayagain.metrics.accuracy import COMPUTATIONS, align, primary_metric, reference_length, wer_whisper
from sayagain.metrics.landmarks import Landmarks
from sayagain.records import EventKind, FinishedCase, Item, Result, Status, Trace

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
    results = scored(stt_case(FINAL, text="...", transcript="something else"))
    for name, insertions in (("wer", 2), ("cer", 14)):
        assert results[name].value is None
        assert results[name].reason
        assert results[name].failure is None
        assert results[name].detail == {"S": 0, "D": 0, "I": insertions, "N": 0}


def test_an_empty_transcript_is_a_poor_score_and_not_a_failure(stt_case: Build) -> None:
    results = scored(stt_case(FINAL, transcript=""))
    assert results["wer"].value == 100
    assert results["wer"].detail == {"S": 0, "D": 4, "I": 0, "N": 4}


@pytest.mark.parametrize(
    ("reference", "hypothesis", "ours", "published"),
    [
        ("ten o'clock", "10:00", 0, 100),  # formats that mean the same
        ("-5", "5", 50, 0),  # mistakes
        ("C++", "C", 200 / 3, 0),
    ],
)
def test_our_rules_charge_mistakes_and_the_published_ones_stay_beside_them(
    stt_case: Build, reference: str, hypothesis: str, ours: float, published: float
) -> None:
    results = scored(stt_case(FINAL, text=reference, transcript=hypothesis))
    assert results["wer"].value == pytest.approx(ours)
    assert results["wer_whisper"].value == pytest.approx(published)
    assert (results["wer"].version, results["cer"].version, results["wer_whisper"].version) == (2, 2, 1)


@given(WORDS.filter(bool), WORDS)
def test_the_published_score_is_that_of_jiwer_after_whisper_normalizer(
    reference: list[str], hypothesis: list[str]
) -> None:
    rules = EnglishTextNormalizer()
    item = Item(id="i", text=" ".join(reference), sha256="0")
    trace = Trace(started="", transcript=" ".join(hypothesis))
    measured = wer_whisper(item, trace, Landmarks())
    expected = rules(item.text)
    if expected.split():
        assert measured.value == pytest.approx(100 * jiwer.wer(expected, rules(" ".join(hypothesis))))
    else:
        assert measured.value is None


@pytest.mark.parametrize("language", ["en", "en-US", "EN_gb"])
def test_every_english_gets_both_scores_and_nothing_to_remark(stt_case: Build, language: str) -> None:
    results = scored(stt_case(FINAL, text="Twenty-five", transcript="25", language=language))
    assert (results["wer"].value, results["wer"].reason) == (0, None)
    assert results["wer_whisper"].value == 0


@pytest.mark.parametrize("language", ["de", "hi", "eng-like", ""])
def test_a_language_without_rules_says_basic_normalization_in_its_results(stt_case: Build, language: str) -> None:
    results = scored(stt_case(FINAL, text="Twenty-five", transcript="25", language=language))
    for name in ("wer", "cer"):
        assert results[name].value is not None
        assert "basic normalization" in (results[name].reason or "")
    published = results["wer_whisper"]
    assert (published.status, published.value, published.detail) == (Status.SUCCEEDED, None, None)
    assert published.reason


def test_a_language_without_spaces_has_no_words_to_count_and_is_judged_by_its_characters(stt_case: Build) -> None:
    results = scored(stt_case(FINAL, text="今日は晴れです", transcript="今日は雨です", language="ja-JP"))
    assert results["wer"].value is None
    assert "cer" in (results["wer"].reason or "")
    assert results["cer"].value == pytest.approx(100 * 2 / 7)  # 晴れ became 雨


@pytest.mark.parametrize(
    ("language", "metric"),
    [("en", "wer"), ("hi", "wer"), ("ko", "wer"), ("ja", "cer"), ("zh-Hant", "cer"), ("th", "cer")],
)
def test_the_language_says_which_error_rate_is_primary(language: str, metric: str) -> None:
    assert primary_metric(language) == metric


@given(st.text(max_size=30), st.sampled_from(["en", "de", "ja"]))
def test_the_length_known_beforehand_is_the_one_that_the_score_divides_by(text: str, language: str) -> None:
    item, trace = Item(id="i", text=text, sha256="0", language=language), Trace(started="", transcript="")
    for name, compute in COMPUTATIONS.items():
        detail = compute(item, trace, Landmarks()).detail
        assert reference_length(name, item) == (None if detail is None else detail["N"])
