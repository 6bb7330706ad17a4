"""What `score` promises for any case: every row that is owed, and no more than one failure for each fault."""

import subprocess
import sys
from collections.abc import Callable
from importlib.metadata import version

import pytest

from sayagain import metrics
from sayagain.metrics import accuracy, intelligibility, latency, normalization, sound, synthesis
from sayagain.metrics.definitions import Measurement
from sayagain.records import (
    Benchmark,
    EventKind,
    Failure,
    FailureKind,
    FinishedCase,
    Phase,
    Result,
    Status,
    Target,
)

Build = Callable[..., FinishedCase]

GOOD = [
    (0, EventKind.CONNECTED),
    (10, EventKind.STREAM_STARTED),
    (900, EventKind.PARTIAL, "put"),
    (2510, EventKind.END_SENT),
    (2600, EventKind.FINAL, "put the kettle on"),
]
SECRET_TEXT = "xylophone"


def by_name(results: tuple[Result, ...]) -> dict[str, Result]:
    return {result.metric: result for result in results}


def target(benchmark: Benchmark, **settings: str) -> Target:
    return Target(benchmark=benchmark, provider="acme", model="m", settings=settings)


def test_a_streaming_target_owes_latencies_and_error_rates_but_no_rtfx() -> None:
    assert metrics.owed(target(Benchmark.STT)) == (
        "ttft",
        "ttfs",
        "finalization",
        "audio_to_final",
        "wer",
        "cer",
        "wer_whisper",
    )


def test_a_batch_target_owes_rtfx_and_no_latency_counted_from_live_speech() -> None:
    owed = metrics.owed(target(Benchmark.STT, mode="batch"))
    assert "rtfx" in owed
    assert not {"ttft", "ttfs"} & set(owed)


def test_a_tts_target_owes_the_synthesis_family() -> None:
    assert metrics.owed(target(Benchmark.TTS)) == (
        "ttfa",
        "synthesis",
        "rtf",
        "stall",
        "leading_silence",
        "trailing_silence",
        "clipping",
        "loudness",
    )


def test_every_metric_that_can_be_owed_is_defined_for_its_benchmark_and_can_be_computed() -> None:
    computable = {**latency.COMPUTATIONS, **accuracy.COMPUTATIONS, **synthesis.COMPUTATIONS, **sound.COMPUTATIONS}
    assert {*computable, intelligibility.METRIC} == set(metrics.METRICS)
    for some in (target(Benchmark.STT), target(Benchmark.STT, mode="batch"), target(Benchmark.TTS)):
        for name in metrics.owed(some):
            assert metrics.METRICS[name].benchmark is some.benchmark


def test_a_good_case_succeeds_in_every_row_it_owes_with_the_version_and_unit_of_the_table(stt_case: Build) -> None:
    finished = stt_case(GOOD, transcript="put the kettle on")
    results = metrics.score(finished)
    assert [result.metric for result in results] == list(metrics.owed(finished.case.target))
    for result in results:
        assert result.status is Status.SUCCEEDED
        assert result.failure is None
        assert (result.version, result.unit) == (
            metrics.METRICS[result.metric].version,
            metrics.METRICS[result.metric].unit,
        )


def test_a_failed_case_owes_one_failed_row_for_each_metric_with_its_own_failure(
    stt_case: Build, tts_case: Build
) -> None:
    failure = Failure(kind=FailureKind.ENGINE_CRASHED, phase=Phase.RECEIVE, message="it died", fingerprint="ab")
    for finished in (stt_case(GOOD, failure=failure), tts_case(b"", [], failure=failure)):
        results = metrics.score(finished)
        assert [result.metric for result in results] == list(metrics.owed(finished.case.target))
        assert all(result.status is Status.FAILED for result in results)
        assert all(result.failure == failure and result.value is None for result in results)


def test_the_last_attempt_decides(stt_case: Build) -> None:
    good = stt_case(GOOD, transcript="put the kettle on")
    failure = Failure(kind=FailureKind.RATE_LIMITED, phase=Phase.OPEN, message="slow down")
    bad = stt_case([], failure=failure)
    recovered = FinishedCase(case=good.case, attempts=(bad.attempts[0], good.attempts[0]))
    assert all(result.status is Status.SUCCEEDED for result in metrics.score(recovered))


def test_a_metric_that_raises_fails_alone_and_its_message_quotes_nothing(
    stt_case: Build, monkeypatch: pytest.MonkeyPatch
) -> None:
    def explode(*_: object) -> Measurement:
        raise ValueError(f"cannot align {SECRET_TEXT}")

    finished = stt_case(GOOD, transcript=SECRET_TEXT)
    broken = {**latency.COMPUTATIONS, **accuracy.COMPUTATIONS, "wer": explode}
    monkeypatch.setattr(metrics, "_computations", lambda _: broken)
    results = by_name(metrics.score(finished))
    assert [name for name, result in results.items() if result.status is Status.FAILED] == ["wer"]
    failure = results["wer"].failure
    assert failure is not None
    assert (failure.kind, failure.phase, failure.retryable) == (FailureKind.SCORING, Phase.SCORE, False)
    assert failure.fingerprint
    assert SECRET_TEXT not in failure.message
    assert "ValueError" in failure.message


@pytest.mark.parametrize("value", [float("nan"), float("inf"), float("-inf")])
def test_a_value_that_is_not_finite_is_a_failure_of_its_metric(
    stt_case: Build, monkeypatch: pytest.MonkeyPatch, value: float
) -> None:
    broken = {
        **latency.COMPUTATIONS,
        **accuracy.COMPUTATIONS,
        "ttft": lambda *_: Measurement(value),
    }
    monkeypatch.setattr(metrics, "_computations", lambda _: broken)
    results = by_name(metrics.score(stt_case(GOOD, transcript="put the kettle on")))
    assert results["ttft"].status is Status.FAILED
    assert results["ttft"].value is None
    assert results["ttfs"].status is Status.SUCCEEDED


def test_a_family_that_cannot_be_loaded_fails_every_row_instead_of_raising(
    stt_case: Build, monkeypatch: pytest.MonkeyPatch
) -> None:
    def cannot_load(_: Benchmark) -> None:
        raise ImportError("a library is missing")

    monkeypatch.setattr(metrics, "_computations", cannot_load)
    results = metrics.score(stt_case(GOOD, transcript="put the kettle on"))
    assert len(results) == 7
    assert all(result.failure and result.failure.kind is FailureKind.SCORING for result in results)


def test_a_case_without_attempts_still_gives_the_rows_it_owes(stt_case: Build) -> None:
    finished = FinishedCase(case=stt_case(GOOD).case, attempts=())
    results = metrics.score(finished)
    assert len(results) == 7
    assert all(result.status is Status.FAILED for result in results)


def test_one_missing_input_makes_one_bucket_of_the_metrics_that_need_it(stt_case: Build) -> None:
    finished = stt_case(GOOD[:-1], transcript=None)
    results = by_name(metrics.score(finished))
    failed = {name: result.failure for name, result in results.items() if result.failure}
    assert set(failed) == {"ttfs", "finalization", "audio_to_final", "wer", "cer", "wer_whisper"}
    assert len({failure.fingerprint for failure in failed.values()}) == 1


def test_no_failure_quotes_the_reference_or_the_transcript(stt_case: Build) -> None:
    finished = stt_case([], transcript=None, text=SECRET_TEXT, speech=None, duration_s=None)
    for result in metrics.score(finished):
        assert result.failure is not None
        assert SECRET_TEXT not in result.failure.message


def test_the_table_of_metrics_loads_no_array_alignment_or_normalizer_library() -> None:
    code = (
        "import sys, sayagain.metrics as m; assert m.METRICS and m.NORMALIZER; "
        "heavy = {'numpy', 'jiwer', 'rapidfuzz', 'whisper_normalizer', 'sqlalchemy'} & set(sys.modules); "
        "assert not heavy, heavy"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_the_normalizer_of_a_run_is_ours_and_named_with_its_version() -> None:
    assert metrics.NORMALIZER == normalization.NAME


def test_the_published_rules_are_those_of_the_version_that_the_definition_names() -> None:
    assert metrics.METRICS["wer_whisper"].definition.split()[-2] == version("whisper-normalizer")


FAILED = Failure(kind=FailureKind.FINAL_TIMEOUT, phase=Phase.FINISH, message="nothing came", fingerprint="f")


def test_a_failed_case_still_says_how_many_words_and_characters_were_owed(stt_case: Build) -> None:
    results = by_name(metrics.score(stt_case([], text="Um, pay 1,200 dollars.", failure=FAILED)))
    assert results["wer"].detail == {"N": 3}
    assert results["cer"].detail == {"N": len("pay 1200 dollar")}
    assert results["wer_whisper"].detail == {"N": len(["pay", "$1200"])}
    assert results["ttfs"].detail is None


def test_a_failed_case_owes_no_words_in_a_language_that_does_not_part_them(stt_case: Build) -> None:
    results = by_name(metrics.score(stt_case([], text="今日は", language="ja", failure=FAILED)))
    assert (results["wer"].detail, results["wer_whisper"].detail) == (None, None)
    assert results["cer"].detail == {"N": 3}


def test_a_reference_that_cannot_be_normalized_does_not_hide_why_the_case_failed(
    stt_case: Build, monkeypatch: pytest.MonkeyPatch
) -> None:
    def explode(*_: object) -> int:
        raise RuntimeError

    monkeypatch.setattr(accuracy, "reference_length", explode)
    results = metrics.score(stt_case([], failure=FAILED))
    assert all((result.failure, result.detail) == (FAILED, None) for result in results)
