"""Writing scored cases: every one of them at most once, and none into a run that is over."""

from collections.abc import Sequence

from sqlalchemy import Connection, select, update

from sayagain.errors import LedgerError
from sayagain.ledger.bulk import insert_rows
from sayagain.ledger.clock import database_now
from sayagain.ledger.encoding import Row, attempt_row, case_failure, case_row, result_row
from sayagain.ledger.tables import attempt, case, result, run
from sayagain.records import Result, RunStatus, ScoredCase, Status


def record_cases(connection: Connection, run_id: str, scored: Sequence[ScoredCase]) -> None:
    """Write the cases that are not there yet, with their attempts and results.

    Claiming the run first makes writers of one run take turns, so that whatever an earlier transaction whose
    answer was lost has written is seen.

    Raises:
        LedgerError: There is no such run, it is over and lacks one of these cases, or another case is there.
    """
    run_pk = beat(connection, run_id)
    if run_pk is None:
        _require_all_recorded(connection, run_id, scored)
        return
    recorded = _recorded(connection, run_pk, scored)
    new = {one.finished.case.position: one for one in scored if one.finished.case.position not in recorded}
    cases: list[Row] = []
    attempts: list[Row] = []
    results: list[Row] = []
    for position, one in new.items():
        failure = case_failure(one)
        cases.append(case_row(run_pk, one, failure))
        attempts.extend(attempt_row(run_pk, position, tried) for tried in one.finished.attempts)
        results.extend(result_row(run_pk, position, found, failure) for found in one.results)
    insert_rows(connection, case, cases)
    insert_rows(connection, attempt, attempts)
    insert_rows(connection, result, results)


def add_results(connection: Connection, run_id: str, results: Sequence[tuple[int, Result]]) -> None:
    """Write more results of recorded cases, by position; those that are there already stay as they are.

    Raises:
        ValueError: One is failed. The status of a case is that of the results it was recorded with.
        LedgerError: There is no such run, or it is over.
    """
    if any(added.status is Status.FAILED for _, added in results):
        raise ValueError("a result that is added later cannot be failed")
    run_pk = beat(connection, run_id)
    if run_pk is None:
        raise LedgerError(f"run {run_id} is not running: no more results can be added to it")
    wanted = result.c.position.in_([position for position, _ in results])
    found = select(result.c.position, result.c.metric).where(result.c.run_pk == run_pk, wanted)
    there = {(row[0], row[1]) for row in connection.execute(found)}
    new = [(position, added) for position, added in results if (position, added.metric) not in there]
    insert_rows(connection, result, [result_row(run_pk, position, added, None) for position, added in new])


def beat(connection: Connection, run_id: str) -> int | None:
    """Say that a running run is alive and lock its row; return its key, or None when it is not running."""
    running = (run.c.run_id == run_id) & (run.c.status == RunStatus.RUNNING.value)
    alive = update(run).where(running).values(heartbeat=database_now()).returning(run.c.run_pk)
    key: int | None = connection.scalar(alive)
    return key


def _recorded(connection: Connection, run_pk: int, scored: Sequence[ScoredCase]) -> dict[int, str]:
    """Return the positions and ids of those cases that are recorded already."""
    positions = [one.finished.case.position for one in scored]
    found = select(case.c.position, case.c.case_id).where(case.c.run_pk == run_pk, case.c.position.in_(positions))
    recorded: dict[int, str] = {row[0]: row[1] for row in connection.execute(found)}
    for one in scored:
        if recorded.get(one.finished.case.position, one.finished.case.id) != one.finished.case.id:
            raise LedgerError(f"position {one.finished.case.position} of the run already holds another case")
    return recorded


def _require_all_recorded(connection: Connection, run_id: str, scored: Sequence[ScoredCase]) -> None:
    found = connection.execute(select(run.c.run_pk, run.c.status).where(run.c.run_id == run_id)).one_or_none()
    if found is None:
        raise LedgerError(f"the ledger has no run {run_id}")
    run_pk, status = found
    recorded = _recorded(connection, run_pk, scored)
    if any(one.finished.case.position not in recorded for one in scored):
        raise LedgerError(f"run {run_id} is already {status}: no more cases can be recorded in it")
