"""Delays drawn from a stated distribution, in milliseconds, and waiting for an absolute deadline."""

import asyncio
import math
from random import Random
from typing import Annotated

import msgspec

Milliseconds = Annotated[float, msgspec.Meta(ge=0, le=3_600_000)]


class Constant(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag_field="distribution", tag="constant"):
    """Always the same delay."""

    ms: Milliseconds


class Uniform(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag_field="distribution", tag="uniform"):
    """Any delay between two bounds, all equally likely."""

    low_ms: Milliseconds
    high_ms: Milliseconds

    def __post_init__(self) -> None:
        """Refuse bounds in the wrong order."""
        if self.low_ms > self.high_ms:
            raise ValueError("low_ms is above high_ms")


class Lognormal(
    msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag_field="distribution", tag="lognormal"
):
    """A delay whose logarithm is normal: half of the delays are below the median, a few are far above; capped."""

    median_ms: Annotated[float, msgspec.Meta(gt=0, le=3_600_000)]
    sigma: Annotated[float, msgspec.Meta(ge=0, le=5)]
    max_ms: Milliseconds = 60_000.0


Delay = Milliseconds | Constant | Uniform | Lognormal
"""A bare number of milliseconds, or a table that names its distribution."""


def draw(delay: Delay, random: Random) -> float:
    """Return one delay, in seconds."""
    match delay:
        case Constant(ms):
            return ms / 1000
        case Uniform(low_ms, high_ms):
            return random.uniform(low_ms, high_ms) / 1000
        case Lognormal(median_ms, sigma, max_ms):
            return min(random.lognormvariate(math.log(median_ms), sigma), max_ms) / 1000
        case number:
            return number / 1000


class Alarm:
    """Waiting for a deadline of the loop's clock that can be cut short from outside."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._waiter: asyncio.Future[bool] | None = None
        self._rung = False

    def ring(self) -> None:
        """End the present wait, or the next one if nobody waits."""
        self._rung = True
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(True)

    async def until(self, deadline: float | None) -> bool:
        """Wait for a deadline, or for ever; return True when the alarm was rung, before or while waiting."""
        if not self._rung and (deadline is None or deadline > self._loop.time()):
            self._waiter = self._loop.create_future()
            handle = None if deadline is None else self._loop.call_at(deadline, self._expire, self._waiter)
            try:
                await self._waiter
            finally:
                if handle is not None:
                    handle.cancel()
                self._waiter = None
        rung, self._rung = self._rung, False
        return rung

    def _expire(self, waiter: "asyncio.Future[bool]") -> None:
        if not waiter.done():
            waiter.set_result(False)


async def sleep_until(deadline: float) -> None:
    """Wait for a deadline of the loop's clock; a deadline that has passed only yields to the loop."""
    await asyncio.sleep(deadline - asyncio.get_running_loop().time())
