"""The recorder's process stands back for what is measured, is replaced when it starves, and loses nothing."""

import errno
import os
import signal
import sqlite3
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest
from structlog.testing import capture_logs

from sayagain.ledger import open_ledger
from sayagain.records import FinishedCase, RunStatus
from sayagain.runner import recorder as recorder_module
from sayagain.runner.child import Child
from sayagain.runner.orchestrator import Outcome
from support.speakers import Watcher, conduct, prepared


class AtTheFirstCase(Watcher):
    """A display that does something with the recorder's process when the first case is over."""

    def __init__(self, what: Callable[[psutil.Process], None]) -> None:
        super().__init__()
        self.what = what

    def case(self, finished: FinishedCase) -> None:
        super().case(finished)
        if len(self.cases) == 1:
            (child,) = psutil.Process().children()
            self.what(child)


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recorder_module, "STARVED_S", 0.5)
    monkeypatch.setattr(recorder_module, "LOOK_S", 0.05)


def everything_is_recorded(outcome: Outcome, url: str, cases: int) -> bool:
    with open_ledger(url) as ledger:
        counts = ledger.counts(outcome.run_id)
    return (outcome.status, counts.succeeded) == (RunStatus.SUCCEEDED, cases)


async def run_with(what: Callable[[psutil.Process], None], url: str, cases: int) -> tuple[Outcome, list[str]]:
    with capture_logs() as logs:
        outcome = await conduct(prepared(items=cases), url, AtTheFirstCase(what))
    return outcome, [entry["event"] for entry in logs]


@pytest.mark.usefixtures("impatient")
async def test_a_recorder_that_gets_no_time_is_replaced_and_every_case_is_recorded_once(sqlite_url: str) -> None:
    starved: list[psutil.Process] = []

    def starve(child: psutil.Process) -> None:
        starved.append(child)
        child.send_signal(signal.SIGSTOP)

    outcome, events = await run_with(starve, sqlite_url, cases=700)
    assert everything_is_recorded(outcome, sqlite_url, 700)
    assert events.count("recorder_replaced") == 1
    assert not starved[0].is_running()


@pytest.mark.usefixtures("impatient")
async def test_a_recorder_that_cannot_be_replaced_fails_the_run_and_says_why(
    sqlite_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def refuse(module: str) -> Child:
        raise OSError(errno.EAGAIN, "no more processes")

    def starve(child: psutil.Process) -> None:
        monkeypatch.setattr(Child, "start", refuse)
        child.send_signal(signal.SIGSTOP)

    outcome, _ = await run_with(starve, sqlite_url, cases=700)
    assert (outcome.status, outcome.exit_code) == (RunStatus.FAILED, 1)
    assert "no more processes" in (outcome.reason or "")


@pytest.mark.usefixtures("impatient")
async def test_a_recorder_that_waits_for_the_ledger_is_not_replaced(sqlite_url: str) -> None:
    path = sqlite_url.removeprefix("sqlite:///")

    def hold(until: threading.Event) -> None:
        connection = sqlite3.connect(path, isolation_level=None)
        connection.execute("BEGIN IMMEDIATE")
        held.set()
        until.wait(1.5)
        connection.execute("ROLLBACK")
        connection.close()

    held = threading.Event()
    holder = threading.Thread(target=hold, args=(threading.Event(),))

    def lock(child: psutil.Process) -> None:
        holder.start()
        held.wait(5)

    outcome, events = await run_with(lock, sqlite_url, cases=20)
    holder.join()
    assert everything_is_recorded(outcome, sqlite_url, 20)
    assert "recorder_replaced" not in events


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux runs a process when nothing else wants to")
@pytest.mark.parametrize("local", [False, True])
async def test_a_recorder_works_when_nothing_else_wants_to_unless_engines_leave_no_such_time(
    sqlite_url: str, local: bool
) -> None:
    seen: list[tuple[bool, bool]] = []

    def look(child: psutil.Process) -> None:
        for _ in range(200):  # it says that it is ready just before
            idle = os.sched_getscheduler(child.pid) == os.SCHED_IDLE
            if idle is not local:
                break
            time.sleep(0.01)
        seen.append((idle, os.getpriority(os.PRIO_PROCESS, child.pid) > os.getpriority(os.PRIO_PROCESS, 0)))

    ready = prepared(items=3)
    (transport,) = ready.transports.values()
    transport.local = local
    outcome = await conduct(ready, sqlite_url, AtTheFirstCase(look))
    assert outcome.status is RunStatus.SUCCEEDED
    assert seen == [(not local, True)]


def test_what_was_handed_over_is_recorded_even_when_the_run_is_killed(sqlite_url: str, tmp_path: Path) -> None:
    script = tmp_path / "run.py"
    script.write_text(
        "import asyncio, os\n"
        "from support.speakers import Watcher, conduct, prepared\n"
        "class Killed(Watcher):\n"
        "    def case(self, finished):\n"
        "        super().case(finished)\n"
        "        if len(self.cases) == 10:\n"
        "            os.kill(os.getpid(), 9)\n"
        f"asyncio.run(conduct(prepared(items=300), {sqlite_url!r}, Killed()))\n"
    )
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    process = psutil.Popen([sys.executable, str(script)], env=environment)
    assert process.wait(60) == -signal.SIGKILL
    run_id = prepared(items=300).header.run_id
    deadline = time.monotonic() + 30
    with open_ledger(sqlite_url) as ledger:
        while ledger.counts(run_id).succeeded < 10 and time.monotonic() < deadline:
            time.sleep(0.05)
        assert ledger.counts(run_id).succeeded >= 10
