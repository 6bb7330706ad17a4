"""Leading a ledger to the tables this version knows, and refusing one that has gone further.

Alembic is only imported when a ledger is not where it should be: opening one that is costs a single query.
"""

from pathlib import Path
from typing import TYPE_CHECKING

from sqlalchemy import Column, Connection, Engine, MetaData, Table, Text, inspect, select

from sayagain import __version__
from sayagain.errors import LedgerError
from sayagain.ledger.engine import writing
from sayagain.ledger.tables import REVISION
from sayagain.ledger.urls import describe

if TYPE_CHECKING:
    from alembic.config import Config

VERSION_TABLE = "sayagain_version"
"""Alembic's table, under a name of our own: a shared database may hold another program's migrations."""

_version = Table(VERSION_TABLE, MetaData(), Column("version_num", Text))
_ONE_AT_A_TIME = 0x5A7A6A11
"""The key of the PostgreSQL advisory lock under which migrations run."""


def revision_of(connection: Connection) -> str | None:
    """Return the revision of the database's ledger, or None when it has none yet."""
    if not inspect(connection).has_table(VERSION_TABLE):
        return None
    return connection.scalar(select(_version.c.version_num))


def require_current(engine: Engine) -> None:
    """Return when the ledger has the tables this version knows.

    Raises:
        LedgerError: It has not; the message names the command that helps.
    """
    with engine.connect() as connection:
        revision = revision_of(connection)
    if revision == REVISION:
        return
    _refuse_unknown(engine, revision)
    found = "has no tables yet" if revision is None else f"is at revision {revision}, not {REVISION}"
    raise LedgerError(f"{describe(engine.url)} {found}: run `sayagain db upgrade`")


def upgrade(engine: Engine) -> tuple[str | None, str]:
    """Lead the ledger to this version's tables, in one transaction, and return its revision before and after.

    Processes that do so at the same time wait for each other, and the later ones find nothing to do.

    Raises:
        LedgerError: The ledger belongs to a newer version of sayagain.
    """
    with engine.connect() as connection:
        if revision_of(connection) == REVISION:
            return REVISION, REVISION
    with writing(engine).begin() as connection:
        if connection.dialect.name == "postgresql":
            connection.exec_driver_sql(f"SELECT pg_advisory_xact_lock({_ONE_AT_A_TIME})")
        before = revision_of(connection)
        if before != REVISION:
            _refuse_unknown(engine, before)
            _migrate(connection)
    return before, REVISION


def alembic_config() -> "Config":
    """Return the configuration with which Alembic finds the migrations inside the package."""
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent / "migrations").replace("%", "%%"))
    config.set_main_option("path_separator", "newline")
    return config


def _migrate(connection: Connection) -> None:
    from alembic import command

    config = alembic_config()
    config.attributes["connection"] = connection
    command.upgrade(config, REVISION)


def _refuse_unknown(engine: Engine, revision: str | None) -> None:
    """Raise LedgerError for a revision that no migration of this version leads to."""
    if revision is None:
        return
    from alembic.script import ScriptDirectory

    known = {script.revision for script in ScriptDirectory.from_config(alembic_config()).walk_revisions()}
    if revision not in known:
        raise LedgerError(
            f"{describe(engine.url)} is at revision {revision}, which sayagain {__version__} does not know: "
            f"use the newer version of sayagain that wrote it"
        )
