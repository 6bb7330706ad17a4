"""Pacing and the watch on our own loop."""

import asyncio
import time

from sayagain.transports.pacing import LoopWatch, now_ns, sleep_until


async def test_sleeping_until_an_instant_never_returns_before_it() -> None:
    due = now_ns() + 20_000_000
    late = await sleep_until(due)
    assert now_ns() >= due
    assert late >= 0


async def test_a_deadline_that_has_passed_returns_its_lateness() -> None:
    assert await sleep_until(now_ns() - 5_000_000) >= 5_000_000


async def test_a_blocked_loop_is_noted_by_the_lag_that_was_open_and_by_no_later_one() -> None:
    watch = LoopWatch(every_ms=1)
    watch.start()
    with watch.lag() as blocked:
        await asyncio.sleep(0.005)
        time.sleep(0.08)  # noqa: ASYNC251 - blocking the loop is what is tested
        await asyncio.sleep(0.005)
    with watch.lag() as later:
        pass
    await watch.stop()
    assert blocked.worst_ms >= 70
    assert later.worst_ms == 0
