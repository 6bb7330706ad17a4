"""The summary of a run's rows: pooled error rates, percentiles, and denominators that hide nothing."""

import tracemalloc
from collections.abc import Iterator
from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sayagain.metrics.aggregate import aggregate
from sayagain.records import Failure, FailureKind, Phase, ResultRow, Status

FAILURE = Failure(kind=FailureKind.FINAL_TIMEOUT, phase=Phase.FINISH, message="nothing came")


def row(
    case: str,
    metric: str = "ttfs",
    value: float | None = None,
    *,
    target: str = "stt:acme/ear",
    detail: dict[str, float] | None = None,
    failed: bool = False,
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
        failure=FAILURE if failed else None,
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
