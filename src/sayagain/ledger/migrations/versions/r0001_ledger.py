"""The first ledger: runs, cases, attempts and results."""

from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Create the four tables."""
    _create_run()
    _create_case()
    _create_attempt()
    _create_result()


def _create_run() -> None:
    op.create_table(
        "run",
        sa.Column("run_pk", sa.Integer, primary_key=True),
        sa.Column("run_id", sa.Text, nullable=False, unique=True),
        sa.Column("kind", sa.Text, nullable=False),
        sa.Column("status", sa.Text, nullable=False),
        sa.Column("reason", sa.Text),
        sa.Column("started", sa.Text, nullable=False),
        sa.Column("finished", sa.Text),
        sa.Column("planned", sa.Integer, nullable=False),
        sa.Column("header", sa.Text, nullable=False),
        sa.Column("owner_pid", sa.Integer, nullable=False),
        sa.Column("owner_started", sa.Double, nullable=False),
        sa.Column("owner_host", sa.Text, nullable=False),
        sa.Column("heartbeat", sa.Double, nullable=False),
    )


def _create_case() -> None:
    op.create_table(
        "case",
        sa.Column("run_pk", sa.Integer, sa.ForeignKey("run.run_pk", ondelete="CASCADE"), primary_key=True),
        sa.Column("position", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("case_id", sa.Text, nullable=False),
        sa.Column("target", sa.Text, nullable=False),
        sa.Column("item_id", sa.Text, nullable=False),
        sa.Column("item_digest", sa.Text, nullable=False),
        sa.Column("repeat", sa.Integer, nullable=False),
        sa.Column("status", sa.Text, nullable=False),
        *_failure_columns(),
        sa.Column("transcript", sa.Text),
        sa.Column("attempts", sa.Integer, nullable=False),
        sa.Column("started", sa.Text, nullable=False),
        sa.Column("connect_ms", sa.Double),
        sa.Column("loop_lag_ms", sa.Double, nullable=False),
        sa.UniqueConstraint("case_id", "run_pk", name="case_once_in_a_run"),
        sqlite_with_rowid=False,
    )
    failed = sa.text("status = 'failed'")
    op.create_index("case_failed", "case", ["run_pk", "position"], sqlite_where=failed, postgresql_where=failed)


def _create_attempt() -> None:
    op.create_table(
        "attempt",
        *_case_key(),
        sa.Column("number", sa.Integer, primary_key=True, autoincrement=False),
        *_failure_columns(),
        sa.Column("started", sa.Text, nullable=False),
        sa.Column("connect_ms", sa.Double),
        sa.Column("loop_lag_ms", sa.Double, nullable=False),
        sa.Column("pacing_lag_ms", sa.Double, nullable=False),
        sa.Column("trace", sa.Text, nullable=False),
        _of_case(),
    )


def _create_result() -> None:
    op.create_table(
        "result",
        *_case_key(),
        sa.Column("metric", sa.Text, primary_key=True),
        sa.Column("version", sa.Integer, nullable=False),
        sa.Column("value", sa.Double),
        sa.Column("unit", sa.Text, nullable=False),
        sa.Column("status", sa.Text, nullable=False),
        sa.Column("reason", sa.Text),
        sa.Column("detail", sa.Text),
        *_failure_columns(),
        _of_case(),
        sqlite_with_rowid=False,
    )


def _case_key() -> list[sa.Column[Any]]:
    return [
        sa.Column("run_pk", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("position", sa.Integer, primary_key=True, autoincrement=False),
    ]


def _of_case() -> sa.ForeignKeyConstraint:
    return sa.ForeignKeyConstraint(["run_pk", "position"], ["case.run_pk", "case.position"], ondelete="CASCADE")


def _failure_columns() -> list[sa.Column[Any]]:
    texts = [sa.Column(f"failure_{name}", sa.Text) for name in ("kind", "phase", "code", "message")]
    return [*texts, sa.Column("failure_retryable", sa.Boolean), sa.Column("failure_fingerprint", sa.Text)]
