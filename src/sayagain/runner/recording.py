"""The recorder's child process: scores finished cases, commits them and acknowledges.

Run as `python -m sayagain.runner.recording`. It reads length-prefixed msgpack messages from its standard input:
a `Setup`, then groups of finished cases; it answers each with an `Ack`. It ends when its input ends, so it never
outlives the run, and a signal sent to the terminal's process group does not reach it.
"""

import os
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

import msgspec

from sayagain import logs
from sayagain.errors import SayagainError
from sayagain.ledger import Ledger, open_ledger
from sayagain.metrics import failed_result, score
from sayagain.metrics.intelligibility import METRIC, without_value
from sayagain.records import Benchmark, FinishedCase, Result, ScoredCase
from sayagain.runner.recorder import Ack, Setup
from sayagain.runner.spool import keep

HEARTBEAT_S = 10.0
"""How often the run says in the ledger that it is alive."""


def main() -> None:
    """Serve one run."""
    source = sys.stdin.buffer
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # what a library prints must not look like an answer
    logs.configure()
    setup = msgspec.msgpack.decode(next(_messages(source)), type=Setup)
    try:
        ledger = open_ledger(setup.db)
    except SayagainError as error:
        _answer(answers, Ack(error=str(error)))
        return
    with ledger:
        _answer(answers, Ack())
        _keep_alive(ledger, setup.run_id)
        _serve(source, answers, ledger, setup)


def _serve(source: BinaryIO, answers: BinaryIO, ledger: Ledger, setup: Setup) -> None:
    decoder = msgspec.msgpack.Decoder(list[FinishedCase])
    folder = Path(setup.spool) if setup.spool else None
    for message in _messages(source):
        cases = [_scored(finished, folder) for finished in decoder.decode(message)]
        try:
            ledger.record_with_retry(setup.run_id, cases, setup.ledger_timeout_s)
        except SayagainError as error:
            _answer(answers, Ack(error=str(error)))
            return
        _answer(answers, Ack())


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


def _messages(source: BinaryIO) -> Iterator[bytes]:
    """Yield whole messages until the input ends; one that was cut off is not a message."""
    while len(prefix := source.read(4)) == 4:
        size = int.from_bytes(prefix, "big")
        message = source.read(size)
        if len(message) < size:
            return
        yield message


def _answer(answers: BinaryIO, ack: Ack) -> None:
    message = msgspec.msgpack.encode(ack)
    answers.write(len(message).to_bytes(4, "big") + message)
    answers.flush()


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
