"""How two runs differ in what was planned, and which of their values may therefore not be compared."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import msgspec

from sayagain.analysis.outcomes import replays
from sayagain.metrics import METRICS
from sayagain.records import DatasetInfo, Record, RunHeader, RunnerInfo, TargetInfo

EVERY_METRIC = "*"

NORMALIZED_METRICS = ("wer", "cer")
"""The metrics whose values depend on the text normalizer that a run's header names."""

_RUNNER_FACTS = ("name", "version", "sha", "python", "platform")
_DATASET_FACTS = ("version", "sha256", "sample", "seed")
_REPLAYED_FACTS = ("version", "sha256")


class Difference(Record, frozen=True, kw_only=True):
    """One thing that is not the same in two runs, as text.

    `refuses` names the metrics, `*` for all, whose values it makes incomparable; with none it is only good to
    know. `target` is null when it concerns all targets.
    """

    key: str
    a: str
    b: str
    target: str | None = None
    refuses: tuple[str, ...] = ()

    def forbids(self, target: str, metric: str) -> bool:
        """Say whether it makes the values of a metric of a target incomparable."""
        return self.target in (None, target) and bool({metric, EVERY_METRIC} & set(self.refuses))


def run_differences(a: RunHeader, b: RunHeader) -> tuple[Difference, ...]:
    """Return every difference between two headers that can change an outcome or a value.

    Versions that give a number its meaning (contract, metrics, normalizer, adapters) refuse the values they
    touch. Settings, limits, datasets and the runner's build are named and refuse nothing. That a replay takes
    other items than its parent is what a replay is, and no difference.
    """
    targets = {target.key: target for target in b.targets}
    common = [(one, targets[one.key]) for one in a.targets if one.key in targets]
    return (
        *_contract_differences(a, b),
        *(found for one, other in common for found in _adapter_differences(one, other)),
        *(found for one, other in common for found in settings_differences(one, other, one.key)),
        *_dataset_differences(a.datasets, b.datasets, _REPLAYED_FACTS if replays(b, a) else _DATASET_FACTS),
        *_named("limits", msgspec.structs.asdict(a.limits), msgspec.structs.asdict(b.limits)),
        *_named("runner", _facts(a.runner, _RUNNER_FACTS), _facts(b.runner, _RUNNER_FACTS)),
    )


def settings_differences(a: TargetInfo, b: TargetInfo, target: str | None = None) -> Iterator[Difference]:
    """Yield each setting in which two targets differ."""
    yield from _named("settings", a.settings, b.settings, target)


def _contract_differences(a: RunHeader, b: RunHeader) -> Iterator[Difference]:
    if a.normalizer != b.normalizer:
        yield Difference(key="normalizer", a=a.normalizer, b=b.normalizer, refuses=NORMALIZED_METRICS)
    for name in sorted(a.metrics.keys() & b.metrics.keys()):
        if a.metrics[name] != b.metrics[name]:
            versions = (str(a.metrics[name]), str(b.metrics[name]))
            yield Difference(key=f"metrics.{name}", a=versions[0], b=versions[1], refuses=(name,))
    if a.schema != b.schema:
        yield Difference(key="schema", a=a.schema, b=b.schema)
    if a.runner.contract != b.runner.contract and _visible_contract(a) == _visible_contract(b):
        # A contract covers every metric, a header those of the run's benchmarks. When it lists all of them and
        # nothing in it explains the difference, nothing is known about what the numbers mean.
        refuses = (EVERY_METRIC,) if a.metrics.keys() >= METRICS.keys() else ()
        yield Difference(key="runner.contract", a=a.runner.contract, b=b.runner.contract, refuses=refuses)


def _visible_contract(header: RunHeader) -> tuple[object, ...]:
    """Return the parts of a contract that a header spells out.

    Contracts that differ because the runs have other targets make nothing incomparable.
    """
    adapters = {target.adapter for target in header.targets}
    return header.schema.partition(".")[0], dict(header.metrics), header.normalizer, adapters


def _adapter_differences(a: TargetInfo, b: TargetInfo) -> Iterator[Difference]:
    if a.adapter != b.adapter:
        yield Difference(key="adapter", a=a.adapter, b=b.adapter, target=a.key, refuses=(EVERY_METRIC,))


def _dataset_differences(
    a: Iterable[DatasetInfo], b: Iterable[DatasetInfo], names: tuple[str, ...]
) -> Iterator[Difference]:
    others = {dataset.id: dataset for dataset in b}
    for one in a:
        if one.id in others:
            facts = (_facts(one, names), _facts(others[one.id], names))
            yield from _named(f"dataset.{one.id}", *facts)


def _facts(record: RunnerInfo | DatasetInfo, names: tuple[str, ...]) -> dict[str, Any]:
    return {name: getattr(record, name) for name in names}


def _named(
    prefix: str, a: Mapping[str, Any], b: Mapping[str, Any], target: str | None = None
) -> Iterator[Difference]:
    for name in sorted(a.keys() | b.keys()):
        if (name in a, a.get(name)) != (name in b, b.get(name)):
            one, other = (_shown(facts, name) for facts in (a, b))
            yield Difference(key=f"{prefix}.{name}", a=one, b=other, target=target)


def _shown(facts: Mapping[str, Any], name: str) -> str:
    if name not in facts:
        return "absent"
    value = facts[name]
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()
