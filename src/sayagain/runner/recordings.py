"""Recordings as the PCM that attempts send, read and decoded in a child process.

Not in a thread: one that computes takes the interpreter from the loop whenever that makes a system call, and while
streams are live it makes thousands a second.
"""

import asyncio
import itertools
from pathlib import Path

from sayagain.failures import CaseFailedError, failed
from sayagain.records import AudioFormat, Failure, FailureKind, Item, Phase, Record
from sayagain.runner.child import Child


class Wanted(Record, frozen=True, kw_only=True):
    """A request to the child: an item's audio in a format, from the folder of its dataset."""

    number: int
    root: str
    item: Item
    audio_format: AudioFormat


class Found(Record, frozen=True, kw_only=True):
    """The child's answer to the request of that number."""

    number: int
    pcm: bytes = b""
    failure: Failure | None = None


class Recordings:
    """The measuring process's end.

    A child that ends unasked fails what it was asked for, and another takes its place.
    """

    def __init__(self) -> None:
        self._child: Child | None = None
        self._answers: asyncio.Task[None] | None = None
        self._numbers = itertools.count()
        self._waiting: dict[int, asyncio.Future[Found]] = {}
        self._starting = asyncio.Lock()

    async def start(self) -> None:
        """Start the child, unless it is there."""
        async with self._starting:
            if self._child is None:
                self._child = await Child.start("sayagain.runner.reading")
                self._answers = asyncio.create_task(self._take_answers(self._child), name="recordings")

    async def read(self, root: Path, item: Item, audio_format: AudioFormat) -> bytes:
        """Return an item's audio as raw PCM in a format; raises what `sayagain.datasets.read_pcm` raises."""
        await self.start()
        assert self._child is not None  # noqa: S101 - just started
        number = next(self._numbers)
        answer = self._waiting[number] = asyncio.get_running_loop().create_future()
        self._child.send(Wanted(number=number, root=str(root), item=item, audio_format=audio_format))
        try:
            found: Found = await answer
        finally:
            self._waiting.pop(number, None)
        if found.failure is not None:
            raise CaseFailedError(found.failure)
        return found.pcm

    async def aclose(self) -> None:
        """End the child; never raises."""
        if self._answers is not None:
            self._answers.cancel()
            await asyncio.gather(self._answers, return_exceptions=True)
        if self._child is not None:
            await self._child.end()

    async def _take_answers(self, child: Child) -> None:
        while (found := await child.receive(Found)) is not None:
            answer = self._waiting.get(found.number)
            if answer is not None and not answer.done():
                answer.set_result(found)
        self._child = None
        code = await child.exit_code()
        for answer in self._waiting.values():
            if not answer.done():
                answer.set_exception(
                    failed(
                        FailureKind.INTERNAL,
                        Phase.PREPARE,
                        f"the process that reads recordings ended (exit {code})",
                        code=str(code),
                    )
                )
