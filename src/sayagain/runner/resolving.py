"""What an artifact names, found again here: datasets by their ids, items by their ids and content.

Only what lies in the local datasets' directory, comes with sayagain, or was named by the person who replays is
looked at: an id from an artifact is compared with theirs and never becomes a path.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from sayagain.config import Settings
from sayagain.datasets import Dataset, available, describe, load
from sayagain.records import Benchmark, Item, RunHeader, TargetInfo
from sayagain.runner.selection import CaseName


@dataclass(frozen=True)
class Found:
    """An item, in its dataset."""

    dataset: Dataset
    item: Item


@dataclass(frozen=True)
class Match:
    """A case to replay, and its item here: of the same content if there is one, else of the same id, else none."""

    name: CaseName
    benchmark: Benchmark
    found: Found | None


def local_datasets(header: RunHeader, settings: Settings) -> dict[str, Dataset]:
    """Load those datasets of a header, in its order, that are named by the settings or known by their id.

    Raises:
        DatasetError: One of them has problems; every one is named.
    """
    folder = Path(settings.datasets_dir)
    named = [part.strip() for part in (settings.dataset or "").split(",") if part.strip()]
    places = {entry.id: entry.id for entry in available(folder) if entry.problem is None}
    places |= {describe(reference, folder).id: reference for reference in named}
    wanted = dict.fromkeys(info.id for info in header.datasets)
    return {dataset_id: load(places[dataset_id], folder) for dataset_id in wanted if dataset_id in places}


def matches(
    names: Iterable[CaseName], targets: Mapping[str, TargetInfo], datasets: Mapping[str, Dataset]
) -> Iterator[Match]:
    """Yield each case with its item among the datasets of its target's benchmark."""
    shelves: dict[tuple[Benchmark, str], list[Found]] = {}
    for dataset in datasets.values():
        for item in dataset.items:
            shelves.setdefault((dataset.benchmark, item.id), []).append(Found(dataset, item))
    for name in names:
        benchmark = targets[name.target].benchmark
        same_id = shelves.get((benchmark, name.item_id), [])
        same = [found for found in same_id if found.item.digest == name.item_digest]
        yield Match(name, benchmark, next(iter(same or same_id), None))
