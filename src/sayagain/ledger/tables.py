"""The tables of the ledger as this version knows them; `migrations` leads an older ledger here.

A case is keyed by its run and its position in the run's plan; attempts and results extend that key. Times of day
are ISO 8601 text in UTC, durations milliseconds, the heartbeat seconds since 1970 by the database's own clock.
"""

from typing import Any

from sqlalchemy import (
    Boolean,
    Column,
    Double,
    ForeignKey,
    ForeignKeyConstraint,
    Index,
    Integer,
    MetaData,
    Table,
    Text,
    UniqueConstraint,
    literal_column,
    text,
)

REVISION = "0001"
"""The migration that leads to these tables."""

FAILURE = ("kind", "phase", "code", "message", "retryable", "fingerprint")
"""The fields of a failure; each is a column named `failure_` and the field."""

metadata = MetaData()

_FAILED = text("status = 'failed'")


def failure_columns() -> list[Column[Any]]:
    """Return the columns that hold one failure, all null when there is none."""
    return [Column(f"failure_{name}", Boolean if name == "retryable" else Text) for name in FAILURE]


run = Table(
    "run",
    metadata,
    Column("run_pk", Integer, primary_key=True),
    Column("run_id", Text, nullable=False, unique=True),
    Column("kind", Text, nullable=False),
    Column("status", Text, nullable=False),
    Column("reason", Text),
    Column("started", Text, nullable=False),
    Column("finished", Text),
    Column("planned", Integer, nullable=False),
    Column("header", Text, nullable=False),
    Column("owner_pid", Integer, nullable=False),
    Column("owner_started", Double, nullable=False),
    Column("owner_host", Text, nullable=False),
    Column("heartbeat", Double, nullable=False),
)

# No index but the primary key may begin with run_pk alone. PostgreSQL checks foreign keys with a plan that it
# makes while the table is still empty and then keeps; offered an index on (run_pk, ...) that does not go on with
# the position, it chose that one and read the whole run for every row: 330 cases/s instead of 8,000.
case = Table(
    "case",
    metadata,
    Column("run_pk", Integer, ForeignKey("run.run_pk", ondelete="CASCADE"), primary_key=True),
    Column("position", Integer, primary_key=True, autoincrement=False),
    Column("case_id", Text, nullable=False),
    Column("target", Text, nullable=False),
    Column("item_id", Text, nullable=False),
    Column("item_digest", Text, nullable=False),
    Column("repeat", Integer, nullable=False),
    Column("status", Text, nullable=False),
    *failure_columns(),
    Column("transcript", Text),
    Column("attempts", Integer, nullable=False),
    Column("started", Text, nullable=False),
    Column("connect_ms", Double),
    Column("loop_lag_ms", Double, nullable=False),
    UniqueConstraint("case_id", "run_pk", name="case_once_in_a_run"),
    Index(
        "case_failed",
        "run_pk",
        "position",
        sqlite_where=_FAILED,
        postgresql_where=_FAILED,
    ),
    sqlite_with_rowid=False,
)

IS_FAILED = case.c.status == literal_column("'failed'")
"""Written out and not as a parameter, because only then is the index of failed cases known to serve."""

# With row ids, because a trace is far larger than what SQLite keeps well inside a key's tree.
attempt = Table(
    "attempt",
    metadata,
    Column("run_pk", Integer, primary_key=True, autoincrement=False),
    Column("position", Integer, primary_key=True, autoincrement=False),
    Column("number", Integer, primary_key=True, autoincrement=False),
    *failure_columns(),
    Column("started", Text, nullable=False),
    Column("connect_ms", Double),
    Column("loop_lag_ms", Double, nullable=False),
    Column("pacing_lag_ms", Double, nullable=False),
    Column("trace", Text, nullable=False),
    ForeignKeyConstraint(["run_pk", "position"], ["case.run_pk", "case.position"], ondelete="CASCADE"),
)

# The failure columns are null when the failure is the case's own.
result = Table(
    "result",
    metadata,
    Column("run_pk", Integer, primary_key=True, autoincrement=False),
    Column("position", Integer, primary_key=True, autoincrement=False),
    Column("metric", Text, primary_key=True),
    Column("version", Integer, nullable=False),
    Column("value", Double),
    Column("unit", Text, nullable=False),
    Column("status", Text, nullable=False),
    Column("reason", Text),
    Column("detail", Text),
    *failure_columns(),
    ForeignKeyConstraint(["run_pk", "position"], ["case.run_pk", "case.position"], ondelete="CASCADE"),
    sqlite_with_rowid=False,
)
