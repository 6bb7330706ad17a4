"""Which URLs name a ledger, and that no message about one shows its credentials."""

import pytest

from sayagain.errors import UsageError
from sayagain.ledger.urls import describe, ledger_url


@pytest.mark.parametrize("scheme", ["postgres", "postgresql", "postgresql+psycopg"])
def test_every_spelling_of_postgresql_means_psycopg(scheme: str) -> None:
    url = ledger_url(f"{scheme}://ann:s%40fe@db.example:5433/bench?sslmode=require")
    assert url.drivername == "postgresql+psycopg"
    assert (url.username, url.password, url.host, url.port, url.database) == (
        "ann",
        "s@fe",
        "db.example",
        5433,
        "bench",
    )
    assert dict(url.query) == {"sslmode": "require"}


@pytest.mark.parametrize("text", ["sqlite:///a.db", "sqlite+pysqlite:///a.db"])
def test_every_spelling_of_sqlite_means_the_file(text: str) -> None:
    url = ledger_url(text)
    assert (url.drivername, url.database) == ("sqlite", "a.db")


@pytest.mark.parametrize("text", ["mysql://ann:hunter2@db/x", "postgresql+asyncpg://ann:hunter2@db/x"])
def test_another_database_is_refused_by_name(text: str) -> None:
    with pytest.raises(UsageError, match="cannot be kept in") as refused:
        ledger_url(text)
    assert "hunter2" not in str(refused.value)


@pytest.mark.parametrize("text", ["", "ann:hunter2@db", "postgresql://ann:hunter2@db:port/x", "ledger.db"])
def test_a_url_that_cannot_be_read_is_not_repeated(text: str) -> None:
    with pytest.raises(UsageError, match="cannot be read") as refused:
        ledger_url(text)
    assert "hunter2" not in str(refused.value)
    assert refused.value.__cause__ is None
    assert refused.value.__suppress_context__


@pytest.mark.parametrize("text", ["sqlite://", "sqlite:///:memory:"])
def test_a_ledger_in_memory_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="must outlive"):
        ledger_url(text)


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("postgres://ann:hunter2@db.example:5433/bench", "PostgreSQL ledger bench at db.example:5433"),
        ("postgres://ann:hunter2@db.example/bench", "PostgreSQL ledger bench at db.example"),
        ("postgresql:///bench?host=/run/pg", "PostgreSQL ledger bench at /run/pg"),
        ("postgresql:///bench", "PostgreSQL ledger bench at the local socket"),
        ("sqlite:///some/ledger.db", "SQLite ledger some/ledger.db"),
    ],
)
def test_a_ledger_is_named_by_kind_and_place(text: str, named: str) -> None:
    assert describe(ledger_url(text)) == named


def test_a_password_with_an_unescaped_at_sign_is_refused_and_not_repeated() -> None:
    with pytest.raises(UsageError, match="%40") as caught:
        ledger_url("postgresql://u:hunter@2@127.0.0.1:1/d")
    assert "hunter" not in str(caught.value)
    assert "2@" not in str(caught.value)
