"""Utterances and a provider that exist only in this process, for benchmarks of what goes on around them."""

from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from pathlib import Path

from sayagain.datasets.manifest import Dataset
from sayagain.records import Benchmark, Item, SpeechSpan
from sayagain.transports.base import Session, Transport


def utterances(name: str, texts: Iterable[str], duration_s: float) -> Dataset:
    """Return a dataset of utterances that nobody can hear, all of the same duration, speech but for the ends."""
    items = tuple(
        Item(
            id=f"{name}-{number}",
            text=text,
            sha256=f"{number:064x}",
            duration_s=duration_s,
            speech=SpeechSpan(start_s=0.5, end_s=duration_s - 0.5, vad="none"),
        )
        for number, text in enumerate(texts)
    )
    return Dataset(
        id=name,
        version="1",
        benchmark=Benchmark.STT,
        licence="CC0-1.0",
        origin="made for one measurement",
        language="en",
        items=items,
        root=Path(),
    )


class Ready(Transport, Session):
    """Ready at any time and its own session; what an attempt does is for a subclass to say."""

    async def prepare(self) -> None:
        """Nothing to load."""

    @asynccontextmanager
    async def session(self) -> AsyncIterator[Session]:
        """Always ready."""
        yield self

    async def aclose(self) -> None:
        """Nothing to release."""
