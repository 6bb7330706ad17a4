"""What a judge heard, against hand counts; and what is no value and no failure."""

import pytest

from sayagain import metrics
from sayagain.engines.registry import find
from sayagain.metrics.accuracy import EditCounts, reference_length
from sayagain.metrics.intelligibility import METRIC, compare, intelligibility, is_judged
from sayagain.records import (
    Attempt,
    Benchmark,
    Case,
    Failure,
    FailureKind,
    FinishedCase,
    Item,
    Phase,
    Status,
    Target,
    Trace,
)

FLOOR = EditCounts(2, 1, 0, 90)
PROMPT = Item(id="i", text="Your order, number 42, is on its way.", sha256="0")


def test_the_value_is_the_word_error_rate_of_what_was_heard_with_the_floor_beside_it() -> None:
    result = intelligibility(PROMPT, "your order number forty-two is in its way", "the judge 1", FLOOR)
    assert result.value == pytest.approx(100 / 8)
    assert result.detail == {"S": 1, "D": 0, "I": 0, "N": 8, "floor_errors": 3, "floor_words": 90}
    assert result.reason == "heard by the judge 1"


def test_speech_of_which_nothing_is_heard_is_unintelligible_and_no_failure() -> None:
    result = intelligibility(PROMPT, "", "the judge 1", FLOOR)
    assert (result.status, result.value) == (Status.SUCCEEDED, 100)


def test_a_prompt_without_words_has_no_rate() -> None:
    result = intelligibility(Item(id="i", text="...", sha256="0"), "hm", "the judge 1", FLOOR)
    assert (result.status, result.value) == (Status.SUCCEEDED, None)


def test_the_floor_is_counted_as_the_value_is() -> None:
    assert tuple(compare(PROMPT, "your older number 42 is on its way")) == (1, 0, 0, 8)


@pytest.mark.parametrize(("language", "judged"), [("en", True), ("en-GB", True), ("de", False), ("ja", False)])
def test_only_english_is_judged_and_only_english_owes_words(language: str, judged: bool) -> None:
    item = Item(id="i", text="guten Tag", sha256="0", language=language)
    assert is_judged(item) is judged
    assert reference_length(METRIC, item) == (2 if judged else None)


def finished(failure: Failure | None) -> FinishedCase:
    target = Target(benchmark=Benchmark.TTS, provider="acme", model="mouth")
    attempt = Attempt(number=1, trace=Trace(started=""), failure=failure)
    return FinishedCase(case=Case.of(target, PROMPT), attempts=(attempt,))


def test_a_failed_case_owes_a_failed_row_to_the_judge_too_with_its_words() -> None:
    failure = Failure(kind=FailureKind.EMPTY, phase=Phase.RECEIVE, message="nothing came")
    row = metrics.failed_result(METRIC, finished(failure))
    assert row is not None
    assert (row.status, row.failure, row.detail) == (Status.FAILED, failure, {"N": 8})
    assert metrics.failed_result(METRIC, finished(None)) is None


def test_the_judge_is_the_one_that_the_definition_names() -> None:
    from sayagain.runner.listening import ENGINE, MODEL

    definition = metrics.METRICS[METRIC].definition
    assert f"{ENGINE} {MODEL}" in definition
    engine = find(ENGINE)
    if engine.installed():
        assert str(engine.version()) in definition.split()
