"""The items of a run, taken from the datasets that are on this machine.

A run names datasets and items by digest and holds no text, speaker or tag. Its words choose nothing here: a local
dataset is used when its manifest has the digest that the run's header names.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from sayagain.datasets.catalog import available
from sayagain.records import DatasetInfo, Item, RunHeader


@dataclass(frozen=True)
class LocalItems:
    """The items that are here, by their digests, and the datasets of the run that are not."""

    items: dict[str, Item]
    missing: tuple[DatasetInfo, ...]

    def speakers(self) -> dict[str, str]:
        """Return the speaker, or recording, of each item that says so, by the item's digest."""
        return {digest: item.speaker for digest, item in self.items.items() if item.speaker is not None}


def local_items(headers: Iterable[RunHeader], datasets_dir: Path) -> LocalItems:
    """Return the items of the runs' datasets; only manifests are read, no audio."""
    wanted = {dataset.sha256: dataset for header in headers for dataset in header.datasets}
    here = {entry.dataset.sha256: entry.dataset for entry in available(datasets_dir) if entry.dataset is not None}
    found = {item.digest: item for sha256 in wanted.keys() & here.keys() for item in here[sha256].items}
    return LocalItems(found, tuple(dataset for sha256, dataset in wanted.items() if sha256 not in here))
