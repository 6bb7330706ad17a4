"""`sayagain db`: making, upgrading and asking after the ledger's tables. On SQLite and on PostgreSQL."""

import pytest
from click.testing import CliRunner, Result
from sqlalchemy import NullPool, create_engine, text

from sayagain.cli.db import command
from sayagain.errors import LedgerError, UsageError
from sayagain.ledger import open_ledger
from sayagain.ledger.tables import REVISION
from sayagain.ledger.urls import ledger_url as parse


def invoke(*arguments: str) -> Result:
    return CliRunner().invoke(command, arguments)


def test_upgrade_makes_the_tables_and_then_has_nothing_to_do(ledger_url: str) -> None:
    made = invoke("upgrade", "--db", ledger_url)
    again = invoke("upgrade", "--db", ledger_url)
    assert f"now at revision {REVISION}, before: no tables" in made.output
    assert f"at revision {REVISION} already" in again.output
    with open_ledger(ledger_url, upgrade=False):
        pass


def test_current_says_which_revision(ledger_url: str) -> None:
    invoke("upgrade", "--db", ledger_url)
    assert f"at revision {REVISION}" in invoke("current", "--db", ledger_url).output


@pytest.mark.postgres
def test_current_of_a_database_without_tables_says_what_to_do(postgres_url: str) -> None:
    done = invoke("current", "--db", postgres_url)
    assert isinstance(done.exception, LedgerError)
    assert "has no tables yet: run `sayagain db upgrade`" in str(done.exception)


def test_current_does_not_make_a_ledger(sqlite_url: str) -> None:
    assert isinstance(invoke("current", "--db", sqlite_url).exception, UsageError)


@pytest.mark.parametrize("subcommand", ["upgrade", "current"])
def test_a_ledger_of_a_newer_version_is_left_alone(ledger_url: str, subcommand: str) -> None:
    invoke("upgrade", "--db", ledger_url)
    engine = create_engine(parse(ledger_url), poolclass=NullPool)
    with engine.begin() as connection:
        connection.execute(text("UPDATE sayagain_version SET version_num = '9999'"))
    done = invoke(subcommand, "--db", ledger_url)
    assert isinstance(done.exception, LedgerError)
    assert "revision 9999, which sayagain" in str(done.exception)


def test_the_database_is_taken_from_the_environment(ledger_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DATABASE_URL", ledger_url)
    assert f"revision {REVISION}" in invoke("upgrade").output


def test_no_output_shows_the_password() -> None:
    done = invoke("current", "--db", "postgres://ann:hunter2@127.0.0.1:1/bench")
    assert isinstance(done.exception, LedgerError)
    assert "hunter2" not in str(done.exception) + done.output
