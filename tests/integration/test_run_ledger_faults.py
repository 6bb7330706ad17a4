"""A run whose ledger refuses, goes away and comes back, or does not come back."""

import sqlite3
import subprocess
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from support.commands import Cli, Standin, events, require_whole

QUICK = ("--kind", "tts", "--attempts", "1", "--idle-timeout", "600")

REFUSE_THE_FOURTH = """
CREATE TRIGGER refuse BEFORE INSERT ON "case" WHEN (SELECT count(*) FROM "case") >= 3
BEGIN SELECT RAISE(ABORT, 'no more'); END
"""


def read_until(process: subprocess.Popen[str], beginning: str) -> None:
    assert process.stdout is not None
    for line in process.stdout:
        if line.startswith(beginning):
            return
    raise AssertionError(f"ended before {beginning}: {process.communicate()[1]}")


def wait_for_event(process: subprocess.Popen[str], name: str) -> None:
    assert process.stderr is not None
    for line in process.stderr:
        if f'"{name}"' in line:
            return
    raise AssertionError(f"ended before {name}")


def test_a_ledger_that_refuses_a_write_fails_the_run_loudly(cli: Cli, standin: Standin) -> None:
    cli("db", "upgrade")
    with closing(sqlite3.connect(cli.folder / "sayagain.db")) as database:
        database.execute(REFUSE_THE_FOURTH)
    report = cli.json("run", "--models", standin("ok"), *QUICK, "--ledger-timeout", "1", code=1)
    assert report["status"] == "failed"
    assert "ledger" in report["reason"].lower() or "sqlite" in report["reason"].lower()
    require_whole(report)
    assert report["cases"]["succeeded"] <= 3
    assert report["cases"]["not_run"] >= 27


def test_a_ledger_that_cannot_be_opened_is_said_before_anything_runs(cli: Cli, standin: Standin) -> None:
    done = cli("run", "--models", standin("ok"), *QUICK, "--db", "sqlite:///no/such/folder/x.db", code=1)
    assert "directory" in done.stderr
    done = cli("run", "--models", standin("ok"), *QUICK, "--db", "postgresql://u:hunter2@127.0.0.1:1/x", code=1)
    assert "hunter2" not in done.stderr + done.stdout
    done = cli("run", "--models", standin("ok"), *QUICK, "--db", "mysql://x/y", code=2)
    assert "run_started" not in done.stderr


def test_a_locked_ledger_is_waited_for_and_the_run_completes(cli: Cli, standin: Standin) -> None:
    cli("db", "upgrade")
    process = cli.start("run", "--models", standin("ok,ok,hang"), *QUICK, "--grace", "0.1")
    read_until(process, "[2/30]")
    blocker = sqlite3.connect(cli.folder / "sayagain.db", isolation_level=None)
    blocker.execute("BEGIN IMMEDIATE")
    process.terminate()
    wait_for_event(process, "run_stopping")
    blocker.execute("ROLLBACK")
    blocker.close()
    process.communicate(timeout=60)
    assert process.returncode == 143
    (run,) = cli.json("runs", "list")
    assert run["status"] == "partial"
    assert run["counts"]["succeeded"] == 2


@pytest.mark.postgres
def test_a_run_completes_when_postgresql_is_killed_and_comes_back(
    cli: Cli, standin: Standin, own_postgres: Any
) -> None:
    cli.env["DATABASE_URL"] = own_postgres.create_database()
    cli("db", "upgrade")
    process = cli.start("run", "--models", standin("ok"), *QUICK, "--repeat", "10")
    read_until(process, "[20/300]")
    own_postgres.kill()
    wait_for_event(process, "ledger_retried")
    own_postgres.start()
    _, stderr = process.communicate(timeout=120)
    assert process.returncode == 0, stderr
    (run,) = cli.json("runs", "list")
    assert run["status"] == "succeeded"
    assert run["counts"]["succeeded"] == run["counts"]["planned"] == 300


@pytest.mark.postgres
def test_a_run_fails_when_postgresql_is_gone_for_good_and_the_next_list_says_interrupted(
    cli: Cli, standin: Standin, own_postgres: Any
) -> None:
    cli.env["DATABASE_URL"] = own_postgres.create_database()
    cli("db", "upgrade")
    process = cli.start("run", "--models", standin("ok"), *QUICK, "--repeat", "40", "--ledger-timeout", "2")
    read_until(process, "[600/1200]")
    own_postgres.kill()
    stdout, stderr = process.communicate(timeout=120)
    assert process.returncode == 1
    assert "succeeded" not in stdout.splitlines()[-3:]
    assert "Traceback" not in stderr
    finished = [event for event in events(stderr) if event["event"] == "run_finished"]
    assert [event["status"] for event in finished] == [None]
    own_postgres.start()
    (run,) = cli.json("runs", "list")
    assert run["status"] == "interrupted"
    assert run["counts"]["succeeded"] >= 1


@pytest.mark.postgres
def test_the_same_run_works_on_postgresql(cli: Cli, standin: Standin, postgres_url: str) -> None:
    cli.env["DATABASE_URL"] = postgres_url
    assert "db upgrade" in cli("run", "--models", standin("ok"), *QUICK, code=1).stderr
    cli("db", "upgrade")
    report = cli.json("run", "--models", standin("ok"), *QUICK, "--sample", "5")
    assert report["status"] == "succeeded"
    assert not (Path(cli.folder) / "sayagain.db").exists()
