"""The recorder: finished cases leave the measuring process here and come back as acknowledgements.

Scoring and database writes happen in a child process, so that neither ever holds up the loop that takes
timestamps. A case leaves at once, and is safe when the operating system has taken it: the child commits what it
was handed even when this process is killed. How many may be unacknowledged is bounded: when the ledger is slow,
new cases wait and memory does not grow.

The child works when nothing else wants to (docs/decisions/0010). A machine on which something always does would
never let it: one that was given nothing to say for too long is replaced by another that takes its turn, and is
handed again what was not acknowledged. Recording a case twice changes nothing.
"""

import asyncio
from collections import deque

import msgspec

from sayagain.errors import LedgerError
from sayagain.logs import logger
from sayagain.records import FinishedCase, Record
from sayagain.runner.child import Child
from sayagain.transports.pacing import NS_PER_S, now_ns

WAITING = 512
"""The most finished cases that may be unacknowledged."""

STARVED_S = 5.0
"""How long a child that has work, and is not waiting for the ledger, may say nothing, in seconds."""

LOOK_S = 1.0
"""How often that is looked at, in seconds."""


class Setup(Record, frozen=True, kw_only=True):
    """The first message to the child: which ledger, which run, and for how long a refused write is retried.

    `spool` is the folder in which synthesized audio is kept for the judge; without one there is no judge. One that
    `yields` works only when nothing else wants to.
    """

    db: str
    run_id: str
    ledger_timeout_s: float
    spool: str | None = None
    yields: bool = False


class Ack(Record, frozen=True, kw_only=True):
    """What the child says: to the setup, once a second while it scores, before each commit, and after it.

    `cases` is how many were committed, `committing` that it is now for the ledger to answer, and `error` why it
    cannot go on.
    """

    cases: int = 0
    committing: bool = False
    error: str | None = None


class Recorder:
    """The measuring process's end: takes finished cases and knows when they are safe.

    Once cases could not be committed, `failed` is set, and every later `put` raises the reason.
    """

    def __init__(self, setup: Setup) -> None:
        self._setup = setup
        self._child: Child | None = None
        self._recording: asyncio.Task[None] | None = None
        self._room = asyncio.Semaphore(WAITING)
        self._unacknowledged: deque[FinishedCase] = deque()
        self._heard_ns = 0
        self._committing = False
        self._closing = False
        self._error: str | None = None
        self.failed = asyncio.Event()

    async def start(self) -> None:
        """Start the child and wait until it has opened the ledger; raise LedgerError if it cannot."""
        self._child = await self._open(self._setup)
        self._recording = asyncio.create_task(self._record(), name="recorder")

    async def put(self, finished: FinishedCase) -> None:
        """Hand over a finished case; waits while the ledger is behind. Raises LedgerError once it has failed."""
        if self._error is None:
            await self._room.acquire()
        if self._error is not None:
            self._room.release()  # whoever else waits for room is to learn of it, too
            raise LedgerError(self._error)
        if not self._unacknowledged:
            self._heard_ns = now_ns()
        self._unacknowledged.append(finished)
        if self._child is not None:
            self._child.send(finished)

    async def close(self) -> None:
        """Wait until everything handed over is committed, then end the child; raise LedgerError if it is not."""
        if self._recording is not None:
            self._closing = True
            if self._child is not None:
                self._child.end_input()
            await self._recording
        if self._child is not None:
            await self._child.end()
        if self._error is not None:
            raise LedgerError(self._error)

    async def abandon(self) -> None:
        """End the child whatever it is doing; does nothing after `close`. Never raises."""
        if self._recording is not None:
            self._recording.cancel()
            await asyncio.gather(self._recording, return_exceptions=True)
        if self._child is not None:
            await self._child.end()

    async def _open(self, setup: Setup) -> Child:
        child = await Child.start("sayagain.runner.recording")
        child.send(setup)
        ack = await child.receive(Ack)
        error = await _ended(child) if ack is None else ack.error
        if error is not None:
            await child.end()
            raise LedgerError(error)
        return child

    async def _record(self) -> None:
        """Take the child's answers, and replace it when it starves, until all is over or nothing can be done."""
        try:
            while self._child is not None and await self._starves(self._child):
                await self._replace(self._child)
        except (LedgerError, OSError) as error:
            self._error = str(error)
            self.failed.set()
            self._room.release()

    async def _starves(self, child: Child) -> bool:
        """Make room for what is committed; return True when the child starves, and False when it has ended.

        Raises LedgerError when it cannot go on, or has ended before everything was committed.
        """
        while True:
            try:
                async with asyncio.timeout(LOOK_S):
                    ack = await child.receive(Ack)
            except TimeoutError:
                if self._setup.yields and self._silent():
                    return True
                continue
            if ack is None and self._unacknowledged:
                raise LedgerError(await _ended(child))
            if ack is None:
                return False
            if ack.error is not None:
                raise LedgerError(ack.error)
            self._heard_ns, self._committing = now_ns(), ack.committing
            for _ in range(ack.cases):
                self._unacknowledged.popleft()
                self._room.release()

    def _silent(self) -> bool:
        """Tell whether the child has owed an answer for too long, and it is not the ledger that it waits for."""
        silent_ns = now_ns() - self._heard_ns
        return bool(self._unacknowledged) and not self._committing and silent_ns > STARVED_S * NS_PER_S

    async def _replace(self, child: Child) -> None:
        """Let another child, which does not yield, take over."""
        logger().info("recorder_replaced", reason="it was not given any time to work", after_s=STARVED_S)
        self._child = None  # what finishes meanwhile is handed to the other
        await child.kill()
        self._setup = msgspec.structs.replace(self._setup, yields=False)
        self._child = successor = await self._open(self._setup)
        for finished in self._unacknowledged:
            successor.send(finished)
        if self._closing:
            successor.end_input()


async def _ended(child: Child) -> str:
    """Return what it means that the child ended unasked."""
    return f"the recorder's process ended (exit {await child.exit_code()}) before it had committed"
