"""A timeout whose deadline can be moved for next to nothing, because that is done for every frame of a stream.

`asyncio.timeout` cancels a timer and sets another each time it is moved. Here moving is one assignment, and the
timer looks when it rings whether it was moved meanwhile: so a deadline is never missed and never early.
"""

import asyncio
import math
from types import TracebackType

NEVER = math.inf


class Patience:
    """An async context that raises TimeoutError when it is not moved on for `seconds`; see `asyncio.timeout`."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._loop = asyncio.get_running_loop()
        self._deadline = NEVER
        self._timeout: asyncio.Timeout | None = asyncio.timeout(None)
        self._timer: asyncio.TimerHandle | None = None
        self._expired = False

    async def __aenter__(self) -> "Patience":
        assert self._timeout is not None  # noqa: S101 - used once
        self.renew()
        await self._timeout.__aenter__()
        self._timer = self._loop.call_later(self._seconds, self._look)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._timeout is not None  # noqa: S101 - entered
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        timeout, self._timeout = self._timeout, None  # it holds the task, whose frames hold this
        self._expired = timeout.expired()
        await timeout.__aexit__(kind, error, trace)

    @property
    def expired(self) -> bool:
        """Whether it was this that ended the context."""
        return self._expired

    def renew(self) -> None:
        """Wait for the whole time again, from now."""
        self._deadline = self._loop.time() + self._seconds

    def suspend(self) -> None:
        """Wait for as long as it takes, until it is renewed."""
        self._deadline = NEVER

    def _look(self) -> None:
        now = self._loop.time()
        if now >= self._deadline and self._timeout is not None:
            self._timer = None
            self._timeout.reschedule(now)
        else:
            self._timer = self._loop.call_at(min(self._deadline, now + self._seconds), self._look)
