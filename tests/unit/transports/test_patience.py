"""A timeout that is moved for every frame is neither missed nor early."""

import asyncio

import pytest

from sayagain.transports.patience import Patience


async def test_it_ends_what_is_not_renewed() -> None:
    patience = Patience(0.05)
    begun = asyncio.get_running_loop().time()
    with pytest.raises(TimeoutError):
        async with patience:
            await asyncio.Event().wait()
    assert patience.expired
    assert asyncio.get_running_loop().time() - begun >= 0.05


async def test_it_waits_the_whole_time_again_from_each_renewal() -> None:
    patience = Patience(0.2)
    loop = asyncio.get_running_loop()
    renewed: list[float] = []

    async def renew_and_wait() -> None:
        async with patience:
            for _ in range(3):
                await asyncio.sleep(0.1)
                patience.renew()
                renewed.append(loop.time())
            await asyncio.Event().wait()

    with pytest.raises(TimeoutError):
        await renew_and_wait()
    assert loop.time() - renewed[-1] >= 0.2


async def test_it_ends_nothing_while_it_is_suspended() -> None:
    patience = Patience(0.05)
    async with patience:
        patience.suspend()
        await asyncio.sleep(0.15)
    assert not patience.expired


async def test_it_counts_from_the_renewal_that_ends_a_suspension() -> None:
    patience = Patience(0.1)
    loop = asyncio.get_running_loop()
    renewed: list[float] = []

    async def suspend_and_wait() -> None:
        async with patience:
            patience.suspend()
            await asyncio.sleep(0.15)
            patience.renew()
            renewed.append(loop.time())
            await asyncio.Event().wait()

    with pytest.raises(TimeoutError):
        await suspend_and_wait()
    assert loop.time() - renewed[-1] >= 0.1


async def test_a_timeout_from_inside_is_not_its_own() -> None:
    patience = Patience(30)
    with pytest.raises(TimeoutError):
        async with patience:
            raise TimeoutError("the system's own")
    assert not patience.expired


async def test_a_cancellation_from_outside_stays_one() -> None:
    async def wait() -> None:
        async with Patience(30):
            await asyncio.Event().wait()

    task = asyncio.create_task(wait())
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
