"""Connections to a ledger: what is set on every one of them, on SQLite and on PostgreSQL."""

from typing import Any

from sqlalchemy import URL, Connection, Engine, create_engine, event

from sayagain.ledger.urls import is_sqlite

BUSY_TIMEOUT_S = 5.0
"""How long SQLite waits for another process's write before it says that the database is locked."""

LOCK_TIMEOUT_S = 10
"""How long a write to PostgreSQL waits for a lock, so that a forgotten transaction is an error and not a hang."""

_POSTGRESQL_DEFAULTS: dict[str, str | int] = {
    "application_name": "sayagain",
    "connect_timeout": 10,
    "keepalives_idle": 30,
    "keepalives_interval": 10,
    "keepalives_count": 3,
    "tcp_user_timeout": 30_000,
}
"""libpq parameters, unless the URL says otherwise; a server that vanished is noticed within half a minute."""


def build_engine(url: URL) -> Engine:
    """Return an engine for a ledger; nothing is opened yet.

    Parameters never appear in its errors, because they are people's words.
    """
    if is_sqlite(url):
        engine = create_engine(url, hide_parameters=True, connect_args={"timeout": BUSY_TIMEOUT_S})
        event.listen(engine, "connect", _prepare_sqlite)
        event.listen(engine, "begin", _begin_sqlite)
        return engine
    arguments = {name: value for name, value in _POSTGRESQL_DEFAULTS.items() if name not in url.query}
    return create_engine(url, hide_parameters=True, pool_pre_ping=True, connect_args=arguments)


def writing(engine: Engine) -> Engine:
    """Return the same engine for transactions that write.

    SQLite then takes the write lock at once: a transaction that began by reading could be refused it later,
    and no waiting would help.
    """
    return engine.execution_options(sqlite_begin="BEGIN IMMEDIATE")


def limit_lock_wait(connection: Connection) -> None:
    """Bound how long this transaction waits for a lock; SQLite's bound is the connection's own."""
    if connection.dialect.name == "postgresql":
        connection.exec_driver_sql(f"SET LOCAL lock_timeout = '{LOCK_TIMEOUT_S}s'")


def _prepare_sqlite(connection: Any, _record: Any) -> None:
    """Set what makes SQLite safe here.

    WAL lets readers read while another process writes. `synchronous=FULL` makes every commit survive a power
    cut and not only the end of the process; the groups of `Ledger.record` make that affordable.
    """
    connection.isolation_level = None  # transactions begin where this module says, not where the driver guesses
    for pragma in ("journal_mode=WAL", "synchronous=FULL", "foreign_keys=ON"):
        connection.execute(f"PRAGMA {pragma}")


def _begin_sqlite(connection: Connection) -> None:
    connection.exec_driver_sql(connection.get_execution_options().get("sqlite_begin", "BEGIN"))
