"""What the database refuses: whether it may pass, one line without secrets or rows, and coming back afterwards."""

import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg
import pytest
from sqlalchemy import Engine, event, text

from sayagain.errors import LedgerError
from sayagain.ledger import Ledger, Owner, open_ledger
from sayagain.ledger.engine import build_engine, writing
from sayagain.ledger.refusals import refusals
from sayagain.ledger.urls import ledger_url as parse
from sayagain.records import Attempt, RunStatus

Start = Callable[..., str]
HOLD_THE_LOCK = """
import sqlite3, sys
connection = sqlite3.connect(sys.argv[1], isolation_level=None)
connection.execute("BEGIN IMMEDIATE")
print("locked", flush=True)
sys.stdin.read()
"""


@contextmanager
def pragma(statement: str) -> Iterator[None]:
    """Run a pragma on every SQLite connection that is made."""

    def execute(connection: Any, _record: Any) -> None:
        connection.execute(f"PRAGMA {statement}")

    event.listen(Engine, "connect", execute)
    try:
        yield
    finally:
        event.remove(Engine, "connect", execute)


@pytest.fixture
def sqlite_run(sqlite_url: str, make: Any) -> str:
    """The URL of a SQLite ledger with a running run."""
    with open_ledger(sqlite_url) as ledger:
        ledger.insert_run(make.header(cases=1000), Owner.current())
    return sqlite_url


@contextmanager
def locked(url: str) -> Iterator["subprocess.Popen[str]"]:
    """Hold the write lock of a SQLite ledger in another process until its input ends."""
    database = str(parse(url).database)
    process = subprocess.Popen(
        [sys.executable, "-c", HOLD_THE_LOCK, database], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "locked\n"
    try:
        yield process
    finally:
        process.communicate()


def test_a_lock_of_another_process_may_pass(sqlite_run: str, make: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sayagain.ledger.engine.BUSY_TIMEOUT_S", 0.01)
    with open_ledger(sqlite_run) as ledger, locked(sqlite_run):
        with pytest.raises(LedgerError, match="locked; another process is writing") as refused:
            ledger.record("run-1", [make.case(0)])
        assert refused.value.transient
        assert ledger.counts("run-1").succeeded == 0


def test_recording_goes_on_when_the_lock_is_released(
    sqlite_run: str, make: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sayagain.ledger.engine.BUSY_TIMEOUT_S", 0.01)
    with open_ledger(sqlite_run) as ledger, locked(sqlite_run) as holder:

        def record() -> str:
            try:
                ledger.record("run-1", [make.case(0)])
            except LedgerError:
                holder.communicate()
                raise
            return "recorded"

        assert ledger.retrying(record, 30) == "recorded"
        assert ledger.counts("run-1").succeeded == 1


def test_a_refusal_that_may_pass_is_given_up_in_time(
    sqlite_run: str, make: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sayagain.ledger.engine.BUSY_TIMEOUT_S", 0.01)
    with (
        open_ledger(sqlite_run) as ledger,
        locked(sqlite_run),
        pytest.raises(LedgerError, match=r"gave up after 0\.3 s"),
    ):
        ledger.record_with_retry("run-1", [make.case(0)], 0.3)


def test_a_refusal_that_will_not_pass_is_not_tried_again(sqlite_run: str) -> None:
    tries: list[None] = []

    def operation() -> None:
        tries.append(None)
        raise LedgerError("no")

    with open_ledger(sqlite_run) as ledger, pytest.raises(LedgerError, match=r"^no$"):
        ledger.retrying(operation, 30)
    assert len(tries) == 1


def test_a_full_disk_will_not_pass_and_leaves_what_was_committed(sqlite_run: str, make: Any) -> None:
    with pragma("max_page_count = 60"), open_ledger(sqlite_run) as ledger:

        def fill() -> None:
            for position in range(1000):
                ledger.record("run-1", [make.case(position)])

        with pytest.raises(LedgerError, match="full; free some space") as refused:
            fill()
        assert not refused.value.transient
    with open_ledger(sqlite_run) as ledger:
        recorded = ledger.counts("run-1").succeeded
        assert 0 < recorded < 1000
        assert len(list(ledger.rows("run-1", lambda _: (None, None)))) == 4 * recorded
        ledger.record("run-1", [make.case(999)])


def test_a_ledger_that_cannot_be_written_can_be_read(sqlite_run: str, make: Any) -> None:
    with pragma("query_only = ON"), open_ledger(sqlite_run) as ledger:
        with pytest.raises(LedgerError, match="readonly database; make the file") as refused:
            ledger.record("run-1", [make.case(0)])
        assert not refused.value.transient
        assert ledger.run("latest").run_id == "run-1"
        assert ledger.mark_interrupted() == ()


def test_tables_that_are_gone_will_not_come_back(ledger: Ledger, ledger_url: str, make: Any) -> None:
    engine = build_engine(parse(ledger_url))
    with engine.begin() as connection:
        for table in ("result", "attempt", '"case"', "run"):
            connection.execute(text(f"DROP TABLE {table}"))
    engine.dispose()
    with pytest.raises(LedgerError) as refused:
        ledger.insert_run(make.header(), Owner.current())
    assert not refused.value.transient


def test_a_refused_row_is_not_quoted(ledger: Ledger, ledger_url: str, started_run: Start, make: Any) -> None:
    engine = build_engine(parse(ledger_url))
    run_id = started_run()
    ledger.record(run_id, [make.case(0)])
    copy = 'INSERT INTO "case" SELECT * FROM "case"'
    with pytest.raises(LedgerError) as refused, refusals(engine), writing(engine).begin() as connection:
        connection.execute(text(copy))
    engine.dispose()
    assert "transcript 0" not in str(refused.value)
    assert "\n" not in str(refused.value)
    assert refused.value.__suppress_context__


def test_no_log_of_a_retry_carries_a_transcript(
    sqlite_run: str, make: Any, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sayagain.ledger.engine.BUSY_TIMEOUT_S", 0.01)
    case = make.case(0, attempts=(Attempt(number=1, trace=make.trace("a very secret sentence")),))
    with open_ledger(sqlite_run) as ledger, locked(sqlite_run), pytest.raises(LedgerError):
        ledger.record_with_retry("run-1", [case], 0.3)
    output = "".join(capfd.readouterr())
    assert "locked" in output
    assert "very secret" not in output


@pytest.mark.postgres
def test_the_same_ledger_works_again_after_postgresql_was_killed_and_is_back(own_postgres: Any, make: Any) -> None:
    with open_ledger(own_postgres.create_database(), upgrade=True) as ledger:
        ledger.insert_run(make.header(), Owner.current())
        ledger.record("run-1", [make.case(0)])

        own_postgres.kill()
        with pytest.raises(LedgerError, match="PostgreSQL ledger") as refused:
            ledger.record("run-1", [make.case(1)])
        assert refused.value.transient
        with pytest.raises(LedgerError) as refused:
            ledger.counts("run-1")
        assert refused.value.transient

        own_postgres.start()
        ledger.record("run-1", [make.case(0), make.case(1)])
        assert ledger.counts("run-1").succeeded == 2
        assert ledger.finalize("run-1", RunStatus.PARTIAL)


@pytest.mark.postgres
def test_recording_survives_a_postgresql_that_is_killed_and_comes_back(own_postgres: Any, make: Any) -> None:
    with open_ledger(own_postgres.create_database(), upgrade=True) as ledger:
        ledger.insert_run(make.header(), Owner.current())
        own_postgres.kill()

        def record() -> None:
            try:
                ledger.record("run-1", [make.case(0)])
            except LedgerError:
                own_postgres.start()
                raise

        ledger.retrying(record, 30)
        assert ledger.counts("run-1").succeeded == 1


@pytest.mark.postgres
def test_a_connection_ended_within_a_transaction_may_pass(postgres_url: str, make: Any) -> None:
    with open_ledger(postgres_url, upgrade=True) as ledger:
        ledger.insert_run(make.header(), Owner.current())
        engine = build_engine(parse(postgres_url))
        end_itself = text("SELECT pg_terminate_backend(pg_backend_pid())")
        with pytest.raises(LedgerError) as refused, refusals(engine), engine.begin() as connection:
            connection.execute(end_itself)
        assert refused.value.transient
        with refusals(engine), engine.begin() as connection:
            assert connection.scalar(text("SELECT 1")) == 1
        engine.dispose()


@pytest.mark.postgres
def test_a_forgotten_transaction_is_an_error_that_may_pass_and_not_a_hang(
    postgres_url: str, make: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sayagain.ledger.engine.LOCK_TIMEOUT_S", 0.05)
    with open_ledger(postgres_url, upgrade=True) as ledger:
        ledger.insert_run(make.header(), Owner.current())
        with psycopg.connect(postgres_url) as forgotten:
            forgotten.execute("UPDATE run SET reason = 'thinking'")
            with pytest.raises(LedgerError, match="lock timeout") as refused:
                ledger.record("run-1", [make.case(0)])
        assert refused.value.transient


@pytest.mark.postgres
@pytest.mark.parametrize("change", [{"username": "nobody"}, {"database": "nowhere"}])
def test_a_server_that_answers_no_will_not_change_its_mind(postgres_url: str, change: dict[str, str]) -> None:
    url = parse(postgres_url).set(password="hunter2", **change)  # type: ignore[arg-type]
    with pytest.raises(LedgerError, match="does not exist") as refused:
        open_ledger(url.render_as_string(hide_password=False))
    assert not refused.value.transient
    assert "hunter2" not in str(refused.value)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("host", ["127.0.0.1", "host.invalid"])
def test_a_server_that_does_not_answer_may_come_back(host: str) -> None:
    with pytest.raises(LedgerError, match=f"PostgreSQL ledger bench at {host}:1: ") as refused:
        open_ledger(f"postgres://ann:hunter2@{host}:1/bench")
    assert refused.value.transient
    assert "hunter2" not in str(refused.value)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("said", "transient"),
    [
        ("FATAL:  the database system is starting up", True),
        ("FATAL:  the database system is shutting down", True),
        ("FATAL:  the database system is not yet accepting connections", True),
        ("FATAL:  sorry, too many clients already", True),
        ("FATAL:  remaining connection slots are reserved", True),
        ("server closed the connection unexpectedly", True),
        ("timeout expired", True),
        ('FATAL:  password authentication failed for user "ann"', False),
        ("fe_sendauth: no password supplied", False),
        ("server does not support SSL, but SSL was required", False),
    ],
)
def test_what_a_server_says_while_connecting_is_told_apart(said: str, transient: bool) -> None:
    engine = build_engine(parse("postgres://ann:hunter2@db/bench"))
    with pytest.raises(LedgerError) as refused, refusals(engine):
        raise psycopg.OperationalError(f"connection failed: connection to server at 10.0.0.1 failed: {said}")
    assert refused.value.transient is transient


def test_a_password_that_the_driver_repeats_is_blotted_out() -> None:
    engine = build_engine(parse("postgres://ann:hunt%20er2@db/bench"))
    with pytest.raises(LedgerError) as refused, refusals(engine):
        raise psycopg.OperationalError('invalid dsn "password=hunt er2 host=db"')
    assert "hunt er2" not in str(refused.value)


def test_the_directory_of_a_ledger_can_vanish(tmp_path: Path, make: Any) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    ledger = open_ledger(f"sqlite:///{folder}/ledger.db")
    ledger.close()
    for file in folder.iterdir():
        file.unlink()
    folder.rmdir()
    with pytest.raises(LedgerError, match="unable to open database file; check that its directory exists"):
        ledger.insert_run(make.header(), Owner.current())
