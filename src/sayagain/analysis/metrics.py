"""One metric of two sets of paired cases: figures on both sides, their difference, and what it amounts to."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from sayagain.analysis.cases import GatheredCase, Meaning, Meanings
from sayagain.analysis.model import Change, FigureComparison, MetricComparison
from sayagain.analysis.statistics import Estimate, Figures, estimate_paired, mean, percentiles, pooled_rate
from sayagain.metrics import METRICS


@dataclass(frozen=True)
class Pair:
    """One case on both sides, and the speaker, recording or item it is resampled with."""

    a: GatheredCase
    b: GatheredCase
    cluster: str


@dataclass(frozen=True)
class Resampling:
    """Which items are drawn together (clusters by item digest), which percentiles are wanted, and the seed."""

    clusters: Mapping[str, str]
    percentiles: tuple[float, ...]
    seed: int

    def cluster_of(self, item_digest: str) -> str:
        """Return the speaker or recording of an item, or else the item itself, with all its repeats."""
        known = self.clusters.get(item_digest)
        return f"item {item_digest}" if known is None else f"cluster {known}"


def compare_metric(
    metric: str,
    pairs: Sequence[Pair],
    meanings: tuple[Meanings, Meanings],
    forbidden: Sequence[str],
    how: Resampling,
) -> MetricComparison:
    """Compare one metric over the pairs that have a value on both sides.

    `forbidden` are the keys of differences for which its values may not be compared: with any, or with two
    meanings, the comparison says so and has no figures.
    """
    both = [pair for pair in pairs if metric in pair.a.values and metric in pair.b.values]
    a, b = (set(side.get(metric, ())) for side in meanings)
    keys = (*forbidden, *_disagreements(a, b, forbidden, metric))
    known = sorted(a | b)
    figures = () if keys or not both else tuple(_figures(metric, both, how))
    return MetricComparison(
        metric=metric,
        version=known[0].version if len(known) == 1 else None,
        unit=known[0].unit if len({meaning.unit for meaning in known}) == 1 else None,
        n=len(both),
        clusters=len({pair.cluster for pair in both}),
        refused=keys,
        figures=figures,
        change=_change(metric, figures),
    )


def in_order(names: Iterable[str]) -> list[str]:
    """Return metrics in the order of every table; those this version does not know come last, by name."""
    wanted = set(names)
    known = [name for name in METRICS if name in wanted]
    return known + sorted(wanted - set(known))


def _disagreements(a: set[Meaning], b: set[Meaning], forbidden: Sequence[str], metric: str) -> Iterator[str]:
    """Rows are believed over the header that should have announced what they say."""
    if len({meaning.version for meaning in a | b}) > 1 and f"metrics.{metric}" not in forbidden:
        yield f"metrics.{metric}"
    if len({meaning.unit for meaning in a | b}) > 1:
        yield f"unit of {metric}"


def _figures(metric: str, pairs: Sequence[Pair], how: Resampling) -> Iterator[FigureComparison]:
    sides = [[pair.a for pair in pairs], [pair.b for pair in pairs]]
    counted = all(metric in case.counts for side in sides for case in side)
    a, b = (_of_side(metric, side, counted, how.percentiles) for side in sides)
    found = estimate_paired(a, b, [pair.cluster for pair in pairs], seed=how.seed)
    for name, paired in found.items():
        yield FigureComparison(name=name, a=paired.a, b=paired.b, difference=paired.difference)


def _of_side(metric: str, cases: Sequence[GatheredCase], counted: bool, wanted: Sequence[float]) -> list[Figures]:
    values = [case.values[metric] for case in cases]
    figures = [percentiles(values, wanted), mean(values)]
    if not counted:
        return figures
    counts = [case.counts[metric] for case in cases]
    return [pooled_rate([one.errors for one in counts], [one.reference for one in counts]), *figures]


def _change(metric: str, figures: Sequence[FigureComparison]) -> Change | None:
    """Judge by the first figure: the pooled rate of an error metric, the first percentile of another."""
    if not figures:
        return None
    difference: Estimate = figures[0].difference
    if difference.low is None or difference.high is None:
        return Change.INSUFFICIENT
    if difference.low <= 0 <= difference.high:
        return Change.TIE
    better = METRICS[metric].better if metric in METRICS else "none"
    if better == "none":
        return Change.DIFFERS
    return Change.BETTER if (difference.high < 0) == (better == "lower") else Change.WORSE
