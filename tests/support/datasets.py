"""Datasets made by hand, written where a run would find them, and runs over them."""

from collections.abc import Sequence
from pathlib import Path

from sayagain.datasets.manifest import MANIFEST_FILE, Dataset, encode
from sayagain.records import Benchmark, DatasetInfo, Item, content_digest


def written(folder: Path, items: Sequence[Item], benchmark: Benchmark = Benchmark.STT) -> DatasetInfo:
    """Write the manifest of a dataset `own` below a folder and return how a header names it."""
    dataset = Dataset(
        id="own",
        version="1",
        benchmark=benchmark,
        licence="CC0-1.0",
        origin="made by hand",
        language="en",
        items=tuple(items),
        root=folder / "own",
    )
    dataset.root.mkdir(parents=True)
    (dataset.root / MANIFEST_FILE).write_bytes(encode(dataset))
    return info_of(dataset)


def info_of(dataset: Dataset) -> DatasetInfo:
    """Return how a header names a dataset of which every item is taken."""
    return DatasetInfo(
        id=dataset.id,
        version=dataset.version,
        sha256=dataset.sha256,
        benchmark=dataset.benchmark,
        items_planned=len(dataset.items),
        item_ids_sha256=content_digest([item.id for item in dataset.items]),
        sample=None,
        seed=0,
    )
