"""What has to be the same for a replay to mean what its parent meant, and what is not the same here."""

from collections.abc import Collection, Iterable, Iterator, Mapping

import msgspec

from sayagain.analysis.equivalence import Difference, settings_differences
from sayagain.artifact.plaintext import one_line
from sayagain.datasets import Dataset
from sayagain.errors import MismatchError
from sayagain.metrics import METRICS, NORMALIZER
from sayagain.records import Benchmark, Limits, RunHeader, RunnerInfo, TargetInfo
from sayagain.runner.resolving import Match

ABSENT = "(none)"

LONGEST_TIMEOUT_S = 86_400.0
"""The longest timeout that is taken from an artifact, in seconds: it is the word of a stranger."""

MOST_ATTEMPTS = 10
"""The most tries of a case that are taken from an artifact."""

LONGEST_SHOWN = 200
"""Characters of a key or a value that are shown."""

_TIMEOUTS = ("connect_timeout_s", "idle_timeout_s", "final_timeout_s", "case_timeout_s")
_IDENTITY = ("benchmark", "provider", "model", "voice")


def contract_differences(then: RunHeader, benchmarks: Collection[Benchmark]) -> Iterator[Difference]:
    """Yield each version that gives a number of these benchmarks its meaning and is another one here.

    Adapters belong to targets: `target_differences` has them.
    """
    if then.normalizer != NORMALIZER and Benchmark.STT in benchmarks:
        yield Difference(key="normalizer", a=then.normalizer, b=NORMALIZER)
    for name in sorted(METRICS.keys() | then.metrics.keys()):
        if name in METRICS and METRICS[name].benchmark not in benchmarks:
            continue
        before = then.metrics.get(name)
        now = METRICS[name].version if name in METRICS else None
        if before != now:
            versions = [ABSENT if version is None else str(version) for version in (before, now)]
            yield Difference(key=f"metrics.{name}", a=versions[0], b=versions[1])


def target_differences(then: TargetInfo, now: TargetInfo | None) -> Iterator[Difference]:
    """Yield how a target that is to be replayed differs here: unknown, another adapter, another setting."""
    if now is None:
        yield Difference(key=f"target.{then.key}", a="known", b=ABSENT)
        return
    for name in _IDENTITY:
        before, here = getattr(then, name), getattr(now, name)
        if before != here:
            yield Difference(key=f"{name}.{then.key}", a=str(before), b=str(here))
    if then.adapter != now.adapter:
        yield Difference(key=f"adapter.{then.key}", a=then.adapter, b=now.adapter)
    for difference in settings_differences(then, now):
        yield Difference(key=f"{difference.key}.{then.key}", a=difference.a, b=difference.b)


def data_differences(
    then: RunHeader, here: Mapping[str, Dataset], cases: Collection[Match]
) -> Iterator[Difference]:
    """Yield how the datasets of the cases, and the content of their items, differ here."""
    used = {case.found.dataset.id for case in cases if case.found is not None}
    lost = {case.benchmark for case in cases if case.found is None}
    absent = [info for info in then.datasets if info.id not in here and info.benchmark in lost]
    for info in absent:
        yield Difference(key=f"dataset.{info.id}", a=info.version, b=ABSENT)
    for info in then.datasets:
        version = here[info.id].version if info.id in here else info.version
        if version != info.version and (info.id in used or info.benchmark in lost):
            yield Difference(key=f"dataset.{info.id}.version", a=info.version, b=version)
    explained = {info.benchmark for info in absent}
    for case in cases:
        if case.found is None:
            if case.benchmark not in explained:
                yield Difference(key=f"item.{case.name.item_id}", a="known", b=ABSENT)
        elif case.found.item.digest != case.name.item_digest:
            before, now = case.name.item_digest[:12], case.found.item.digest[:12]
            yield Difference(key=f"item.{case.name.item_id}", a=before, b=now)


def limit_differences(then: Limits) -> Iterator[Difference]:
    """Yield each bound of the parent that is not taken from an artifact, against the nearest one that is."""
    now = msgspec.structs.asdict(taken_limits(then))
    for name, before in msgspec.structs.asdict(then).items():
        if before != now[name]:
            yield Difference(key=f"limits.{name}", a=f"{before:g}", b=f"{now[name]:g}")


def taken_limits(then: Limits) -> Limits:
    """Return the parent's bounds, each within what is taken from an artifact."""
    timeouts = {name: min(max(getattr(then, name), 0.001), LONGEST_TIMEOUT_S) for name in _TIMEOUTS}
    return msgspec.structs.replace(then, attempts=min(max(then.attempts, 1), MOST_ATTEMPTS), **timeouts)


def build_differences(then: RunnerInfo, now: RunnerInfo) -> Iterator[Difference]:
    """Yield how the runner's build differs: good to know, and refused only when asked for."""
    for key in ("version", "sha"):
        before, here = getattr(then, key), getattr(now, key)
        if before != here:
            yield Difference(key=f"runner.{key}", a=str(before or ABSENT), b=str(here or ABSENT))


def require_same(differences: Iterable[Difference], allowed: frozenset[str], hint: str = "") -> tuple[str, ...]:
    """Return the keys of the differences that were allowed, as they are shown.

    Raises:
        MismatchError: Some were not; every one is listed, then against now.
    """
    found = {shown(difference.key): difference for difference in differences}
    refused = {key: difference for key, difference in found.items() if key not in allowed}
    if refused:
        lines = (f"  {key}: {shown(one.a)} then, {shown(one.b)} now" for key, one in refused.items())
        message = "This replay would not be the same benchmark; --allow KEY accepts one difference by its name:"
        raise MismatchError("\n".join((message, *lines, *filter(None, [hint]))))
    return tuple(sorted(found))


def shown(text: str) -> str:
    """Return a text of an artifact as it can be shown: one line without any power, cut where it is long."""
    line = one_line(text)
    return line if len(line) <= LONGEST_SHOWN else f"{line[: LONGEST_SHOWN - 1]}…"
