"""The run's end of a child process that it talks with in messages; see `sayagain.runner.messages`."""

import asyncio
import contextlib
import sys
from asyncio.subprocess import PIPE, Process
from typing import TypeVar

import msgspec

from sayagain.records import Record
from sayagain.runner.messages import framed

Message = TypeVar("Message", bound=Record)

LEAVING_S = 5.0
"""How long a child whose input has ended is given to end, in seconds."""


class Child:
    """A module of this package that runs in a process, and a process group, of its own.

    Not in a session of its own: Linux may treat sessions as equals, however nice the processes of one are.
    """

    def __init__(self, process: Process) -> None:
        assert process.stdin is not None and process.stdout is not None  # noqa: S101, PT018 - asked for in `start`
        self._process = process
        self._input = process.stdin
        self._output = process.stdout
        self._size: int | None = None

    @classmethod
    async def start(cls, module: str) -> "Child":
        """Start a module as a script."""
        return cls(
            await asyncio.create_subprocess_exec(
                sys.executable,
                "-m",
                module,
                stdin=PIPE,
                stdout=PIPE,
                process_group=0,
                limit=1024 * 1024,
            )
        )

    def send(self, message: Record) -> None:
        """Hand over a message; one that comes too late is lost, and `receive` tells."""
        self._input.write(framed(message))

    async def receive(self, kind: type[Message]) -> Message | None:
        """Return the next message, or None when the child has ended; can be cancelled and called again."""
        try:
            if self._size is None:
                self._size = int.from_bytes(await self._output.readexactly(4), "big")
            content = await self._output.readexactly(self._size)
        except asyncio.IncompleteReadError:
            return None
        self._size = None
        return msgspec.msgpack.decode(content, type=kind)

    def end_input(self) -> None:
        """Say that nothing more will be sent."""
        self._input.close()

    async def exit_code(self) -> int:
        """Wait until it has ended; return its exit code, negative for a signal."""
        return await self._process.wait()

    async def end(self) -> None:
        """End it, by force if it does not do so in time. Never raises."""
        if self._process.returncode is not None:
            return
        self.end_input()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(LEAVING_S):
                await self._process.wait()
        await self.kill()

    async def kill(self) -> None:
        """End it by force. Never raises."""
        if self._process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                self._process.kill()
            await self._process.wait()
