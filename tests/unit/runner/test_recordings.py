"""Recordings are read in a process of their own, which may end without ending the run."""

import asyncio
import signal
from pathlib import Path

import psutil
import pytest

from sayagain.datasets import Dataset, builtin, load, read_pcm
from sayagain.failures import CaseFailedError
from sayagain.records import AudioFormat, Benchmark, FailureKind, Item, Phase
from sayagain.runner.recordings import Recordings

FORMAT = AudioFormat(rate=16_000)


@pytest.fixture
def dataset() -> Dataset:
    return load(builtin(Benchmark.STT)[0], Path())


async def test_everyone_who_asks_at_once_gets_the_recording_that_was_asked_for(dataset: Dataset) -> None:
    recordings = Recordings()
    try:
        rates = (8_000, 16_000, 24_000)
        wanted = [(item, AudioFormat(rate=rate)) for item in dataset.items for rate in rates]
        found = await asyncio.gather(*(recordings.read(dataset.root, item, asked) for item, asked in wanted))
        assert found == [read_pcm(dataset.root, item, asked) for item, asked in wanted]
    finally:
        await recordings.aclose()


async def test_one_that_cannot_be_read_says_why_and_the_next_one_is_read(dataset: Dataset) -> None:
    recordings = Recordings()
    gone = Item(id="gone", text="ten of clubs", sha256="0" * 64, audio="gone.wav", duration_s=1.0)
    try:
        with pytest.raises(CaseFailedError) as caught:
            await recordings.read(Path(), gone, FORMAT)
        assert (caught.value.failure.kind, caught.value.failure.phase) == (FailureKind.DATASET, Phase.PREPARE)
        assert await recordings.read(dataset.root, dataset.items[0], FORMAT)
    finally:
        await recordings.aclose()


async def test_one_who_does_not_wait_any_more_disturbs_nobody(dataset: Dataset) -> None:
    recordings = Recordings()
    try:
        await recordings.start()
        leaving = [asyncio.create_task(recordings.read(dataset.root, item, FORMAT)) for item in dataset.items]
        await asyncio.sleep(0)
        for task in leaving:
            task.cancel()
        assert await recordings.read(dataset.root, dataset.items[0], FORMAT)
    finally:
        await recordings.aclose()


async def test_a_process_that_ends_fails_what_it_was_asked_and_is_replaced(dataset: Dataset) -> None:
    recordings = Recordings()
    try:
        await recordings.start()
        (child,) = psutil.Process().children()
        child.send_signal(signal.SIGSTOP)
        asked = asyncio.create_task(recordings.read(dataset.root, dataset.items[0], FORMAT))
        await asyncio.sleep(0.05)
        child.kill()
        with pytest.raises(CaseFailedError) as caught:
            await asked
        assert (caught.value.failure.kind, caught.value.failure.code) == (FailureKind.INTERNAL, "-9")
        assert await recordings.read(dataset.root, dataset.items[0], FORMAT)
    finally:
        await recordings.aclose()
    assert not psutil.Process().children()
