"""A pool of engine processes: each is leased to one attempt at a time, and replaced when it is not well."""

import asyncio
from collections import deque
from collections.abc import Mapping
from types import MappingProxyType

from sayagain.engines.process import EngineProcess, ReadyLine
from sayagain.engines.registry import find
from sayagain.engines.server import HOST
from sayagain.errors import UsageError
from sayagain.failures import failed
from sayagain.records import FailureKind, Phase, Setting

LOAD_TIMEOUT_S = 60.0
MAX_RESTARTS = 3
"""Replacements started without one healthy release in between; after that the pool gives up."""


class Lease:
    """The right to use one engine process, until it is released."""

    def __init__(self, process: EngineProcess) -> None:
        self._process = process

    @property
    def host(self) -> str:
        """The address to connect to."""
        return HOST

    @property
    def port(self) -> int:
        """The TCP port to connect to."""
        return self._process.ready.port

    @property
    def pid(self) -> int:
        """The engine's process id."""
        return self._process.pid

    @property
    def info(self) -> ReadyLine:
        """What the engine said of itself when it was ready."""
        return self._process.ready

    @property
    def stderr(self) -> str:
        """The last lines that the engine wrote to stderr."""
        return self._process.stderr

    async def died(self, within_s: float) -> str | None:
        """Return how the process ended, such as `SIGKILL` or `exit 3`, or None when it lives.

        A lost connection is seen before the end of the process that caused it, so this waits for the end for
        at most `within_s` seconds.
        """
        return await self._process.ended(within_s)


class EnginePool:
    """`size` processes of one engine. Waiting for a lease, and loading, are never part of an attempt's time.

    `engine` is a name of the registry or `module:attribute` of an `EngineInfo`; `options` are settings that
    differ from the registry's.
    """

    def __init__(
        self,
        engine: str,
        size: int,
        options: Mapping[str, Setting] = MappingProxyType({}),
        *,
        load_timeout_s: float = LOAD_TIMEOUT_S,
    ) -> None:
        self.engine = engine
        self._size = size
        self._options = options
        self._load_timeout_s = load_timeout_s
        self._slots = asyncio.Semaphore(size)
        self._never_started = size
        self._restarts = 0
        self._idle: deque[EngineProcess] = deque()
        self._leased: dict[Lease, EngineProcess] = {}
        self._running: set[EngineProcess] = set()
        self._closed = False

    async def start(self) -> None:
        """Start all processes in parallel and wait until each is loaded and warm.

        Raises:
            UsageError: There is no such engine, it is not installed, or it has no such option.
            CaseFailedError: `engine_crashed`: it is installed and cannot be loaded. Nothing is left running.
        """
        self._require_usable()
        started = await asyncio.gather(*(self._start_one() for _ in range(self._size)), return_exceptions=True)
        self._idle.extend(outcome for outcome in started if isinstance(outcome, EngineProcess))
        for outcome in started:
            if isinstance(outcome, BaseException):
                await self.aclose()
                raise outcome

    async def acquire(self) -> Lease:
        """Wait for a loaded engine that no other attempt uses, and start one when the last was not well.

        Raises:
            CaseFailedError: `engine_crashed`: a replacement could not be loaded, or too many were needed.
        """
        await self._slots.acquire()
        try:
            process = await self._take()
        except BaseException:
            self._slots.release()
            raise
        lease = Lease(process)
        self._leased[lease] = process
        return lease

    async def release(self, lease: Lease, healthy: bool) -> None:
        """Give a lease back; only the first time counts.

        Healthy means that the answer was complete. Any other process is killed: it may be busy, hung or dead,
        and the next attempt is owed a fresh one.
        """
        process = self._leased.pop(lease, None)
        if process is None:
            return
        try:
            if healthy and not self._closed:
                self._restarts = 0
                self._idle.append(process)
            else:
                await self._end(process)
        finally:
            self._slots.release()

    async def aclose(self) -> None:
        """Kill every process and wait until all are gone."""
        self._closed = True
        self._idle.clear()
        self._leased.clear()
        await asyncio.gather(*map(self._end, tuple(self._running)))

    def _require_usable(self) -> None:
        info = find(self.engine)
        missing = info.why_missing()
        if missing is not None:
            raise UsageError(missing)
        unknown = sorted(set(self._options) - set(info.settings))
        if unknown:
            known = ", ".join(info.settings) or "none"
            raise UsageError(f"{self.engine} has no setting {', '.join(unknown)}; it has: {known}.")

    async def _take(self) -> EngineProcess:
        while self._idle:
            process = self._idle.popleft()
            if process.exit_code is None:
                return process
            await self._end(process)
        return await self._start_one()

    async def _start_one(self) -> EngineProcess:
        if self._closed:
            raise failed(FailureKind.CANCELLED, Phase.PREPARE, f"the pool of {self.engine} is closed")
        if self._never_started > 0:
            self._never_started -= 1
        elif self._restarts >= MAX_RESTARTS:
            message = f"the engine {self.engine} was restarted {MAX_RESTARTS} times without one success"
            raise failed(FailureKind.ENGINE_CRASHED, Phase.PREPARE, message, code="restarts")
        else:
            self._restarts += 1
        process = await EngineProcess.start(self.engine, self._options, self._load_timeout_s)
        self._running.add(process)
        if self._closed:
            await self._end(process)
            raise failed(FailureKind.CANCELLED, Phase.PREPARE, f"the pool of {self.engine} is closed")
        return process

    async def _end(self, process: EngineProcess) -> None:
        await process.kill()
        self._running.discard(process)
