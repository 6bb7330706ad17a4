"""Between records and rows: a scored case as rows of three tables, and rows as failures and attempts again.

A row is a tuple in the order of its table's columns. The audio of a trace is never kept: it was measured.
"""

from collections.abc import Sequence
from typing import Any

import msgspec

from sayagain.ledger.cleaning import (
    clean_detail,
    clean_json,
    clean_lag,
    clean_number,
    clean_optional,
    clean_text,
    clean_value,
)
from sayagain.records import (
    Attempt,
    AudioFormat,
    Connection,
    Event,
    Failure,
    FailureKind,
    Phase,
    Record,
    Result,
    ScoredCase,
    Status,
    Trace,
)

Row = tuple[Any, ...]
_NO_FAILURE: Row = (None,) * 6


class StoredTrace(Record, frozen=True, kw_only=True, omit_defaults=True):
    """What the JSON text of an attempt holds: the trace without its audio and without what has columns."""

    events: tuple[Event, ...] = ()
    transcript: str | None = None
    audio_format: AudioFormat | None = None
    connection: Connection | None = None


def case_failure(scored: ScoredCase) -> Failure | None:
    """Return why a case counts as failed: its last attempt's failure, else that of its first failed result."""
    if scored.finished.failure is not None:
        return scored.finished.failure
    return next((r.failure for r in scored.results if r.status is Status.FAILED and r.failure is not None), None)


def case_row(run_pk: int, scored: ScoredCase, failure: Failure | None) -> Row:
    """Return the row of a case; start, connect time and lag are those of the attempt that decided it."""
    case = scored.finished.case
    trace = scored.finished.final_attempt.trace
    return (
        run_pk,
        case.position,
        case.id,
        clean_text(case.target.key),
        clean_text(case.item.id),
        case.item.digest,
        case.repeat,
        scored.status.value,
        *_failure_row(failure),
        clean_optional(trace.transcript),
        len(scored.finished.attempts),
        clean_text(trace.started),
        _connect_ms(trace),
        clean_lag(trace.loop_lag_ms),
    )


def attempt_row(run_pk: int, position: int, attempt: Attempt) -> Row:
    """Return the row of an attempt."""
    trace = attempt.trace
    return (
        run_pk,
        position,
        attempt.number,
        *_failure_row(attempt.failure),
        clean_text(trace.started),
        _connect_ms(trace),
        clean_lag(trace.loop_lag_ms),
        clean_lag(trace.pacing_lag_ms),
        clean_json(
            StoredTrace(
                events=trace.events,
                transcript=trace.transcript,
                audio_format=trace.audio_format,
                connection=trace.connection if _connect_ms(trace) is not None else None,
            )
        ),
    )


def result_row(run_pk: int, position: int, result: Result, of_case: Failure | None) -> Row:
    """Return the row of a result; its failure is written out only when it is not the case's."""
    value, reason = clean_value(result.value, result.reason)
    return (
        run_pk,
        position,
        clean_text(result.metric),
        result.version,
        value,
        clean_text(result.unit),
        result.status.value,
        reason,
        clean_detail(result.detail),
        *(_NO_FAILURE if result.failure == of_case else _failure_row(result.failure)),
    )


def failure_of(columns: Sequence[Any]) -> Failure | None:
    """Return the failure that six failure columns hold, or None."""
    kind, phase, code, message, retryable, fingerprint = columns
    if kind is None:
        return None
    return Failure(
        kind=FailureKind(kind),
        phase=Phase(phase),
        code=code,
        message=message,
        retryable=bool(retryable),
        fingerprint=fingerprint,
    )


def attempt_of(
    number: int, failure: Failure | None, started: str, lags: tuple[float, float], trace: str
) -> Attempt:
    """Return the attempt that a row holds; `lags` are those of the loop and of pacing, in milliseconds."""
    stored = msgspec.json.decode(trace, type=StoredTrace)
    return Attempt(
        number=number,
        failure=failure,
        trace=Trace(
            started=started,
            events=stored.events,
            transcript=stored.transcript,
            audio_format=stored.audio_format,
            connection=stored.connection,
            loop_lag_ms=lags[0],
            pacing_lag_ms=lags[1],
        ),
    )


def _failure_row(failure: Failure | None) -> Row:
    if failure is None:
        return _NO_FAILURE
    return (
        failure.kind.value,
        failure.phase.value,
        clean_optional(failure.code),
        clean_text(failure.message),
        failure.retryable,
        clean_optional(failure.fingerprint),
    )


def _connect_ms(trace: Trace) -> float | None:
    return clean_number(trace.connection.total_ms) if trace.connection is not None else None
