"""What a client reports is joined with what really happened, moment by moment."""

from typing import Any

import pytest

from sayagain.calibration.measuring import level_of, percentile
from sayagain.calibration.truth import METRICS, Errors, Heard, Reported, Spoken, errors
from sayagain.errors import SayagainError

MS = 1_000_000


def line(event: str, ms: float, connection: int = 1, **more: Any) -> dict[str, Any]:
    return {"t_ns": int(ms * MS), "endpoint": "e", "connection": connection, "event": event, **more}


HEARD = [
    line("partial_out", 100),
    line("partial_out", 200),
    line("flush_in", 300, audio_sha256="a"),
    line("end_in", 301, audio_sha256="a"),
    line("final_out", 400),
]
SPOKEN = [line("text_in", 10, 2, sha256="t"), line("audio_out", 110, 2), line("audio_out", 130, 2)]


def heard(**changes: Any) -> Heard:
    values: dict[str, Any] = {
        "key": "a",
        "partials": [101 * MS, 203 * MS],
        "final": 402 * MS,
        "ended": 300 * MS,
        "left": [202 * MS],
        "late": [2 * MS],
    }
    return Heard(**values | changes)


def test_each_moment_has_its_error() -> None:
    spoken = Spoken("t", 9 * MS, [112 * MS, 133 * MS])
    found = errors(Reported([heard()], [spoken]), HEARD + SPOKEN)
    assert found.ms == {
        "ttft": [1.0, 3.0],
        "finalization": [(402 - 300) - (400 - 301)],
        "pacing": [2.0],
        "ttfa": [(112 - 9) - (110 - 10), (133 - 9) - (130 - 10)],
    }
    assert found.lost == 0


def test_only_moments_that_count_are_taken() -> None:
    spoken = Spoken("t", 9 * MS, [112 * MS, 133 * MS])
    found = errors(Reported([heard()], [spoken]), HEARD + SPOKEN, lambda instant_ns: instant_ns < 120 * MS)
    assert found.ms == {"ttft": [1.0], "finalization": [], "pacing": [], "ttfa": [(112 - 9) - (110 - 10)]}
    assert found.lost == 0


@pytest.mark.parametrize(
    "reported",
    [
        Reported([heard(key="unknown")]),
        Reported([heard(partials=[101 * MS])]),
        Reported([], [Spoken("t", 0, [1])]),
        Reported([], [Spoken("unknown", 0, [1, 2])]),
    ],
)
def test_a_case_that_does_not_match_is_counted_as_lost(reported: Reported) -> None:
    found = errors(reported, HEARD + SPOKEN)
    assert found.lost == 1
    assert not any(found.ms.values())


def test_a_level_has_both_percentiles_of_every_metric() -> None:
    level = level_of(8, Errors({metric: [1.0, 2.0, 3.0] for metric in METRICS}))
    assert level.p50_ms == dict.fromkeys(METRICS, 2.0)
    assert level.p99_ms == dict.fromkeys(METRICS, percentile([1.0, 2.0, 3.0], 99))
    assert level.samples == dict.fromkeys(METRICS, 3)


def test_a_metric_without_a_single_error_is_named() -> None:
    with pytest.raises(SayagainError, match="ttfa at 8 streams"):
        level_of(8, Errors({metric: [] if metric == "ttfa" else [1.0] for metric in METRICS}))
