"""Database URLs: which ones name a ledger, and how a ledger is named to a person without its credentials."""

from pathlib import Path

from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError

from sayagain.errors import UsageError

POSTGRESQL = "postgresql+psycopg"
"""The one driver used for PostgreSQL, however the URL spells it."""

_SPELLINGS = {
    "sqlite": "sqlite",
    "sqlite+pysqlite": "sqlite",
    "postgres": POSTGRESQL,
    "postgresql": POSTGRESQL,
    POSTGRESQL: POSTGRESQL,
}
_FORMS = "use sqlite:///FILE or postgresql://USER@HOST/DATABASE"


def ledger_url(text: str) -> URL:
    """Return the URL of a ledger, with the driver that is used for it.

    Raises:
        UsageError: It names no database that can hold a ledger. The text is not repeated, because it may hold
            a password.
    """
    try:
        url = make_url(text)
    except (ArgumentError, ValueError):
        raise UsageError(f"the database URL cannot be read: {_FORMS}") from None
    if url.drivername not in _SPELLINGS:
        raise UsageError(f"a ledger cannot be kept in {url.drivername!r}: {_FORMS}")
    if "@" in (url.host or ""):
        raise UsageError("the user or password in the database URL has an unescaped @: write it as %40")
    url = url.set(drivername=_SPELLINGS[url.drivername])
    if is_sqlite(url) and url.database in (None, "", ":memory:"):
        raise UsageError("a ledger must outlive the process that writes it: use sqlite:///FILE")
    return url


def is_sqlite(url: URL) -> bool:
    """Return whether the ledger is a file."""
    return url.get_backend_name() == "sqlite"


def sqlite_file(url: URL) -> Path:
    """Return the file of a SQLite ledger."""
    return Path(url.database or "")


def describe(url: URL) -> str:
    """Return how messages name a ledger: its kind and place, never a user or a password."""
    if is_sqlite(url):
        return f"SQLite ledger {url.database}"
    host = url.host or url.query.get("host") or "the local socket"
    port = f":{url.port}" if url.port else ""
    return f"PostgreSQL ledger {url.database or ''} at {host}{port}"
