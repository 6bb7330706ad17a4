"""Finding a run by what a person types: its id, a unique beginning of it, or `latest`."""

from sqlalchemy import Connection, func, select

from sayagain.errors import UsageError
from sayagain.ledger.tables import run

LATEST = "latest"
_SHOWN = 5


def find_run(connection: Connection, selector: str) -> int:
    """Return the key of the run that the selector names.

    Raises:
        UsageError: There is none, or more than one.
    """
    key: int | None = connection.scalar(select(run.c.run_pk).where(run.c.run_id == selector))
    if key is not None:
        return key
    if selector == LATEST:
        return _latest(connection)
    begins = func.substr(run.c.run_id, 1, len(selector)) == selector
    found = connection.execute(select(run.c.run_pk, run.c.run_id).where(begins).limit(_SHOWN + 1)).all()
    if not selector or not found:
        raise UsageError(f"the ledger has no run {selector!r}; `sayagain runs list` shows those it has")
    if len(found) > 1:
        names = ", ".join(name for _, name in found[:_SHOWN]) + (", ..." if len(found) > _SHOWN else "")
        raise UsageError(f"{selector!r} is the beginning of more than one run: {names}")
    return int(found[0][0])


def _latest(connection: Connection) -> int:
    key: int | None = connection.scalar(select(func.max(run.c.run_pk)))
    if key is None:
        raise UsageError("the ledger has no run yet; `sayagain run` makes one")
    return key
