"""What has to be the same for a replay to mean what its parent meant, and what is not the same here."""

from collections.abc import Iterable, Iterator, Mapping

from sayagain.analysis.equivalence import Difference, settings_differences
from sayagain.artifact.plaintext import one_line
from sayagain.datasets import Dataset
from sayagain.errors import MismatchError
from sayagain.metrics import METRICS, NORMALIZER
from sayagain.records import Item, RunHeader, RunnerInfo, TargetInfo

ABSENT = "(none)"


def contract_differences(then: RunHeader) -> Iterator[Difference]:
    """Yield each version that gives a number its meaning and is another one here."""
    if then.normalizer != NORMALIZER:
        yield Difference(key="normalizer", a=then.normalizer, b=NORMALIZER)
    for name, version in sorted(then.metrics.items()):
        now = METRICS[name].version if name in METRICS else None
        if now != version:
            yield Difference(key=f"metrics.{name}", a=str(version), b=ABSENT if now is None else str(now))


def target_differences(then: TargetInfo, now: TargetInfo | None) -> Iterator[Difference]:
    """Yield how a target that is to be replayed differs here: unknown, another adapter, another setting."""
    if now is None:
        yield Difference(key=f"target.{then.key}", a="known", b=ABSENT)
        return
    if then.adapter != now.adapter:
        yield Difference(key=f"adapter.{then.key}", a=then.adapter, b=now.adapter)
    for difference in settings_differences(then, now):
        yield Difference(key=f"{difference.key}.{then.key}", a=difference.a, b=difference.b)


def dataset_differences(
    then: RunHeader, now: Mapping[str, Dataset], needed: Iterable[str]
) -> Iterator[Difference]:
    """Yield how each dataset that is needed differs here: missing, or another version."""
    wanted = set(needed)
    for info in then.datasets:
        if info.id not in wanted:
            continue
        local = now.get(info.id)
        if local is None:
            yield Difference(key=f"dataset.{info.id}", a=info.version, b=ABSENT)
        elif local.version != info.version:
            yield Difference(key=f"dataset.{info.id}.version", a=info.version, b=local.version)


def item_difference(item_id: str, then: str | None, now: Item | None) -> Difference | None:
    """Return how the content of an item differs here, or None."""
    if now is None:
        return Difference(key=f"item.{item_id}", a="known", b=ABSENT)
    if then is not None and then != now.digest:
        return Difference(key=f"item.{item_id}", a=then[:12], b=now.digest[:12])
    return None


def build_differences(then: RunnerInfo, now: RunnerInfo) -> Iterator[Difference]:
    """Yield how the runner's build differs: good to know, and refused only when asked for."""
    for key in ("version", "sha"):
        before, here = getattr(then, key), getattr(now, key)
        if before != here:
            yield Difference(key=f"runner.{key}", a=str(before), b=str(here))


def require_same(differences: Iterable[Difference], allowed: frozenset[str]) -> tuple[str, ...]:
    """Return the keys of the differences that were allowed; raise MismatchError that lists all others."""
    found = {one_line(difference.key): difference for difference in differences}
    refused = [difference for key, difference in found.items() if key not in allowed]
    if refused:
        lines = (f"  {one_line(d.key)}: {one_line(d.a)} then, {one_line(d.b)} now" for d in refused)
        message = "This replay would not be the same benchmark; --allow KEY accepts one difference by its name:"
        raise MismatchError("\n".join((message, *lines)))
    return tuple(sorted(found))
