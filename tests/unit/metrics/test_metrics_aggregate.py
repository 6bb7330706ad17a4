"""The summary of a run's rows: pooled error rates, percentiles, and denominators that hide nothing."""

import tracemalloc
from collections.abc import Iterator
from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sayagain.metrics.aggregate import aggregate
from sayagain.metrics.definitions import UNCHARGED
from sayagain.records import Failure, FailureKind, Phase, ResultRow, Status


def failure(kind: FailureKind = FailureKind.FINAL_TIMEOUT) -> Failure:
    return Failure(kind=kind, phase=Phase.FINISH, message="nothing came")


def row(
    case: str,
    metric: str = "ttfs",
    value: float | None = None,
    *,
    target: str = "stt:acme/ear",
    detail: dict[str, float] | None = None,
    failed: bool = False,
    kind: FailureKind = FailureKind.FINAL_TIMEOUT,
) -> ResultRow:
    return ResultRow(
        case_id=case,
        target=target,
        item_id="one",
        item_digest="0",
        repeat=0,
        metric=metric,
        metric_version=1,
        value=value,
        unit="%" if metric in {"wer", "cer"} else "ms",
        status=Status.FAILED if failed else Status.SUCCEEDED,
        reason=None,
        detail=detail,
        failure=failure(kind) if failed else None,
        transcript_sha256=None,
        transcript_chars=None,
        attempts=1,
        started="2026-01-01T00:00:00.000Z",
        connect_ms=None,
        loop_lag_ms=0.0,
    )


def wer(case: str, s: int, d: int, i: int, n: int) -> ResultRow:
    value = 100 * (s + d + i) / n if n else None
    return row(case, "wer", value, detail={"S": s, "D": d, "I": i, "N": n})


def test_no_rows_make_no_summary() -> None:
    assert aggregate([]) == ()


def test_the_error_rate_is_pooled_over_words_and_not_the_mean_of_the_utterances() -> None:
    (summary,) = aggregate([wer("a", 1, 0, 0, 2), wer("b", 0, 1, 1, 18)])
    rate = summary.error_rates["wer"]
    assert rate.percent == pytest.approx(100 * 3 / 20)
    assert (rate.substitutions, rate.deletions, rate.insertions, rate.reference) == (1, 1, 1, 20)
    assert summary.metrics["wer"].mean == pytest.approx((50 + 100 * 2 / 18) / 2)


def test_insertions_against_an_empty_reference_are_kept_apart() -> None:
    (summary,) = aggregate([wer("a", 1, 0, 0, 4), wer("b", 0, 0, 7, 0)])
    rate = summary.error_rates["wer"]
    assert rate.percent == 25
    assert rate.insertions == 0
    assert rate.insertions_without_reference == 7
    assert (summary.metrics["wer"].n, summary.metrics["wer"].undefined) == (1, 1)


def test_failures_are_counted_as_deletions_beside_the_answered_cases_and_never_among_them() -> None:
    answered = [wer("a", 1, 0, 1, 6), wer("b", 0, 2, 0, 4)]
    failed = [row("c", "wer", detail={"N": 10}, failed=True), row("d", "wer", failed=True)]
    (summary,) = aggregate([*answered, *failed])
    rate = summary.error_rates["wer"]
    assert rate.percent == pytest.approx(100 * 4 / 10)
    assert rate.percent_with_failures == pytest.approx(100 * (4 + 10) / (10 + 10))
    assert (rate.deletions, rate.reference, rate.reference_failed) == (2, 10, 10)
    assert (summary.metrics["wer"].n, summary.metrics["wer"].failed) == (2, 2)


def test_a_target_that_failed_everything_has_left_out_everything() -> None:
    (summary,) = aggregate([row("a", "wer", detail={"N": 3}, failed=True)])
    rate = summary.error_rates["wer"]
    assert (rate.percent, rate.percent_with_failures) == (None, 100)


@pytest.mark.parametrize("kind", sorted(FailureKind))
def test_only_failures_that_say_something_about_the_target_count_as_deletions(kind: FailureKind) -> None:
    (summary,) = aggregate([wer("a", 0, 0, 0, 5), row("b", "wer", detail={"N": 5}, failed=True, kind=kind)])
    charged = 0 if kind in UNCHARGED else 50
    assert summary.error_rates["wer"].percent_with_failures == charged
    ours = {FailureKind.CANCELLED, FailureKind.INTERNAL, FailureKind.DATASET, FailureKind.QUOTA}
    theirs = {FailureKind.SERVER_ERROR, FailureKind.EMPTY, FailureKind.IDLE_TIMEOUT, FailureKind.RATE_LIMITED}
    assert kind not in ours | theirs or charged == (0 if kind in ours else 50)


COUNTS = st.tuples(*[st.integers(0, 20)] * 3, st.integers(1, 40))


@given(st.lists(COUNTS, max_size=8), st.lists(st.integers(0, 40), max_size=8))
def test_failures_as_deletions_is_the_rate_that_leaving_everything_out_would_have_given(
    answered: list[tuple[int, int, int, int]], lost: list[int]
) -> None:
    rows = [wer(f"a{number}", *counts) for number, counts in enumerate(answered)]
    failed = [row(f"b{number}", "wer", detail={"N": n}, failed=True) for number, n in enumerate(lost)]
    silent = [wer(f"b{number}", 0, n, 0, n) for number, n in enumerate(lost)]
    for summary in aggregate([*rows, *failed]):
        (same,) = aggregate([*rows, *silent])
        assert summary.error_rates["wer"].percent_with_failures == same.error_rates["wer"].percent


def test_the_error_rate_of_characters_is_primary_where_there_are_no_words() -> None:
    undefined = row("a", "wer")
    assert aggregate([undefined, row("a", "cer", 5.0)])[0].primary == "cer"
    assert aggregate([wer("a", 1, 0, 0, 4), row("a", "cer", 5.0)])[0].primary == "wer"
    assert aggregate([row("a", "ttfs", 5.0)])[0].primary == "wer"


def test_a_run_of_empty_references_has_no_pooled_rate() -> None:
    (summary,) = aggregate([wer("a", 0, 0, 2, 0)])
    assert summary.error_rates["wer"].percent is None


def test_a_case_is_failed_when_any_of_its_rows_is_and_is_counted_once() -> None:
    rows = [
        row("a", "ttft", 1.0),
        row("b", "ttft", failed=True),
        row("a", "ttfs", failed=True),
        row("b", "ttfs", failed=True),
        row("c", "ttft", 3.0),
        row("c", "ttfs", 4.0),
    ]
    (summary,) = aggregate(rows)
    assert (summary.cases_succeeded, summary.cases_failed) == (1, 2)
    ttft = summary.metrics["ttft"]
    assert (ttft.n, ttft.undefined, ttft.failed) == (2, 0, 1)


def test_a_metric_without_any_value_has_no_figures() -> None:
    (summary,) = aggregate([row("a", failed=True)])
    distribution = summary.metrics["ttfs"]
    assert (distribution.n, distribution.failed) == (0, 1)
    assert (distribution.mean, distribution.p50, distribution.p95) == (None, None, None)


def test_percentiles_are_interpolated_between_order_statistics() -> None:
    (summary,) = aggregate([row(str(value), value=value) for value in (40.0, 10.0, 30.0, 20.0)])
    distribution = summary.metrics["ttfs"]
    assert distribution.p50 == pytest.approx(25)
    assert distribution.p95 == pytest.approx(30 + 0.85 * 10)


def test_targets_are_summarized_apart_in_order_of_appearance() -> None:
    rows = [row("a", value=1.0, target="t2"), row("b", value=2.0, target="t1"), row("c", value=3.0, target="t2")]
    assert [(s.target, s.metrics["ttfs"].n) for s in aggregate(rows)] == [("t2", 2), ("t1", 1)]


@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=30), st.randoms())
def test_the_order_of_rows_does_not_matter(values: list[float], random: Random) -> None:
    rows = [row(str(index), value=value) for index, value in enumerate(values)]
    shuffled = list(rows)
    random.shuffle(shuffled)
    (first,), (second,) = aggregate(rows), aggregate(shuffled)
    assert first.metrics["ttfs"].p95 == second.metrics["ttfs"].p95
    assert first.metrics["ttfs"].p50 == pytest.approx(float(np.median(values)))


def test_memory_holds_numbers_and_case_ids_and_not_the_rows() -> None:
    cases = 2_000

    def rows() -> Iterator[ResultRow]:
        for index in range(cases):
            case = f"{index:032x}"
            yield wer(case, 1, 0, 0, 15)
            for metric in ("ttft", "ttfs", "finalization", "audio_to_final"):
                yield row(case, metric, float(index))

    aggregate([wer("warm", 1, 0, 0, 15)])
    tracemalloc.start()
    aggregate(rows())
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak / cases < 400
