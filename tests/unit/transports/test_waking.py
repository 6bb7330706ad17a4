"""The loop that wakes on time is an event loop like any other: never early, and woken by what arrives."""

import asyncio
import os
import sys
from collections.abc import Iterator

import pytest

from sayagain.transports.pacing import now_ns, sleep_until
from sayagain.transports.waking import open_loop, run


@pytest.fixture
def loop() -> Iterator[asyncio.AbstractEventLoop]:
    with asyncio.Runner(loop_factory=open_loop) as runner:
        yield runner.get_loop()


def test_it_runs_a_coroutine_and_returns_its_value() -> None:
    async def answer() -> int:
        await asyncio.sleep(0)
        return 42

    assert run(answer()) == 42


@pytest.mark.parametrize("wait_us", [1, 40, 999, 1001, 20_500])
def test_it_never_wakes_before_an_instant(wait_us: int) -> None:
    async def woken() -> int:
        due = now_ns() + wait_us * 1000
        await sleep_until(due)
        return now_ns() - due

    assert all(run(woken()) >= 0 for _ in range(5))


def test_what_arrives_ends_a_long_wait(loop: asyncio.AbstractEventLoop) -> None:
    async def first_of_both() -> bytes:
        reading, writing = os.pipe()
        arrived = loop.create_future()
        loop.add_reader(reading, lambda: arrived.set_result(os.read(reading, 100)))
        loop.call_later(0.01, os.write, writing, b"here")
        async with asyncio.timeout(30):
            data: bytes = await arrived
        loop.remove_reader(reading)
        os.close(reading)
        os.close(writing)
        return data

    assert loop.run_until_complete(first_of_both()) == b"here"


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere the platform's own loop is used")
def test_it_works_when_its_descriptor_is_beyond_what_select_can_wait_for() -> None:
    import resource

    if resource.getrlimit(resource.RLIMIT_NOFILE)[0] <= 1100:
        pytest.skip("so many files may not be opened here")
    held = [os.open(os.devnull, os.O_RDONLY) for _ in range(1050)]
    try:
        assert run(asyncio.sleep(0.002, "done")) == "done"
    finally:
        for descriptor in held:
            os.close(descriptor)
