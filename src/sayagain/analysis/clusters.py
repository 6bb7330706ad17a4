"""Which items belong together: the speakers of the datasets that are on this machine.

An artifact names datasets and items by digest and never says who speaks. Its words choose nothing here: a local
dataset is used when its manifest has the digest that the run's header names.
"""

from collections.abc import Iterable
from pathlib import Path

from sayagain.datasets.catalog import available
from sayagain.records import RunHeader


def speakers(headers: Iterable[RunHeader], datasets_dir: Path) -> dict[str, str]:
    """Return the speaker of each item whose dataset is here and says so, by the item's digest."""
    wanted = {dataset.sha256 for header in headers for dataset in header.datasets}
    datasets = (entry.dataset for entry in available(datasets_dir))
    return {
        item.digest: item.speaker
        for dataset in datasets
        if dataset is not None and dataset.sha256 in wanted
        for item in dataset.items
        if item.speaker is not None
    }
