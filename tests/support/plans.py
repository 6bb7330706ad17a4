"""Datasets made on the spot, for plans that need nothing but items."""

from pathlib import Path

from sayagain.datasets import Dataset
from sayagain.records import Benchmark, Item


def dataset_of(count: int, benchmark: Benchmark = Benchmark.TTS, name: str = "d") -> Dataset:
    """Return a dataset of that many items; nothing of it is on disk."""
    items = tuple(Item(id=f"{name}-{n}", text=f"prompt {n}", sha256=f"{n:064x}") for n in range(count))
    return Dataset(
        id=name,
        version="1",
        benchmark=benchmark,
        licence="CC0-1.0",
        origin="test",
        language="en",
        items=items,
        root=Path("data") / name,
    )
