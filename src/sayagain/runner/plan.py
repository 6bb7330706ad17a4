"""The plan of a run: which cases, in which order.

The order is item-major and shuffled by the seed, so that no provider meets its cases in bursts of likeness and
all targets meet an item close in time. It is an order by digest, the same on every machine and Python version.
Cases are made when they are asked for: a plan of a million cases holds no case.
"""

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from sayagain.datasets import Dataset, sample
from sayagain.errors import UsageError
from sayagain.records import Benchmark, Case, DatasetInfo, Item, Target, TargetInfo, content_digest

MOST_CASES = 1_000_000
"""The most cases of one run: their order is kept in memory."""


@dataclass(frozen=True)
class PlannedDataset:
    """A dataset and the items of it that the run takes, in the dataset's order."""

    dataset: Dataset
    items: tuple[Item, ...]
    sample: int | None
    seed: int

    @classmethod
    def sampled(cls, dataset: Dataset, size: int | None, seed: int) -> "PlannedDataset":
        """Take a sample of a dataset, or all of it when no size is given."""
        return cls(dataset, sample(dataset.items, size, seed), size, seed)

    @property
    def root(self) -> Path:
        """The folder the items' audio paths are relative to."""
        return self.dataset.root

    def info(self) -> DatasetInfo:
        """Describe the dataset for a run's header."""
        return DatasetInfo(
            id=self.dataset.id,
            version=self.dataset.version,
            sha256=self.dataset.sha256,
            benchmark=self.dataset.benchmark,
            items_planned=len(self.items),
            item_ids_sha256=content_digest([item.id for item in self.items]),
            sample=self.sample,
            seed=self.seed,
        )


class Stage(ABC):
    """The cases of one benchmark, executed together; the other benchmark waits, so neither disturbs the other."""

    benchmark: Benchmark
    datasets: tuple[PlannedDataset, ...]
    targets: tuple[Target, ...]

    @property
    @abstractmethod
    def size(self) -> int:
        """The number of cases."""

    @abstractmethod
    def cases(self, provider: str | None = None) -> Iterator[tuple[Case, Path]]:
        """Yield the cases in their order, each with its dataset's folder; only one provider's when it is named."""

    @abstractmethod
    def count(self, target: Target) -> int:
        """Return the number of cases of one target."""

    @property
    def providers(self) -> tuple[str, ...]:
        """The providers whose targets take part, in the order of the targets."""
        return tuple(dict.fromkeys(target.provider for target in self.targets))


@dataclass(frozen=True)
class FullStage(Stage):
    """Every target on every planned item, as often as asked."""

    benchmark: Benchmark
    datasets: tuple[PlannedDataset, ...]
    targets: tuple[Target, ...]
    repeat: int
    seed: int
    first_position: int = 0

    @property
    def size(self) -> int:
        """The number of cases."""
        return len(self._slots) * len(self.targets)

    def count(self, target: Target) -> int:
        """Return the number of cases of one target: as many as there are of any other."""
        return len(self._slots) if target in self.targets else 0

    def cases(self, provider: str | None = None) -> Iterator[tuple[Case, Path]]:
        """Yield the cases item by item; none is kept."""
        for number, (dataset_index, item_index, repeat) in enumerate(self._slots):
            planned = self.datasets[dataset_index]
            item = planned.items[item_index]
            for place, target in enumerate(self._targets_for(item, repeat)):
                if provider in (None, target.provider):
                    position = self.first_position + number * len(self.targets) + place
                    yield Case.of(target, item, repeat, position), planned.root

    @cached_property
    def _slots(self) -> Sequence[tuple[int, int, int]]:
        slots = (
            (dataset_index, item_index, repeat)
            for dataset_index, planned in enumerate(self.datasets)
            for item_index in range(len(planned.items))
            for repeat in range(self.repeat)
        )
        return sorted(slots, key=self._slot_key)

    def _slot_key(self, slot: tuple[int, int, int]) -> str:
        dataset_index, item_index, repeat = slot
        planned = self.datasets[dataset_index]
        return content_digest([self.seed, planned.dataset.id, planned.items[item_index].id, repeat])

    def _targets_for(self, item: Item, repeat: int) -> list[Target]:
        return sorted(self.targets, key=lambda target: content_digest([self.seed, item.id, repeat, target.key]))


@dataclass(frozen=True)
class ListedStage(Stage):
    """Exactly the cases that are listed, in their order: what a replay runs."""

    benchmark: Benchmark
    datasets: tuple[PlannedDataset, ...]
    targets: tuple[Target, ...]
    listed: tuple[tuple[Case, Path], ...]

    @property
    def size(self) -> int:
        """The number of cases."""
        return len(self.listed)

    def count(self, target: Target) -> int:
        """Return the number of cases of one target."""
        return sum(case.target == target for case, _ in self.listed)

    def cases(self, provider: str | None = None) -> Iterator[tuple[Case, Path]]:
        """Yield the listed cases."""
        for case, root in self.listed:
            if provider in (None, case.target.provider):
                yield case, root


@dataclass(frozen=True)
class Plan:
    """Everything a run will do, stage by stage."""

    stages: tuple[Stage, ...]
    repeat: int
    targets: tuple[Target, ...] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "targets", tuple(target for stage in self.stages for target in stage.targets))

    @property
    def size(self) -> int:
        """The number of planned cases."""
        return sum(stage.size for stage in self.stages)

    @property
    def kind(self) -> str:
        """`stt`, `tts` or `both`."""
        return "both" if len(self.stages) > 1 else self.stages[0].benchmark.value

    def digest(self) -> str:
        """SHA-256 of the ordered case ids: two runs with this digest ran the same cases in the same order."""
        digest = hashlib.sha256()
        for stage in self.stages:
            for case, _ in stage.cases():
                digest.update(case.id.encode())
        return digest.hexdigest()

    def dataset_infos(self) -> tuple[DatasetInfo, ...]:
        """Describe the datasets for a run's header."""
        return tuple(planned.info() for stage in self.stages for planned in stage.datasets)

    def target_infos(self) -> tuple[TargetInfo, ...]:
        """Describe the targets for a run's header."""
        return tuple(TargetInfo.of(target) for target in self.targets)


def make_plan(
    datasets: Sequence[Dataset],
    targets: Sequence[Target],
    *,
    size: int | None = None,
    seed: int = 0,
    repeat: int = 1,
) -> Plan:
    """Plan every target on every item of its benchmark's datasets; a benchmark without either has no stage.

    Raises:
        UsageError: The plan would have more cases than one run takes.
    """
    stages: list[Stage] = []
    position = 0
    for benchmark in Benchmark:
        planned = tuple(
            PlannedDataset.sampled(dataset, size, seed) for dataset in datasets if dataset.benchmark is benchmark
        )
        wanted = tuple(target for target in targets if target.benchmark is benchmark)
        if position + sum(len(dataset.items) for dataset in planned) * len(wanted) * repeat > MOST_CASES:
            raise UsageError(f"The plan has more than {MOST_CASES:,} cases: lower --repeat, or take a --sample.")
        stage = FullStage(benchmark, planned, wanted, repeat, seed, position)
        if stage.size:
            stages.append(stage)
            position += stage.size
    return Plan(tuple(stages), repeat)
