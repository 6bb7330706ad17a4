"""Reading a run back, page by page in the order of its plan, so that memory does not grow with its size.

Each page is a short transaction of its own: nothing is held open while a reader thinks, and a lost connection
costs nothing but the page.
"""

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from typing import Any, TypeVar

import msgspec
from sqlalchemy import ColumnElement, Connection, Row, func, select

from sayagain.ledger.encoding import attempt_of, failure_of
from sayagain.ledger.tables import IS_FAILED, attempt, case, result, run
from sayagain.ledger.views import CaseView, RunView, TargetCounts
from sayagain.records import Attempt, CaseCounts, Failure, ResultRow, RunHeader, RunStatus, Status

CASES_PER_PAGE = 500
"""Cases whose rows are in memory at once."""

TRACED_CASES_PER_PAGE = 64
"""Cases whose traces are in memory at once; a trace has hundreds of events."""

TranscriptDigest = Callable[[str | None], tuple[str | None, int | None]]
"""Gives a transcript's digest and its number of characters."""

Cases = Sequence[Row[Any]]
Companions = TypeVar("Companions")

Reader = Callable[[], AbstractContextManager[Connection]]
"""Opens a connection for one page."""


def read_runs(
    connection: Connection, *, run_pk: int | None = None, limit: int | None = None
) -> tuple[RunView, ...]:
    """Return runs with their counts, newest first: one, or up to a limit."""
    chosen = select(run).order_by(run.c.run_pk.desc())
    if run_pk is not None:
        chosen = chosen.where(run.c.run_pk == run_pk)
    runs = connection.execute(chosen.limit(limit)).all()
    keys = [row.run_pk for row in runs]
    counted = select(case.c.run_pk, case.c.status, func.count()).where(case.c.run_pk.in_(keys))
    counts: dict[int, dict[str, int]] = defaultdict(dict)
    for key, status, number in connection.execute(counted.group_by(case.c.run_pk, case.c.status)):
        counts[key][status] = number
    return tuple(_run_view(row, counts[row.run_pk]) for row in runs)


def read_counts(connection: Connection, run_pk: int) -> CaseCounts:
    """Return how the planned cases of a run ended so far."""
    planned = connection.scalar(select(run.c.planned).where(run.c.run_pk == run_pk))
    by_status = select(case.c.status, func.count()).where(case.c.run_pk == run_pk).group_by(case.c.status)
    return _counts(planned or 0, {row[0]: row[1] for row in connection.execute(by_status)})


def read_targets(connection: Connection, run_pk: int) -> tuple[TargetCounts, ...]:
    """Return how the recorded cases of each target ended, by target key."""
    failed = func.count().filter(IS_FAILED)
    grouped = select(case.c.target, func.count() - failed, failed).where(case.c.run_pk == run_pk)
    rows = connection.execute(grouped.group_by(case.c.target)).all()
    counts = (TargetCounts(target=target, succeeded=ok, failed=bad) for target, ok, bad in rows)
    return tuple(sorted(counts, key=lambda one: one.target))


def read_rows(reader: Reader, run_pk: int, digest: TranscriptDigest, *, failed_only: bool) -> Iterator[ResultRow]:
    """Yield the rows of a run's cases, or of its failed ones, in plan order, then by the metrics' names."""
    for cases, results in _pages(reader, _cases_of(run_pk, failed_only), CASES_PER_PAGE, _results):
        for row in cases:
            of_case = _case_fields(row, *digest(row.transcript))
            failure = failure_of(_failure_values(row))
            yield from (_result_row(of_case, failure, one) for one in results[row.position])


def read_cases(reader: Reader, run_pk: int, *, failed_only: bool) -> Iterator[CaseView]:
    """Yield the recorded cases of a run in the order of its plan, with their attempts."""
    for cases, attempts in _pages(reader, _cases_of(run_pk, failed_only), TRACED_CASES_PER_PAGE, _attempts):
        for row in cases:
            yield _case_view(row, tuple(attempts[row.position]))


def _cases_of(run_pk: int, failed_only: bool) -> ColumnElement[bool]:
    return (case.c.run_pk == run_pk) & IS_FAILED if failed_only else case.c.run_pk == run_pk


def _pages(
    reader: Reader, which: ColumnElement[bool], size: int, companions: Callable[[Connection, Cases], Companions]
) -> Iterator[tuple[Cases, Companions]]:
    """Yield pages of cases with what belongs to them, having let go of the connection."""
    last = -1
    while True:
        with reader() as connection:
            page = select(case).where(which, case.c.position > last).order_by(case.c.position).limit(size)
            cases = connection.execute(page).all()
            if not cases:
                return
            found = companions(connection, cases)
        yield cases, found
        last = cases[-1].position


def _results(connection: Connection, cases: Cases) -> dict[int, list[Row[Any]]]:
    """Return the results of a page's cases, sorted here because databases sort text by rules of their own."""
    wanted = result.c.position.in_([row.position for row in cases])
    found: dict[int, list[Row[Any]]] = defaultdict(list)
    for row in connection.execute(select(result).where(result.c.run_pk == cases[0].run_pk, wanted)):
        found[row.position].append(row)
    for rows in found.values():
        rows.sort(key=lambda row: str(row.metric))
    return found


def _attempts(connection: Connection, cases: Cases) -> dict[int, list[Attempt]]:
    wanted = attempt.c.position.in_([row.position for row in cases])
    rows = (
        select(attempt)
        .where(attempt.c.run_pk == cases[0].run_pk, wanted)
        .order_by(attempt.c.position, attempt.c.number)
    )
    found: dict[int, list[Attempt]] = defaultdict(list)
    for row in connection.execute(rows):
        failure = failure_of(_failure_values(row))
        lags = (row.loop_lag_ms, row.pacing_lag_ms)
        found[row.position].append(attempt_of(row.number, failure, row.started, lags, row.trace))
    return found


def _failure_values(row: Row[Any]) -> tuple[Any, ...]:
    return (
        row.failure_kind,
        row.failure_phase,
        row.failure_code,
        row.failure_message,
        row.failure_retryable,
        row.failure_fingerprint,
    )


def _case_fields(row: Row[Any], transcript_sha256: str | None, transcript_chars: int | None) -> dict[str, Any]:
    """Return what all rows of a case share."""
    return {
        "case_id": row.case_id,
        "target": row.target,
        "item_id": row.item_id,
        "item_digest": row.item_digest,
        "repeat": row.repeat,
        "transcript_sha256": transcript_sha256,
        "transcript_chars": transcript_chars,
        "attempts": row.attempts,
        "started": row.started,
        "connect_ms": row.connect_ms,
        "loop_lag_ms": row.loop_lag_ms,
    }


def _result_row(of_case: dict[str, Any], case_failure: Failure | None, row: Row[Any]) -> ResultRow:
    values: tuple[Any, ...] = tuple(row)
    _, _, metric, version, value, unit, status, reason, detail, *failure = values
    own = failure_of(failure)
    return ResultRow(
        metric=metric,
        metric_version=version,
        value=value,
        unit=unit,
        status=Status(status),
        reason=reason,
        detail=None if detail is None else msgspec.json.decode(detail, type=dict[str, float]),
        failure=case_failure if own is None and status == Status.FAILED.value else own,
        **of_case,
    )


def _case_view(row: Row[Any], attempts: tuple[Attempt, ...]) -> CaseView:
    return CaseView(
        position=row.position,
        case_id=row.case_id,
        target=row.target,
        item_id=row.item_id,
        item_digest=row.item_digest,
        repeat=row.repeat,
        status=Status(row.status),
        failure=failure_of(_failure_values(row)),
        transcript=row.transcript,
        started=row.started,
        connect_ms=row.connect_ms,
        loop_lag_ms=row.loop_lag_ms,
        attempts=attempts,
    )


def _run_view(row: Row[Any], counts: dict[str, int]) -> RunView:
    return RunView(
        run_id=row.run_id,
        kind=row.kind,
        status=RunStatus(row.status),
        reason=row.reason,
        started=row.started,
        finished=row.finished,
        counts=_counts(row.planned, counts),
        header=msgspec.json.decode(row.header, type=RunHeader),
    )


def _counts(planned: int, counts: dict[str, int]) -> CaseCounts:
    succeeded = counts.get(Status.SUCCEEDED.value, 0)
    failed = counts.get(Status.FAILED.value, 0)
    return CaseCounts(planned=planned, succeeded=succeeded, failed=failed, not_run=planned - succeeded - failed)
