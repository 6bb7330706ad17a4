"""Every figure of a run with its n and its 95% interval, target by target and slice by slice."""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from sayagain.analysis.cases import ErrorCounts, GatheredCase, GatheredRun, Slot
from sayagain.analysis.metrics import Resampling, in_order
from sayagain.analysis.ranking import Rank, rank
from sayagain.analysis.slices import By, split
from sayagain.analysis.statistics import (
    SEED,
    Estimate,
    Figures,
    estimate,
    mean,
    percentiles,
    pooled_rate,
    wilson,
)
from sayagain.records import Item, Record

PERCENTILES = (50.0, 95.0)

RANKED = ("wer", "cer", "ttfs", "finalization", "rtfx", "ttfa", "rtf", "intelligibility_wer")
"""The metrics by which targets are ranked; `cer` only where there is no `wer`."""


class MetricFigures(Record, frozen=True, kw_only=True):
    """One metric of one target: `n` values from `clusters` independent units, and figures by their names.

    The first figure is the one that targets are ranked by: `pooled` for an error rate, then
    `pooled_with_failures`, which counts failed cases as if everything had been left out; `p50` for anything else.
    `rank` is null when the metric ranks nothing, or when there is too little, which `insufficient` says.
    """

    target: str
    n: int
    clusters: int
    figures: Mapping[str, Estimate]
    rank: Rank | None
    insufficient: str | None


class MetricTable(Record, frozen=True, kw_only=True):
    """One metric of every target that has values of it."""

    metric: str
    unit: str
    targets: tuple[MetricFigures, ...]


class SliceFigures(Record, frozen=True, kw_only=True):
    """The figures of a part of a run: the share of cases that were answered, by target, and every metric."""

    name: str
    answered: Mapping[str, Estimate]
    metrics: tuple[MetricTable, ...]


def figures_of(
    run: GatheredRun, items: Mapping[str, Item], by: By | None = None, *, seed: int = SEED
) -> tuple[SliceFigures, ...]:
    """Return the figures of a run, whole or split.

    `items` are those on this machine, by their digests: their speakers are what is drawn together in a bootstrap,
    and what slices are made by. Where an item does not name a speaker or recording, it is a unit of its own.
    """
    speakers = {digest: item.speaker for digest, item in items.items() if item.speaker is not None}
    how = Resampling(speakers, PERCENTILES, seed)
    return tuple(_slice(name, part, how) for name, part in split(run, items, by).items())


def _slice(name: str, part: GatheredRun, how: Resampling) -> SliceFigures:
    targets = sorted({slot.target for slot in part.cases})
    metrics = in_order(metric for target in targets for metric in part.meanings.get(target, {}))
    return SliceFigures(
        name=name,
        answered={
            target: _answered(case for slot, case in part.cases.items() if slot.target == target)
            for target in targets
        },
        metrics=tuple(_tables(part, targets, metrics, how)),
    )


def _answered(cases: Iterable[GatheredCase]) -> Estimate:
    failed = [case.failed for case in cases]
    return wilson(len(failed) - sum(failed), len(failed))


def _tables(
    part: GatheredRun, targets: Sequence[str], metrics: Sequence[str], how: Resampling
) -> Iterator[MetricTable]:
    with_words = {slot.target for slot, case in part.cases.items() if "wer" in case.values}
    for metric in metrics:
        found = {target: _figures(metric, target, part, how) for target in targets}
        found = {target: figures for target, figures in found.items() if figures}
        if not found:
            continue
        ranked = metric in RANKED and not (metric == "cer" and with_words)
        enough = [target for target, figures in found.items() if _first(figures).insufficient is None]
        ranks = rank(metric, part, enough, how) if ranked else {}
        units = {meaning.unit for target in found for meaning in part.meanings.get(target, {}).get(metric, ())}
        yield MetricTable(
            metric=metric,
            unit="/".join(sorted(units)),
            targets=tuple(_row(target, figures, ranks.get(target)) for target, figures in found.items()),
        )


def _row(target: str, figures: Mapping[str, Estimate], place: Rank | None) -> MetricFigures:
    first = _first(figures)
    return MetricFigures(
        target=target,
        n=first.n,
        clusters=first.clusters,
        figures=figures,
        rank=place,
        insufficient=first.insufficient,
    )


def _first(figures: Mapping[str, Estimate]) -> Estimate:
    return next(iter(figures.values()))


def _figures(metric: str, target: str, part: GatheredRun, how: Resampling) -> dict[str, Estimate]:
    """Return the figures of a metric of a target by name; none when it has neither a value nor a loss."""
    cases = [(slot, case) for slot, case in part.cases.items() if slot.target == target]
    valued = [(slot, case) for slot, case in cases if metric in case.values]
    values = [case.values[metric] for _, case in valued]
    owed = [(slot, case) for slot, case in cases if metric in case.counts or metric in case.lost]
    if owed:
        answered = [(slot, case) for slot, case in owed if metric in case.counts]
        return {
            "pooled": _estimated([_pooled(metric, answered)], answered, how)["pooled"],
            "pooled_with_failures": _estimated([_pooled(metric, owed)], owed, how)["pooled"],
            **_estimated([mean(values), percentiles(values, PERCENTILES)], valued, how),
        }
    if not values:
        return {}
    return _estimated([percentiles(values, PERCENTILES), mean(values)], valued, how)


def _estimated(
    figures: Sequence[Figures], cases: Sequence[tuple[Slot, GatheredCase]], how: Resampling
) -> dict[str, Estimate]:
    return estimate(figures, [how.cluster_of(slot.item_digest) for slot, _ in cases], seed=how.seed)


def _pooled(metric: str, cases: Sequence[tuple[Slot, GatheredCase]]) -> Figures:
    """Return the pooled rate of cases; one that was lost has as many errors as words."""
    counts = [_counts(metric, case) for _, case in cases]
    return pooled_rate([one.errors for one in counts], [one.reference for one in counts])


def _counts(metric: str, case: GatheredCase) -> ErrorCounts:
    return case.counts.get(metric) or ErrorCounts(case.lost[metric], case.lost[metric])
