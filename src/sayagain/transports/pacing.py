"""The clock, the pace of a live microphone, and how late our own loop woke.

Everything that is timed is timed with `now_ns`. A chunk of audio that ends e seconds into a recording leaves
at t0 + e, when a live microphone would have finished recording it. Deadlines are absolute, so a late chunk
does not make the next one late.
"""

import asyncio
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime

NS_PER_S = 1_000_000_000
NS_PER_MS = 1_000_000

now_ns = time.perf_counter_ns
"""The one monotonic clock, in nanoseconds; on Linux all processes of a machine share it."""


def wall_time() -> str:
    """Return the time of day in UTC as ISO 8601 with milliseconds, for people; never for a latency."""
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


async def sleep_until(deadline_ns: int) -> int:
    """Sleep until an instant of `now_ns` and return how late this woke, in nanoseconds (0 or more).

    A deadline that has passed returns at once, after letting other tasks run.
    """
    await asyncio.sleep(max(0, deadline_ns - now_ns()) / NS_PER_S)
    return max(0, now_ns() - deadline_ns)


class Lag:
    """The largest lateness noted so far, in nanoseconds."""

    def __init__(self) -> None:
        self.worst_ns = 0

    def note(self, late_ns: int) -> None:
        """Take one lateness into account."""
        self.worst_ns = max(self.worst_ns, late_ns)

    def restart(self) -> None:
        """Forget what was noted so far."""
        self.worst_ns = 0

    @property
    def worst_ms(self) -> float:
        """The largest lateness in milliseconds."""
        return self.worst_ns / NS_PER_MS


class LoopWatch:
    """Measures how late the event loop wakes, by asking it to wake at fixed instants.

    Every attempt holds a `Lag` of its own for as long as it lasts, so each trace carries the lateness of its
    own time and no other.
    """

    def __init__(self, every_ms: float = 10.0) -> None:
        self._every_ns = int(every_ms * NS_PER_MS)
        self._lags: set[Lag] = set()
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Start watching the running loop."""
        self._task = asyncio.create_task(self._watch(), name="loop-watch")

    async def stop(self) -> None:
        """Stop watching."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    @contextmanager
    def lag(self) -> Iterator[Lag]:
        """Yield the lag of the time inside the with block."""
        lag = Lag()
        self._lags.add(lag)
        try:
            yield lag
        finally:
            self._lags.discard(lag)

    async def _watch(self) -> None:
        due = now_ns()
        while True:
            due = max(due + self._every_ns, now_ns())
            late = await sleep_until(due)
            for lag in self._lags:
                if late > lag.worst_ns:
                    lag.worst_ns = late
