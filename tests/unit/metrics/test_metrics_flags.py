"""A value of time that was taken while our own loop was late is flagged, and nothing is hidden."""

import msgspec
import pytest

from sayagain.metrics import METRICS
from sayagain.metrics.aggregate import aggregate
from sayagain.metrics.flags import LAG_BOUND_MS, TIMED, FlagCounter, is_flagged
from sayagain.records import ResultRow, Status


def row(metric: str = "ttfs", lag: float | None = LAG_BOUND_MS + 1, value: float | None = 1.0) -> ResultRow:
    return ResultRow(
        case_id="c",
        target="stt:acme/ear",
        item_id="one",
        item_digest="0",
        repeat=0,
        metric=metric,
        metric_version=1,
        value=value,
        unit="ms",
        status=Status.SUCCEEDED,
        reason=None,
        detail=None,
        failure=None,
        transcript_sha256=None,
        transcript_chars=None,
        attempts=1,
        started="2026-01-01T00:00:00.000Z",
        connect_ms=None,
        loop_lag_ms=lag,
    )


def test_a_value_of_time_is_flagged_above_the_bound_and_not_at_it() -> None:
    assert is_flagged(row())
    assert not is_flagged(row(lag=LAG_BOUND_MS))


@pytest.mark.parametrize("spared", [row("wer"), row("loudness"), row(value=None), row(lag=None)])
def test_what_does_not_depend_on_time_or_has_no_value_is_not_flagged(spared: ResultRow) -> None:
    assert not is_flagged(spared)


def test_every_metric_that_is_flagged_exists() -> None:
    assert METRICS.keys() >= TIMED


def test_flags_are_counted_and_change_no_figure() -> None:
    late, punctual = row(), row(lag=0.1)
    (summary,) = aggregate([late, punctual, row("wer")])
    assert summary.flagged == 1
    assert (summary.metrics["ttfs"].n, summary.metrics["ttfs"].mean) == (2, 1.0)


def test_a_counter_lets_every_row_pass() -> None:
    other = msgspec.structs.replace(row(), target="stt:acme/nose")
    counter = FlagCounter()
    rows = [row(), row(lag=0.0), other, other]
    assert list(counter.noted(rows)) == rows
    assert counter.flagged == {"stt:acme/ear": 1, "stt:acme/nose": 2}
