"""The recorder's child process: scores finished cases, commits them and acknowledges.

Run as `python -m sayagain.runner.recording`. It reads messages from its standard input: a `Setup`, then finished
cases; it answers the setup and every commit with an `Ack`. It ends when its input ends, after committing what it
was handed, so it never outlives the run, and nothing that it was handed is lost when the run is killed. A signal
sent to the terminal's process group does not reach it.

A case that comes after a quiet time is committed at once; a stream of cases in groups, a few times a second: the
processor time of a commit, about 2 ms, is taken from what is being measured on the same machine.
"""

import contextlib
import os
import sys
import threading
import time
from pathlib import Path

import msgspec

from sayagain import logs
from sayagain.errors import SayagainError
from sayagain.ledger import Ledger, open_ledger
from sayagain.metrics import failed_result, score
from sayagain.metrics.intelligibility import METRIC, without_value
from sayagain.records import Benchmark, FinishedCase, Result, ScoredCase
from sayagain.runner.messages import Inbox, Outbox, standard_streams
from sayagain.runner.recorder import Ack, Setup
from sayagain.runner.spool import keep

NICENESS = 10
"""How much this process stands back even when it takes its turn: what is measured goes before what is over."""

GROUP = 256
"""The most cases that are committed together."""

SIGN_S = 1.0
"""How often, in seconds, the run is told that its cases are being scored."""

PAUSE_S = 0.2
"""The least time between commits, in seconds, unless a whole group waits."""

HEARTBEAT_S = 10.0
"""How often the run says in the ledger that it is alive."""


def main() -> None:
    """Serve one run."""
    inbox, outbox = standard_streams(NICENESS)
    logs.configure()
    if not (first := inbox.take(1)):
        return
    setup = msgspec.msgpack.decode(first[0], type=Setup)
    try:
        ledger = open_ledger(setup.db)
    except SayagainError as error:
        outbox.put(Ack(error=str(error)))
        return
    with ledger:
        outbox.put(Ack())
        _keep_alive(ledger, setup.run_id)
        if setup.yields:
            _yield()
        _serve(inbox, outbox, ledger, setup)


def _yield() -> None:
    """Work only when nothing else wants to, where the system has such a thing; there is no way back."""
    if sys.platform == "linux":
        with contextlib.suppress(OSError):
            os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))


def _serve(inbox: Inbox, outbox: Outbox, ledger: Ledger, setup: Setup) -> None:
    decoder = msgspec.msgpack.Decoder(FinishedCase)
    folder = Path(setup.spool) if setup.spool else None
    due_s = said_s = time.monotonic()
    while messages := inbox.take(GROUP, due_s):
        cases = []
        for message in messages:
            cases.append(_scored(decoder.decode(message), folder))
            if time.monotonic() > said_s + SIGN_S:
                outbox.put(Ack())
                said_s = time.monotonic()
        outbox.put(Ack(committing=True))
        try:
            ledger.record_with_retry(setup.run_id, cases, setup.ledger_timeout_s)
        except SayagainError as error:
            outbox.put(Ack(error=str(error)))
            return
        outbox.put(Ack(cases=len(cases)))
        said_s = time.monotonic()
        due_s = said_s + PAUSE_S


def _scored(finished: FinishedCase, folder: Path | None) -> ScoredCase:
    """Return a case with its results; with a folder, what it owes to the judge is there or on its way."""
    results = score(finished)
    if folder is not None and finished.case.target.benchmark is Benchmark.TTS:
        owed = failed_result(METRIC, finished) or _kept(finished, folder)
        results += () if owed is None else (owed,)
    return ScoredCase(finished=finished, results=results)


def _kept(finished: FinishedCase, folder: Path) -> Result | None:
    """Keep the audio for the judge, whose result comes later; return one that says why it cannot come."""
    try:
        keep(folder, finished)
    except OSError as error:
        logs.logger().warning("judge_audio_not_kept", case_id=finished.case.id, reason=type(error).__name__)
        return without_value("not judged: its audio could not be kept")
    return None


def _keep_alive(ledger: Ledger, run_id: str) -> None:
    def beat() -> None:
        while not stopped.wait(HEARTBEAT_S):
            try:
                ledger.heartbeat(run_id)
            except SayagainError:
                continue  # the next group, or the next beat, will say whether the ledger is gone

    stopped = threading.Event()
    threading.Thread(target=beat, name="heartbeat", daemon=True).start()


if __name__ == "__main__":
    main()
