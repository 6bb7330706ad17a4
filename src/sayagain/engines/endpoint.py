"""A pool of engines as the Wyoming transport's endpoint: an attempt's error decides what becomes of its engine."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from types import MappingProxyType
from typing import ClassVar

from sayagain.engines.host import EnginePool, Lease
from sayagain.errors import UsageError
from sayagain.failures import CaseFailedError, classify, failed
from sayagain.records import FailureKind, Phase, Setting

DEATH_NOTICE_S = 2.0
"""How long after a lost connection the end of the process that caused it is waited for."""

LOST = frozenset({FailureKind.CONNECTION_LOST, FailureKind.CONNECT_REFUSED})
COMPLETE = frozenset({FailureKind.BAD_REQUEST, FailureKind.AUDIO_FORMAT, FailureKind.EMPTY})
"""Failures after which the engine has answered all it was asked and is as good as before."""


class EngineEndpoint:
    """`size` processes of a local engine, each serving one attempt at a time."""

    local: ClassVar[bool] = True

    def __init__(self, engine: str, size: int, options: Mapping[str, Setting] = MappingProxyType({})) -> None:
        self._pool = EnginePool(engine, size, options)

    async def prepare(self) -> None:
        """Load every process, before anything is timed; raises UsageError when the engine cannot be used."""
        try:
            await self._pool.start()
        except CaseFailedError as error:
            raise UsageError(f"{error}. Leave it out with --models, or install it anew.") from error

    @asynccontextmanager
    async def lease(self) -> AsyncIterator[Lease]:
        """Hold a loaded engine; an attempt whose engine died fails as `engine_crashed`, with how it ended."""
        lease = await self._pool.acquire()
        healthy = False
        try:
            yield lease
            healthy = True
        except Exception as error:
            failure = classify(error, Phase.RECEIVE)
            healthy = failure.kind in COMPLETE
            code = await lease.died(DEATH_NOTICE_S if failure.kind in LOST else 0.0)
            if code is not None:
                message = f"the engine {self._pool.engine} ended ({code})"
                raise failed(FailureKind.ENGINE_CRASHED, failure.phase, message, code=code) from error
            raise
        finally:
            await self._pool.release(lease, healthy)

    async def aclose(self) -> None:
        """End every process."""
        await self._pool.aclose()
