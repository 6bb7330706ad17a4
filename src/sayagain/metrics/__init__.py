"""Metrics: pure functions from a finished case to results, one module a metric family.

This package itself is light: names, versions, units and definitions. The families, with their alignment,
normalizer and array libraries, are imported by the first `score` that needs them.
"""

import contextlib
import math
from collections.abc import Mapping
from functools import cache
from types import MappingProxyType

from sayagain import failures
from sayagain.metrics.definitions import DEFINITIONS, CannotMeasureError, Computation, MetricInfo
from sayagain.metrics.landmarks import Landmarks
from sayagain.metrics.normalization import NAME
from sayagain.records import (
    Benchmark,
    Failure,
    FailureKind,
    FinishedCase,
    Item,
    Phase,
    Result,
    Status,
    Target,
    Trace,
)

__all__ = ["ERROR_RATES", "METRICS", "NORMALIZER", "MetricInfo", "failed_result", "owed", "score"]

METRICS: Mapping[str, MetricInfo] = MappingProxyType({info.name: info for info in DEFINITIONS})
"""Every metric by its name, with what gives its number a meaning."""

NORMALIZER = NAME
"""The text normalizer of `wer` and `cer` with its version, for the header of a run and its contract."""

_OF_TRANSCRIPTS = ("wer", "cer", "wer_whisper")

ERROR_RATES = (*_OF_TRANSCRIPTS, "intelligibility_wer")
"""The metrics that are errors ÷ a reference length N, with S, D, I and N in their details."""

_STREAMING_STT = ("ttft", "ttfs", "finalization", "audio_to_final", *_OF_TRANSCRIPTS)
_BATCH_STT = ("finalization", "audio_to_final", "rtfx", *_OF_TRANSCRIPTS)
_TTS = ("ttfa", "synthesis", "rtf", "stall", "leading_silence", "trailing_silence", "clipping", "loudness")


def owed(target: Target) -> tuple[str, ...]:
    """Return the metrics that each case of a target owes, in the order of their rows.

    An STT target whose settings say `mode: batch` gets its audio at once instead of at the pace of speech: it
    owes `rtfx`, and not the latencies that are counted from a moment in live speech.
    """
    if target.benchmark is Benchmark.TTS:
        return _TTS
    return _BATCH_STT if target.settings.get("mode") == "batch" else _STREAMING_STT


def score(finished: FinishedCase) -> tuple[Result, ...]:
    """Return one result for each metric that the case owes; never raises.

    A failed case gets its own failure in every row. Otherwise each metric is computed alone, so that one which
    cannot be computed fails alone, with kind `scoring` and a message that quotes no text of the case. A failed row
    of an error rate keeps the N that it would have been divided by.
    """
    target, item = finished.case.target, finished.case.item
    names = owed(target)
    try:
        attempt = finished.final_attempt
        if attempt.failure is not None:
            return _all_failed(names, item, attempt.failure)
        computations = _computations(target.benchmark)
        landmarks = Landmarks.of(attempt.trace)
    except Exception as error:
        return _all_failed(names, item, _unexpected(error, "scoring", target.provider))
    return tuple(_result(name, computations, item, attempt.trace, landmarks, target.provider) for name in names)


def failed_result(metric: str, finished: FinishedCase) -> Result | None:
    """Return the failed row that a failed case owes for a metric beyond `owed`; None when it succeeded."""
    failure = finished.failure
    return None if failure is None else _failed(metric, finished.case.item, failure)


@cache
def _computations(benchmark: Benchmark) -> Mapping[str, Computation]:
    if benchmark is Benchmark.TTS:
        from sayagain.metrics import sound, synthesis

        return {**synthesis.COMPUTATIONS, **sound.COMPUTATIONS}
    from sayagain.metrics import accuracy, latency

    return {**latency.COMPUTATIONS, **accuracy.COMPUTATIONS}


def _result(
    name: str,
    computations: Mapping[str, Computation],
    item: Item,
    trace: Trace,
    landmarks: Landmarks,
    provider: str,
) -> Result:
    try:
        measured = computations[name](item, trace, landmarks)
        if measured.value is not None and not math.isfinite(measured.value):
            raise CannotMeasureError("the value is not a finite number")
    except CannotMeasureError as error:
        return _failed(name, item, _scoring_failure(str(error), provider))
    except Exception as error:
        return _failed(name, item, _unexpected(error, name, provider))
    info = METRICS[name]
    return Result(
        metric=name,
        version=info.version,
        unit=info.unit,
        status=Status.SUCCEEDED,
        value=measured.value,
        reason=measured.reason,
        detail=measured.detail,
    )


def _all_failed(names: tuple[str, ...], item: Item, failure: Failure) -> tuple[Result, ...]:
    return tuple(_failed(name, item, failure) for name in names)


def _failed(name: str, item: Item, failure: Failure) -> Result:
    info = METRICS[name]
    return Result(
        metric=name,
        version=info.version,
        unit=info.unit,
        status=Status.FAILED,
        detail=_reference_length(name, item),
        failure=failure,
    )


def _reference_length(name: str, item: Item) -> Mapping[str, float] | None:
    if name not in ERROR_RATES:
        return None
    with contextlib.suppress(Exception):  # the failure at hand is the one to report
        from sayagain.metrics import accuracy

        length = accuracy.reference_length(name, item)
        return None if length is None else {"N": length}
    return None


def _unexpected(error: Exception, where: str, provider: str) -> Failure:
    # The text of a foreign exception may quote the transcript: its type says enough.
    return _scoring_failure(f"unexpected {type(error).__name__} in {where}", provider)


def _scoring_failure(message: str, provider: str) -> Failure:
    failure = Failure(kind=FailureKind.SCORING, phase=Phase.SCORE, message=message)
    return failures.sanitized(failure, message, provider)
