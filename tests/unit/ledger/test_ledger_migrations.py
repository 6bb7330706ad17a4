"""Migrations: from nothing to the tables the code knows, and what is said when a ledger is elsewhere."""

import threading
from pathlib import Path

import pytest
from sqlalchemy import Engine, NullPool, create_engine, text

from sayagain.errors import LedgerError, UsageError
from sayagain.ledger import open_ledger
from sayagain.ledger.migrating import VERSION_TABLE, alembic_config
from sayagain.ledger.tables import REVISION, metadata
from sayagain.ledger.urls import ledger_url as parse


def set_revision(url: str, revision: str) -> None:
    with raw_engine(url).begin() as connection:
        connection.execute(text(f"UPDATE {VERSION_TABLE} SET version_num = '{revision}'"))


def raw_engine(url: str) -> Engine:
    return create_engine(parse(url), poolclass=NullPool)


def test_migrations_lead_to_the_tables_the_code_knows(ledger_url: str) -> None:
    from alembic.autogenerate import compare_metadata
    from alembic.migration import MigrationContext

    open_ledger(ledger_url, upgrade=True).close()
    with raw_engine(ledger_url).connect() as connection:
        options = {"version_table": VERSION_TABLE, "compare_type": True, "compare_server_default": True}
        context = MigrationContext.configure(connection, opts=options)
        assert compare_metadata(context, metadata) == []


def test_on_sqlite_migrated_tables_are_those_of_the_code_to_the_letter(sqlite_url: str, tmp_path: Path) -> None:
    def definitions(engine: Engine) -> set[str]:
        with engine.connect() as connection:
            sql = text(f"SELECT sql FROM sqlite_master WHERE sql IS NOT NULL AND name <> '{VERSION_TABLE}'")
            return {" ".join(row[0].split()) for row in connection.execute(sql)}

    open_ledger(sqlite_url).close()
    created = raw_engine(f"sqlite:///{tmp_path / 'created.db'}")
    metadata.create_all(created)

    assert definitions(raw_engine(sqlite_url)) == definitions(created)


def test_the_last_migration_is_the_revision_the_code_expects() -> None:
    from alembic.script import ScriptDirectory

    assert ScriptDirectory.from_config(alembic_config()).get_heads() == [REVISION]


def test_upgrading_says_where_the_ledger_was_and_is(ledger_url: str) -> None:
    with open_ledger(ledger_url, upgrade=True) as ledger:
        assert ledger.revision() == REVISION
        assert ledger.upgrade() == (REVISION, REVISION)


def test_sqlite_is_upgraded_when_it_is_opened(sqlite_url: str) -> None:
    with open_ledger(sqlite_url) as ledger:
        assert ledger.revision() == REVISION


def test_opening_a_ledger_that_is_current_never_loads_alembic(sqlite_url: str) -> None:
    import subprocess
    import sys

    open_ledger(sqlite_url).close()
    code = f"import sys; from sayagain.ledger import open_ledger; open_ledger({sqlite_url!r}); print(*sys.modules)"
    loaded = subprocess.run(
        [sys.executable, "-c", code], check=True, capture_output=True, text=True
    ).stdout.split()
    assert "sqlalchemy" in loaded
    assert "alembic" not in loaded


@pytest.mark.postgres
def test_postgresql_without_tables_names_the_command_to_run(postgres_url: str) -> None:
    with pytest.raises(LedgerError, match=r"has no tables yet: run `sayagain db upgrade`"):
        open_ledger(postgres_url)


def test_a_newer_ledger_is_refused_by_name(ledger_url: str) -> None:
    open_ledger(ledger_url, upgrade=True).close()
    set_revision(ledger_url, "9999")
    for upgrade in (None, True, False):
        with pytest.raises(LedgerError, match=r"revision 9999, which sayagain .* does not know"):
            open_ledger(ledger_url, upgrade=upgrade)


def test_a_ledger_that_is_behind_names_the_command_to_run(
    ledger_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    open_ledger(ledger_url, upgrade=True).close()
    monkeypatch.setattr("sayagain.ledger.migrating.REVISION", "0002")
    with pytest.raises(LedgerError, match="at revision 0001, not 0002: run `sayagain db upgrade`"):
        open_ledger(ledger_url, upgrade=False)


def test_all_who_open_a_new_ledger_at_once_succeed(ledger_url: str) -> None:
    together = threading.Barrier(4)
    revisions: list[str | None] = []

    def open_one() -> None:
        together.wait()
        with open_ledger(ledger_url, upgrade=True) as ledger:
            revisions.append(ledger.revision())

    threads = [threading.Thread(target=open_one) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert revisions == [REVISION] * 4


def test_another_programs_migrations_in_the_same_database_are_left_alone(ledger_url: str) -> None:
    with raw_engine(ledger_url).begin() as connection:
        connection.execute(text("CREATE TABLE alembic_version (version_num VARCHAR(32) NOT NULL)"))
        connection.execute(text("INSERT INTO alembic_version VALUES ('theirs')"))
    open_ledger(ledger_url, upgrade=True).close()
    with raw_engine(ledger_url).connect() as connection:
        assert connection.scalar(text("SELECT version_num FROM alembic_version")) == "theirs"


def test_a_failed_migration_leaves_nothing_behind(ledger_url: str) -> None:
    with raw_engine(ledger_url).begin() as connection:
        connection.execute(text("CREATE TABLE attempt (a INTEGER)"))
    with pytest.raises(LedgerError, match="attempt"):
        open_ledger(ledger_url, upgrade=True)
    with raw_engine(ledger_url).begin() as connection:
        connection.execute(text("DROP TABLE attempt"))
    open_ledger(ledger_url, upgrade=True).close()


def test_a_ledger_that_is_only_to_be_read_is_not_made(sqlite_url: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"no ledger at .*`sayagain run` makes one"):
        open_ledger(sqlite_url, create=False)
    assert list(tmp_path.iterdir()) == []


def test_a_missing_directory_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(LedgerError, match="its directory does not exist") as refused:
        open_ledger(f"sqlite:///{tmp_path}/nowhere/ledger.db")
    assert "\n" not in str(refused.value)
    assert not refused.value.transient


def test_a_file_that_is_no_database_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "notes.txt"
    file.write_text("not a database " * 100)
    with pytest.raises(LedgerError, match="file is not a database"):
        open_ledger(f"sqlite:///{file}")
