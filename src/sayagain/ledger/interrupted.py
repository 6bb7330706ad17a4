"""Runs found `running` whose process is gone."""

from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, Row, select, update

from sayagain.ledger.clock import database_now, iso
from sayagain.ledger.ownership import Owner
from sayagain.ledger.tables import run
from sayagain.records import RunStatus

SILENT_S = 120.0
"""After this long without a heartbeat, by the database's clock, a run of another host counts as dead."""

_COLUMNS = (
    run.c.run_pk,
    run.c.run_id,
    run.c.owner_pid,
    run.c.owner_started,
    run.c.owner_host,
    run.c.heartbeat,
    (database_now() - run.c.heartbeat).label("silence"),
)


@dataclass(frozen=True)
class Gone:
    """A running run whose process is gone: how that shows, and the heartbeat it had when it was seen."""

    run_pk: int
    run_id: str
    heartbeat: float
    reason: str


def runs_gone(connection: Connection) -> tuple[Gone, ...]:
    """Return the running runs whose process is gone.

    A run of this host is gone when its process is; one of another host, when its heartbeat is older than
    `SILENT_S`.
    """
    running = connection.execute(select(*_COLUMNS).where(run.c.status == RunStatus.RUNNING.value)).all()
    return tuple(
        Gone(row.run_pk, row.run_id, row.heartbeat, reason)
        for row in running
        if (reason := _why_gone(row)) is not None
    )


def interrupt(connection: Connection, gone: Gone) -> bool:
    """Move a run to `interrupted`, unless it was finalized, or has beaten again, since it was seen.

    It counts as finished at its last heartbeat, the last that is known of it.
    """
    unchanged = (
        (run.c.run_pk == gone.run_pk)
        & (run.c.status == RunStatus.RUNNING.value)
        & (run.c.heartbeat == gone.heartbeat)
    )
    values = {"status": RunStatus.INTERRUPTED.value, "reason": gone.reason, "finished": iso(gone.heartbeat)}
    return connection.execute(update(run).where(unchanged).values(values)).rowcount == 1


def _why_gone(row: Row[Any]) -> str | None:
    owner = Owner(pid=row.owner_pid, started=row.owner_started, host=row.owner_host)
    if owner.is_here:
        return None if owner.is_alive() else f"its process ({owner.pid}) was found gone"
    if row.silence > SILENT_S:
        return f"no sign of life from its host for more than {SILENT_S:g} s"
    return None
