"""What a database says when it refuses, turned into one line and into whether trying again can help.

Only the primary message is kept: the detail of a constraint error quotes the row, and a row holds transcripts.
"""

import re
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from sqlalchemy import Engine
from sqlalchemy.exc import DBAPIError, SQLAlchemyError
from sqlalchemy.exc import TimeoutError as PoolTimeoutError

from sayagain.errors import LedgerError
from sayagain.ledger.urls import describe

MAX_REASON = 300
"""Characters kept of what the database said."""

_SQLITE_TRANSIENT = {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_PROTOCOL}
_SQLITE_HINTS = {
    sqlite3.SQLITE_BUSY: "another process is writing to it",
    sqlite3.SQLITE_FULL: "free some space, then try again",
    sqlite3.SQLITE_READONLY: "make the file and its directory writable",
    sqlite3.SQLITE_CANTOPEN: "check that its directory exists and is writable",
    sqlite3.SQLITE_NOTADB: "name another file",
    sqlite3.SQLITE_CORRUPT: "restore it from a backup",
}
_SQLSTATE_TRANSIENT = re.compile(
    "08...|"  # the connection failed or was lost
    "57P0[1235]|"  # the server shuts down, crashed, starts up, or ended an idle session
    "53300|"  # too many connections
    "55P03|"  # a lock was not available in time
    "40001|40P01"  # serialization failure, deadlock
)
_SQLSTATE_HINTS = {
    "42P01": "run `sayagain db upgrade`",
    "53100": "free some space on the server, then try again",
    "42501": "grant the user its rights",
    "25006": "connect to the primary server",
}
# While a connection is being made, libpq reports no SQLSTATE: whether the server answered is only in the text.
_ANSWERED = re.compile(r"FATAL:|no password supplied|does not support SSL|root certificate|certificate verify")
_ANSWERED_FOR_NOW = re.compile(r"starting up|shutting down|not yet accepting|recovery|too many|connection slots")


@contextmanager
def refusals(engine: Engine) -> Iterator[None]:
    """Raise LedgerError in place of whatever the database or its driver raises inside.

    The original is not chained: it may quote rows, and a traceback must not show them.
    """
    driver = engine.dialect.loaded_dbapi
    try:
        yield
    except DBAPIError as error:
        raise _ledger_error(engine, error.orig) from None
    except driver.Error as error:
        raise _ledger_error(engine, error) from None
    except PoolTimeoutError:
        raise LedgerError(f"{describe(engine.url)}: no connection came free in time", transient=True) from None
    except SQLAlchemyError as error:
        raise LedgerError(f"{describe(engine.url)}: {type(error).__name__}") from None


def _ledger_error(engine: Engine, error: BaseException | None) -> LedgerError:
    reason, transient, hint = _sqlite(error) if isinstance(error, sqlite3.Error) else _postgresql(error)
    password = engine.url.password
    if password:
        reason = reason.replace(password, "***")
    line = " ".join(reason.split())[:MAX_REASON]
    return LedgerError(f"{describe(engine.url)}: {line}" + (f"; {hint}" if hint else ""), transient=transient)


def _sqlite(error: sqlite3.Error) -> tuple[str, bool, str | None]:
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF  # the primary code of an extended one
    return str(error), code in _SQLITE_TRANSIENT, _SQLITE_HINTS.get(code)


def _postgresql(error: Any) -> tuple[str, bool, str | None]:
    text = str(error).removeprefix("connection failed: ").removeprefix("connection is bad: ")
    sqlstate = getattr(error, "sqlstate", None)
    if sqlstate is None:
        answered = _ANSWERED.search(text) is not None
        return text, not answered or _ANSWERED_FOR_NOW.search(text) is not None, None
    diagnosis = getattr(error, "diag", None)
    primary = getattr(diagnosis, "message_primary", None) or type(error).__name__
    return (
        f"{primary} ({sqlstate})",
        _SQLSTATE_TRANSIENT.fullmatch(sqlstate) is not None,
        _SQLSTATE_HINTS.get(sqlstate),
    )
