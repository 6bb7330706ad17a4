"""Which runs a run replays, and which replay it.

A replay's header names its parent by run id. The parent may be in another ledger, or in none.
"""

import msgspec
from sqlalchemy import Connection, select

from sayagain.ledger.tables import run
from sayagain.records import Record, RunHeader, RunStatus


class Relative(Record, frozen=True, kw_only=True):
    """A run that another one is linked to; what is not known of it here, because it is elsewhere, is null."""

    run_id: str
    status: RunStatus | None = None
    started: str | None = None


class Lineage(Record, frozen=True, kw_only=True):
    """The ancestors of a run, its parent first, and the runs that replayed it, the oldest first."""

    ancestors: tuple[Relative, ...]
    replays: tuple[Relative, ...]


def read_lineage(connection: Connection, run_pk: int) -> Lineage:
    """Return the lineage of a run, as far as this ledger knows it."""
    run_id, header = connection.execute(select(run.c.run_id, run.c.header).where(run.c.run_pk == run_pk)).one()
    return Lineage(ancestors=_ancestors(connection, run_id, header), replays=_replays(connection, run_id))


def _ancestors(connection: Connection, run_id: str, header: str | None) -> tuple[Relative, ...]:
    found: dict[str, Relative] = {}
    while header is not None and (parent := _parent(header)) is not None:
        if parent == run_id or parent in found:
            break  # a parent's id is what somebody's file says it is
        columns = select(run.c.status, run.c.started, run.c.header).where(run.c.run_id == parent)
        row = connection.execute(columns).one_or_none()
        found[parent] = Relative(run_id=parent)
        header = None
        if row is not None:
            found[parent] = Relative(run_id=parent, status=RunStatus(row.status), started=row.started)
            header = row.header
    return tuple(found.values())


def _replays(connection: Connection, run_id: str) -> tuple[Relative, ...]:
    link = f'"replay_of":{{"run_id":{msgspec.json.encode(run_id).decode()}'
    columns = select(run.c.run_id, run.c.status, run.c.started, run.c.header)
    rows = connection.execute(columns.where(run.c.header.contains(link, autoescape=True)).order_by(run.c.run_pk))
    return tuple(
        Relative(run_id=row.run_id, status=RunStatus(row.status), started=row.started)
        for row in rows
        if _parent(row.header) == run_id  # LIKE takes upper and lower case for the same in SQLite
    )


def _parent(header: str) -> str | None:
    link = msgspec.json.decode(header, type=RunHeader).replay_of
    return None if link is None else link.run_id
