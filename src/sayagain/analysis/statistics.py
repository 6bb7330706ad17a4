"""Figures with their uncertainty: thin functions over scipy, the same for the same seed.

An interval is the 95% one. Intervals of percentiles, means and pooled rates are percentile-bootstrap intervals
(Efron and Tibshirani 1993, chapter 13) in which whole clusters are drawn, because the utterances of one speaker
or recording are not independent (Bisani and Ney 2004, for word error rates). Paired figures see the same draws.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats

from sayagain.records import Record

CONFIDENCE = 0.95
SEED = 0
RESAMPLES = 2000

MIN_CLUSTERS = 10
"""Fewest independent units (speakers, recordings or items) for which a bootstrap interval is given.

A convention: with fewer, resampling understates the uncertainty badly. Between 10 and about 40 units read an
interval as somewhat too narrow (Cameron and Miller 2015).
"""

_BLOCK_ELEMENTS = 50_000
"""Weights in memory at once: so few that they stay in a processor's cache, which is what makes it fast."""

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

Weighted = Callable[[Integers], Floats]
"""Figures of a sample in which value j occurs weights[i, j] times: weights (r, n) to figures (k, r)."""


class Estimate(Record, frozen=True, kw_only=True):
    """A figure with its 95% interval: `n` values from `clusters` independent units made it.

    Without values `value` is null. When there is too little for an interval, `low` and `high` are null and
    `insufficient` says how much would be needed.
    """

    value: float | None
    low: float | None = None
    high: float | None = None
    n: int
    clusters: int
    insufficient: str | None = None


@dataclass(frozen=True)
class Figures:
    """Figures of one sample: their names, the fewest clusters for an interval of each, and how to compute them."""

    names: tuple[str, ...]
    minima: tuple[int, ...]
    of: Weighted


@dataclass(frozen=True)
class Paired:
    """The same figure of two paired samples and their difference, b - a, all from the same draws."""

    a: Estimate
    b: Estimate
    difference: Estimate


def wilson(successes: int, n: int) -> Estimate:
    """Return a proportion, from 0 to 1, with its score interval (Wilson 1927, without continuity correction).

    It holds its level at any n, so there is no minimum but 1; it takes the n trials as independent.
    """
    if n == 0:
        return Estimate(value=None, n=0, clusters=0, insufficient="1 value is needed")
    interval = stats.binomtest(successes, n).proportion_ci(CONFIDENCE, method="wilson")
    return Estimate(value=successes / n, low=float(interval.low), high=float(interval.high), n=n, clusters=n)


def mcnemar_exact(only_a: int, only_b: int) -> float:
    """Return the two-sided exact p-value of McNemar's test (1947) from the two discordant counts.

    It is the binomial test of `only_a` of `only_a + only_b` against 1/2; without discordant pairs it is 1.
    """
    if only_a + only_b == 0:
        return 1.0
    return float(stats.binomtest(only_a, only_a + only_b, 0.5).pvalue)


def minimum_clusters(percentile: float = 50.0) -> int:
    """Return the fewest independent units for which the interval of a percentile is given.

    A percentile near the edge needs more than `MIN_CLUSTERS`: so many that a sample lies wholly on one side of it
    with a probability of at most 2.5%, which is when the order statistics have an interval for it (Conover 1999,
    section 3.2). That is 72 for the 95th percentile.
    """
    share = max(percentile, 100 - percentile) / 100
    if share >= 1:
        raise ValueError("a percentile lies between 0 and 100")
    return max(MIN_CLUSTERS, math.ceil(math.log((1 - CONFIDENCE) / 2) / math.log(share)))


def percentiles(values: ArrayLike, wanted: Sequence[float]) -> Figures:
    """Return the percentiles p50, p95 and so on, linearly interpolated (Hyndman and Fan 1996, type 7).

    `wanted` lie between 0 and 100, both excluded. Two of them of paired samples give the difference of the
    percentiles: for the 50th that of the medians, which is not the median of the differences.
    """
    names = tuple(f"p{percentile:g}" for percentile in wanted)
    minima = tuple(minimum_clusters(percentile) for percentile in wanted)
    return Figures(names, minima, _quantiles(np.asarray(values, dtype=np.float64), wanted))


def mean(values: ArrayLike) -> Figures:
    """Return the arithmetic mean."""
    data = np.asarray(values, dtype=np.float64)
    return Figures(("mean",), (MIN_CLUSTERS,), _ratio(data, np.ones_like(data)))


def pooled_rate(errors: ArrayLike, reference: ArrayLike) -> Figures:
    """Return the error rate `pooled` in percent, 100 times the sum of errors ÷ the sum of reference lengths.

    Raises:
        ValueError: A reference has no length: it has no place in a rate.
    """
    lengths = np.asarray(reference, dtype=np.float64)
    if np.any(lengths <= 0):
        raise ValueError("an error rate needs references of positive length")
    return Figures(("pooled",), (MIN_CLUSTERS,), _ratio(100 * np.asarray(errors, dtype=np.float64), lengths))


def estimate(figures: Sequence[Figures], clusters: Sequence[str], *, seed: int = SEED) -> dict[str, Estimate]:
    """Return figures of one sample by name; `clusters` names each value's unit of resampling."""
    names = [name for one in figures for name in one.names]
    minima = [least for one in figures for least in one.minima]
    return dict(zip(names, _estimates(_together(figures), clusters, minima, seed), strict=True))


def estimate_paired(
    a: Sequence[Figures], b: Sequence[Figures], clusters: Sequence[str], *, seed: int = SEED
) -> dict[str, Paired]:
    """Return the same figures of two paired samples, and their differences, by name."""
    first, second = _together(a), _together(b)

    def both(weights: Integers) -> Floats:
        one, other = first(weights), second(weights)
        return np.concatenate([one, other, other - one])

    names = [name for one in a for name in one.names]
    minima = [least for one in a for least in one.minima]
    found = _estimates(both, clusters, minima * 3, seed)
    return {name: Paired(*found[i :: len(names)]) for i, name in enumerate(names)}


def _together(figures: Sequence[Figures]) -> Weighted:
    return lambda weights: np.concatenate([one.of(weights) for one in figures])


@np.errstate(all="ignore")
def _estimates(
    figures: Weighted, clusters: Sequence[str], minima: Sequence[int], seed: int
) -> tuple[Estimate, ...]:
    """Return the k figures of a sample with their intervals, where there are enough clusters for each."""
    n = len(clusters)
    if n == 0:
        return tuple(Estimate(value=None, n=0, clusters=0, insufficient=_needed(least)) for least in minima)
    names, codes = np.unique(np.asarray(clusters), return_inverse=True)
    count = len(names)
    values = figures(np.ones((1, n), dtype=np.int64))[:, 0]
    lows = highs = np.full(len(minima), np.nan)
    if count >= min(minima):
        lows, highs = _bootstrap(figures, codes.astype(np.int64), count, seed)
    return tuple(
        _estimate(value, low, high, n, count, least)
        for value, low, high, least in zip(values, lows, highs, minima, strict=True)
    )


def _estimate(value: float, low: float, high: float, n: int, clusters: int, least: int) -> Estimate:
    """A figure that is too large for a number of the computer is as absent as one without values."""
    if clusters < least:
        return Estimate(value=_finite(value), n=n, clusters=clusters, insufficient=_needed(least))
    return Estimate(value=_finite(value), low=_finite(low), high=_finite(high), n=n, clusters=clusters)


def _finite(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None


def _needed(least: int) -> str:
    return f"{least} independent units are needed"


def _bootstrap(figures: Weighted, codes: Integers, clusters: int, seed: int) -> tuple[Floats, Floats]:
    """Return the ends (k, k) of the percentile-bootstrap intervals when whole clusters are drawn."""
    result = stats.bootstrap(
        (np.arange(clusters),),
        partial(_of_draws, figures=figures, codes=codes, clusters=clusters),
        n_resamples=RESAMPLES,
        batch=max(1, _BLOCK_ELEMENTS // len(codes)),
        vectorized=True,
        confidence_level=CONFIDENCE,
        method="percentile",
        rng=np.random.default_rng(seed),
    )
    low, high = result.confidence_interval
    return np.asarray(low), np.asarray(high)


def _of_draws(draws: Integers, axis: int, *, figures: Weighted, codes: Integers, clusters: int) -> Floats:
    """Return the figures (k, r) of r draws of clusters (r, clusters), or (k,) of one draw."""
    rows = draws.reshape(-1, clusters)
    flat = rows + clusters * np.arange(len(rows))[:, np.newaxis]
    drawn = np.bincount(flat.ravel(), minlength=rows.size).reshape(rows.shape)
    found = figures(drawn[:, codes])
    return found[:, 0] if draws.ndim == 1 else found


def _quantiles(values: Floats, wanted: Sequence[float]) -> Weighted:
    """Return the function from weights to percentiles: in a block, every one is found by a single search."""
    order = np.argsort(values, kind="stable")
    ranked = values[order]
    shares = np.asarray(wanted, dtype=np.float64)[:, np.newaxis] / 100

    def figures(weights: Integers) -> Floats:
        cumulated = np.cumsum(weights[:, order])
        ends = cumulated[len(order) - 1 :: len(order)]
        starts = np.concatenate([[0], ends[:-1]])
        last = ends - starts - 1
        place = shares * last
        lower = np.floor(place).astype(np.int64)
        upper = np.minimum(lower + 1, last)
        offsets = len(order) * np.arange(len(weights))
        low, high = (
            ranked[np.searchsorted(cumulated, starts + rank, side="right") - offsets] for rank in (lower, upper)
        )
        return np.asarray(low + (place - lower) * (high - low))

    return figures


def _ratio(numerator: Floats, denominator: Floats) -> Weighted:
    both = np.stack([numerator, denominator], axis=1)

    def figures(weights: Integers) -> Floats:
        sums = weights.astype(np.float64) @ both
        return np.asarray(sums[:, 0] / sums[:, 1])[np.newaxis]

    return figures
