"""More than one process: who is gone, what a killed process leaves, and writing while another writes."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import psutil
import pytest

from sayagain.errors import LedgerError
from sayagain.ledger import Ledger, Owner, open_ledger
from sayagain.ledger.engine import build_engine
from sayagain.ledger.interrupted import interrupt, runs_gone
from sayagain.ledger.urls import ledger_url as parse
from sayagain.records import RunStatus

Start = Callable[..., str]
Writer = Callable[..., "subprocess.Popen[str]"]
PROGRAM = Path(__file__).with_name("writer_process.py")


@pytest.fixture
def writer(ledger_url: str, make: Any, tmp_path: Path) -> Iterator[Writer]:
    """Start a process that records some cases in a run of its own."""
    processes: list[subprocess.Popen[str]] = []

    def start(run_id: str, cases: int, *more: str) -> subprocess.Popen[str]:
        work = {"header": make.header(run_id, cases), "cases": [make.case(n) for n in range(cases)]}
        file = tmp_path / f"{run_id}.msgpack"
        file.write_bytes(msgspec.msgpack.encode(work))
        process = subprocess.Popen(
            [sys.executable, str(PROGRAM), ledger_url, str(file), *more],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        processes.append(process)
        return process

    yield start
    for process in processes:
        process.kill()
        process.communicate()


def kill_after(process: "subprocess.Popen[str]", acknowledged: int) -> None:
    assert process.stdout is not None
    for _ in range(acknowledged):
        assert process.stdout.readline()
    process.send_signal(signal.SIGKILL)
    process.wait()


@pytest.mark.parametrize("acknowledged", [1, 17])
def test_what_a_killed_process_had_committed_is_intact(ledger: Ledger, writer: Writer, acknowledged: int) -> None:
    kill_after(writer("run-1", 200), acknowledged)

    positions = [case.position for case in ledger.cases("run-1")]
    rows = [row.item_id for row in ledger.rows("run-1", lambda _: (None, None))]

    assert positions[:acknowledged] == list(range(acknowledged))
    assert rows == [f"item-{position}" for position in positions for _ in range(4)]


def test_a_run_whose_process_was_killed_is_marked_interrupted(ledger: Ledger, writer: Writer) -> None:
    process = writer("run-1", 3)
    kill_after(process, 3)

    assert ledger.mark_interrupted() == ("run-1",)
    assert ledger.mark_interrupted() == ()

    run = ledger.run("run-1")
    assert run.status is RunStatus.INTERRUPTED
    assert run.reason == f"its process ({process.pid}) was found gone"
    assert run.finished is not None
    assert run.counts.succeeded == 3


def test_a_run_whose_process_died_but_was_not_waited_for_is_interrupted(
    ledger: Ledger, started_run: Start
) -> None:
    child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    started_run(
        owner=Owner(pid=child.pid, started=psutil.Process(child.pid).create_time(), host=Owner.current().host)
    )
    assert ledger.mark_interrupted() == ()
    child.kill()
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
    assert psutil.Process(child.pid).status() == psutil.STATUS_ZOMBIE

    assert ledger.mark_interrupted() == ("run-1",)
    child.communicate()


def test_a_run_whose_process_id_was_given_to_another_is_interrupted(ledger: Ledger, started_run: Start) -> None:
    now = Owner.current()
    started_run(owner=msgspec.structs.replace(now, started=now.started - 3600))
    assert ledger.mark_interrupted() == ("run-1",)


def test_a_run_whose_process_lives_is_left_alone(ledger: Ledger, started_run: Start) -> None:
    started_run()
    assert ledger.mark_interrupted() == ()
    assert ledger.run("run-1").status is RunStatus.RUNNING


def test_a_clock_that_was_corrected_is_not_a_death(ledger: Ledger, started_run: Start) -> None:
    now = Owner.current()
    started_run(owner=msgspec.structs.replace(now, started=now.started + 2))
    assert ledger.mark_interrupted() == ()


def test_a_run_of_another_host_lives_as_long_as_its_heart_beats(
    ledger: Ledger, started_run: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    started_run(owner=Owner(pid=1, started=0.0, host="elsewhere"))
    assert ledger.mark_interrupted() == ()
    monkeypatch.setattr("sayagain.ledger.interrupted.SILENT_S", -3600.0)
    assert ledger.mark_interrupted() == ("run-1",)
    assert "no sign of life" in (ledger.run("run-1").reason or "")


def test_a_heartbeat_after_the_look_saves_the_run(
    ledger: Ledger, ledger_url: str, started_run: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    started_run(owner=Owner(pid=1, started=0.0, host="elsewhere"))
    monkeypatch.setattr("sayagain.ledger.interrupted.SILENT_S", -3600.0)
    engine = build_engine(parse(ledger_url))
    with engine.connect() as connection:
        (gone,) = runs_gone(connection)
    assert ledger.heartbeat("run-1")
    with engine.begin() as connection:
        assert not interrupt(connection, gone)
    engine.dispose()


def test_a_finished_run_is_never_interrupted(ledger: Ledger, started_run: Start) -> None:
    started_run(owner=Owner(pid=1, started=0.0, host=Owner.current().host))
    ledger.finalize("run-1", RunStatus.FAILED)
    assert ledger.mark_interrupted() == ()
    assert ledger.run("run-1").status is RunStatus.FAILED


def test_the_hosts_name_cannot_be_read_from_the_ledger() -> None:
    import socket

    host = Owner.current().host
    assert len(host) == 32
    assert socket.gethostname() not in host


def test_one_process_finalizes_while_another_records(ledger: Ledger, writer: Writer) -> None:
    process = writer("run-1", 1, "endless")
    assert process.stdout is not None
    process.stdout.readline()

    assert ledger.retrying(lambda: ledger.finalize("run-1", RunStatus.PARTIAL, "SIGTERM"), 60)
    counted = ledger.counts("run-1")
    _, said = process.communicate()

    assert "run run-1 is already partial: no more cases can be recorded in it" in said
    assert ledger.counts("run-1") == counted
    assert ledger.run("run-1").status is RunStatus.PARTIAL


def test_two_processes_record_at_once(ledger: Ledger, writer: Writer, started_run: Start, make: Any) -> None:
    process = writer("run-2", 60)
    started_run("run-1", cases=60)
    for position in range(60):
        ledger.record_with_retry("run-1", [make.case(position)], 60)
    assert process.stdout is not None
    for _ in range(60):
        assert process.stdout.readline()
    assert [run.counts.succeeded for run in (ledger.run("run-1"), ledger.run("run-2"))] == [60, 60]


def test_threads_may_share_a_ledger(ledger: Ledger, started_run: Start, make: Any) -> None:
    from concurrent.futures import ThreadPoolExecutor

    run_id = started_run(cases=40)
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda position: ledger.record(run_id, [make.case(position)]), range(40)))
        assert all(pool.map(lambda _: ledger.heartbeat(run_id), range(8)))
    assert ledger.counts(run_id).succeeded == 40


def test_a_ledger_that_was_closed_can_be_opened_again(ledger_url: str, make: Any) -> None:
    with open_ledger(ledger_url, upgrade=True) as ledger:
        ledger.insert_run(make.header(), Owner.current())
    with open_ledger(ledger_url) as ledger:
        assert ledger.run("latest").run_id == "run-1"
        with pytest.raises(LedgerError):
            ledger.insert_run(make.header(), Owner.current())
