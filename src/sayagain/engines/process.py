"""One engine's process as the measuring process sees it: started, ready, ended, and why."""

import asyncio
import contextlib
import signal
import sys
from collections.abc import Mapping
from typing import Self, cast

import msgspec

from sayagain.failures import CaseFailedError, failed
from sayagain.records import FailureKind, Phase, Setting

STDERR_LINES = 20
STDERR_BYTES = 8192


class ReadyLine(msgspec.Struct, frozen=True):
    """The one line that an engine's process prints: a port to connect to, or the reason why there is none.

    `load_s` is how long loading and warming up took, in seconds.
    """

    ready: bool
    port: int = 0
    engine: str = ""
    engine_version: str = ""
    model: str = ""
    load_s: float = 0.0
    error: str = ""


class EngineProcess:
    """A running engine. Its stdin is held open for as long as it may live."""

    def __init__(self, process: asyncio.subprocess.Process, ready: ReadyLine, stderr: "StderrTail") -> None:
        self._process = process
        self._stderr = stderr
        self._exit = asyncio.create_task(process.wait())
        self.ready = ready

    @classmethod
    async def start(cls, engine: str, options: Mapping[str, Setting], timeout_s: float) -> Self:
        """Start an engine and wait until it is loaded and warm.

        Raises:
            CaseFailedError: `engine_crashed`: it could not be loaded, ended while it loaded, or was not ready
                within `timeout_s`. Nothing is left running.
        """
        arguments = [f"--{name.replace('_', '-')}={value}" for name, value in options.items() if value is not None]
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-P",  # a file in the current directory must not stand in for a package of the engine
            "-m",
            "sayagain.engines",
            engine,
            *arguments,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            start_new_session=True,  # a terminal's Ctrl-C reaches us alone
        )
        stderr = StderrTail(cast(asyncio.StreamReader, process.stderr))
        try:
            async with asyncio.timeout(timeout_s):
                ready = _parse(await cast(asyncio.StreamReader, process.stdout).readline())
                if ready is None or not ready.ready:
                    raise await _not_ready(engine, process, ready, stderr)
        except BaseException as error:
            _kill(process)
            await process.wait()
            await stderr.close()
            if isinstance(error, TimeoutError):
                message = f"the engine {engine} was not ready within {timeout_s:g} s"
                raise failed(FailureKind.ENGINE_CRASHED, Phase.PREPARE, message, code="load-timeout") from None
            raise
        return cls(process, ready, stderr)

    @property
    def pid(self) -> int:
        """The process id."""
        return self._process.pid

    @property
    def stderr(self) -> str:
        """The last lines that it wrote to stderr."""
        return self._stderr.text

    @property
    def exit_code(self) -> str | None:
        """How it ended, such as `SIGKILL` or `exit 3`, or None while it runs."""
        return _described(self._process.returncode)

    async def ended(self, within_s: float) -> str | None:
        """Return how it ended, waiting for that for at most `within_s` seconds, or None while it runs."""
        await asyncio.wait({self._exit}, timeout=within_s)
        return self.exit_code

    async def kill(self) -> None:
        """End it at once, hung or not, and wait until it is gone."""
        _kill(self._process)
        await asyncio.shield(self._exit)
        await self._stderr.close()


class StderrTail:
    """Keeps the end of what a process writes to stderr, reading all of it so that the process never blocks."""

    def __init__(self, stream: asyncio.StreamReader) -> None:
        self._kept = b""
        self._task = asyncio.create_task(self._drain(stream))

    @property
    def text(self) -> str:
        """The last lines, at most `STDERR_LINES`."""
        return "\n".join(self._kept.decode("utf-8", "replace").splitlines()[-STDERR_LINES:])

    async def close(self) -> None:
        """Take what is still on the way from a process that has ended, and stop."""
        await asyncio.wait({self._task}, timeout=1.0)
        self._task.cancel()

    async def _drain(self, stream: asyncio.StreamReader) -> None:
        while data := await stream.read(STDERR_BYTES):
            self._kept = (self._kept + data)[-STDERR_BYTES:]


def _parse(line: bytes) -> ReadyLine | None:
    try:
        return msgspec.json.decode(line, type=ReadyLine)
    except msgspec.DecodeError:
        return None


async def _not_ready(
    engine: str, process: asyncio.subprocess.Process, said: ReadyLine | None, stderr: StderrTail
) -> CaseFailedError:
    """Say why an engine did not become ready: its own reason, or else how it ended and its last words."""
    if said is not None:
        message = f"the engine {engine} could not be loaded: {said.error}"
        return failed(FailureKind.ENGINE_CRASHED, Phase.PREPARE, message, code="load")
    code = _described(await process.wait())
    await stderr.close()
    last_words = stderr.text.splitlines()[-1:]
    message = ": ".join([f"the engine {engine} ended while it was loading ({code})", *last_words])
    return failed(FailureKind.ENGINE_CRASHED, Phase.PREPARE, message, code=code)


def _kill(process: asyncio.subprocess.Process) -> None:
    with contextlib.suppress(ProcessLookupError):
        process.kill()


def _described(returncode: int | None) -> str | None:
    if returncode is None:
        return None
    if returncode >= 0:
        return f"exit {returncode}"
    try:
        return signal.Signals(-returncode).name
    except ValueError:
        return f"signal {-returncode}"
