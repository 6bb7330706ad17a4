"""The recorder: finished cases leave the measuring process here and come back as acknowledgements.

Scoring and database writes happen in a child process, so that neither ever holds up the loop that takes
timestamps. Cases that wait are sent in one group and committed in one transaction; a group stays in memory
until it is acknowledged. The queue is bounded: when the ledger is slow, new cases wait and memory does not grow.
"""

import asyncio
import contextlib
import os
import sys
from asyncio.subprocess import PIPE, Process

import msgspec

from sayagain.errors import LedgerError
from sayagain.records import FinishedCase, Record

GROUP = 256
"""The most cases that are committed together."""

WAITING = 512
"""The most finished cases that may wait to be sent."""

GROUP_BYTES = 256 * 1024
"""A group is closed early when its synthesized audio reaches this size: packing holds up the loop, 2 ms a MB."""


class Setup(Record, frozen=True, kw_only=True):
    """The first message to the child: which ledger, which run, and for how long a refused write is retried.

    `spool` is the folder in which synthesized audio is kept for the judge; without one there is no judge.
    """

    db: str
    run_id: str
    ledger_timeout_s: float
    spool: str | None = None


class Ack(Record, frozen=True, kw_only=True):
    """The child's answer to the setup and to each group; `error` says why it was not committed."""

    error: str | None = None


class Recorder:
    """The measuring process's end: takes finished cases and knows when they are safe.

    Once a group could not be committed, `failed` is set with the reason, and every later `put` raises it.
    """

    def __init__(self, setup: Setup) -> None:
        self._setup = setup
        self._queue: asyncio.Queue[FinishedCase | None] = asyncio.Queue(WAITING)
        self._process: Process | None = None
        self._pump: asyncio.Task[None] | None = None
        self._error: str | None = None
        self.failed = asyncio.Event()

    async def start(self) -> None:
        """Start the child and wait until it has opened the ledger; raise LedgerError if it cannot."""
        self._process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            "sayagain.runner.recording",
            stdin=PIPE,
            stdout=PIPE,
            start_new_session=True,
            limit=1024 * 1024,
        )
        await self._send(msgspec.msgpack.encode(self._setup))
        ack = await self._receive()
        if ack.error:
            await self._end_process()
            raise LedgerError(ack.error)
        self._pump = asyncio.create_task(self._run(), name="recorder")

    async def put(self, finished: FinishedCase) -> None:
        """Hand over a finished case; waits while the ledger is behind. Raises LedgerError once it has failed."""
        if self._error is None and self._queue.full():
            await self._room_or_failure(finished)
        elif self._error is None:
            self._queue.put_nowait(finished)
        if self._error is not None:
            raise LedgerError(self._error)

    async def close(self) -> None:
        """Wait until everything handed over is committed, then end the child; raise LedgerError if it is not."""
        if self._pump is not None:
            await self._queue.put(None)
            await self._pump
        await self._end_process()
        if self._error is not None:
            raise LedgerError(self._error)

    async def abandon(self) -> None:
        """End the child whatever it is doing; does nothing after `close`. Never raises."""
        if self._pump is not None:
            self._pump.cancel()
            await asyncio.gather(self._pump, return_exceptions=True)
        await self._end_process()

    async def _room_or_failure(self, finished: FinishedCase) -> None:
        putting = asyncio.ensure_future(self._queue.put(finished))
        failing = asyncio.ensure_future(self.failed.wait())
        await asyncio.wait({putting, failing}, return_when=asyncio.FIRST_COMPLETED)
        putting.cancel()
        failing.cancel()

    async def _run(self) -> None:
        try:
            while group := await self._next_group():
                await self._send(msgspec.msgpack.encode(group))
                ack = await self._receive()
                if ack.error:
                    raise LedgerError(ack.error)
        except (LedgerError, OSError) as error:
            self._error = str(error)
            self.failed.set()
            self._discard_waiting()

    async def _next_group(self) -> list[FinishedCase]:
        group: list[FinishedCase] = []
        size = 0
        while len(group) < GROUP and size < GROUP_BYTES:
            if group and self._queue.empty():
                break
            finished = await self._queue.get()
            if finished is None:
                self._queue.put_nowait(None)
                break
            group.append(finished)
            size += sum(len(attempt.trace.audio) for attempt in finished.attempts)
        return group

    def _discard_waiting(self) -> None:
        """Make room, so that nobody waits for a ledger that will not come back."""
        while not self._queue.empty():
            self._queue.get_nowait()

    async def _send(self, message: bytes) -> None:
        assert self._process is not None and self._process.stdin is not None  # noqa: S101, PT018 - started
        self._process.stdin.write(len(message).to_bytes(4, "big"))
        self._process.stdin.write(message)
        await self._process.stdin.drain()

    async def _receive(self) -> Ack:
        assert self._process is not None and self._process.stdout is not None  # noqa: S101, PT018 - started
        try:
            size = int.from_bytes(await self._process.stdout.readexactly(4), "big")
            return msgspec.msgpack.decode(await self._process.stdout.readexactly(size), type=Ack)
        except asyncio.IncompleteReadError:
            code = await self._process.wait()
            raise LedgerError(f"the recorder's process ended (exit {code}) before it had committed") from None

    async def _end_process(self) -> None:
        if self._process is None or self._process.returncode is not None:
            return
        if self._process.stdin is not None:
            self._process.stdin.close()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(5):
                await self._process.wait()
        if self._process.returncode is None:
            os.kill(self._process.pid, 9)
            await self._process.wait()
