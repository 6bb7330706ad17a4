"""Statistics, held against published values, exact fractions and independent computations."""

from fractions import Fraction
from math import comb, sqrt
from statistics import NormalDist

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from sayagain.analysis import statistics
from sayagain.analysis.statistics import (
    MIN_CLUSTERS,
    RESAMPLES,
    Estimate,
    estimate,
    estimate_paired,
    mcnemar_exact,
    mean,
    minimum_clusters,
    percentiles,
    pooled_rate,
    wilson,
)


def names(count: int) -> list[str]:
    return [str(number) for number in range(count)]


@pytest.mark.parametrize(
    ("successes", "n", "low", "high"),
    [(81, 263, 0.2553, 0.3662), (15, 148, 0.0624, 0.1605), (0, 20, 0.0, 0.1611), (1, 29, 0.0061, 0.1718)],
)
def test_a_wilson_interval_is_the_one_published_by_newcombe_1998_table_1(
    successes: int, n: int, low: float, high: float
) -> None:
    found = wilson(successes, n)
    assert (found.value, found.n) == (successes / n, n)
    assert [found.low, found.high] == pytest.approx([low, high], abs=5e-5)


@given(st.integers(1, 400).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
def test_a_wilson_interval_solves_the_equation_of_the_score_test(trial: tuple[int, int]) -> None:
    successes, n = trial
    z = NormalDist().inv_cdf(0.975)
    found = wilson(successes, n)
    share = successes / n
    centre = (share + z * z / (2 * n)) / (1 + z * z / n)
    half = z * sqrt(share * (1 - share) / n + z * z / (4 * n * n)) / (1 + z * z / n)
    assert found.low == pytest.approx(centre - half, abs=1e-9)
    assert found.high == pytest.approx(centre + half, abs=1e-9)


def test_a_proportion_of_nothing_has_no_value_and_no_interval() -> None:
    found = wilson(0, 0)
    assert (found.value, found.low, found.high, found.n) == (None, None, None, 0)
    assert found.insufficient


@pytest.mark.parametrize(("only_a", "only_b", "p"), [(1, 7, 0.0703), (6, 16, 0.0525)])
def test_mcnemar_gives_the_exact_p_values_published_by_fagerland_et_al_2013(
    only_a: int, only_b: int, p: float
) -> None:
    assert mcnemar_exact(only_a, only_b) == pytest.approx(p, abs=5e-5)


@given(st.integers(0, 60), st.integers(0, 60))
def test_mcnemar_is_twice_the_smaller_tail_in_exact_fractions(only_a: int, only_b: int) -> None:
    n = only_a + only_b
    tail = sum(Fraction(comb(n, k), 2**n) for k in range(min(only_a, only_b) + 1))
    assert mcnemar_exact(only_a, only_b) == pytest.approx(float(min(Fraction(1), 2 * tail)), rel=1e-9)


def test_mcnemar_without_discordant_pairs_is_1() -> None:
    assert mcnemar_exact(0, 0) == 1.0


def test_the_95th_percentile_needs_72_units_and_the_median_the_stated_minimum() -> None:
    assert minimum_clusters(95) == minimum_clusters(5) == 72
    assert 0.95**72 <= 0.025 < 0.95**71
    assert minimum_clusters(50) == MIN_CLUSTERS


@pytest.mark.parametrize("percentile", [0, 100])
def test_an_extreme_is_no_percentile(percentile: float) -> None:
    with pytest.raises(ValueError, match="between 0 and 100"):
        minimum_clusters(percentile)


finite = st.floats(-1e6, 1e6)


@given(st.lists(finite, min_size=1, max_size=40), st.floats(0.5, 99.5))
def test_a_percentile_is_numpys_linear_one(values: list[float], wanted: float) -> None:
    (found,) = estimate([percentiles(values, [wanted])], names(len(values))).values()
    assert found.value == pytest.approx(np.percentile(values, wanted), rel=1e-9, abs=1e-6)
    assert found.n == len(values)


def test_below_the_stated_minimum_there_is_a_value_and_no_interval() -> None:
    few, enough = ([float(value) for value in range(n)] for n in (MIN_CLUSTERS - 1, MIN_CLUSTERS))
    found = estimate([percentiles(few, [50, 95]), mean(few)], names(len(few)))
    assert {name: one.value for name, one in found.items()} == {"p50": 4.0, "p95": pytest.approx(7.6), "mean": 4.0}
    assert all(one.low is None and one.high is None for one in found.values())
    assert found["p95"].insufficient == "72 independent units are needed"
    found = estimate([percentiles(enough, [50, 95])], names(len(enough)))
    assert found["p50"].low is not None
    assert found["p95"].low is None


def test_many_values_of_few_speakers_have_no_interval() -> None:
    found = estimate([mean(np.arange(300.0))], [str(number % 9) for number in range(300)])["mean"]
    assert (found.n, found.clusters, found.low) == (300, 9, None)


def test_nothing_has_no_figures() -> None:
    found = estimate([percentiles([], [50]), mean([])], [])
    assert all((one.value, one.n, one.low) == (None, 0, None) for one in found.values())


def test_an_error_rate_without_reference_words_is_refused() -> None:
    with pytest.raises(ValueError, match="positive length"):
        pooled_rate([1], [0])


def test_a_pooled_rate_weighs_words_and_not_utterances() -> None:
    assert estimate([pooled_rate([1, 1], [1, 99])], names(2))["pooled"].value == pytest.approx(2.0)


def test_a_figure_too_large_for_a_double_is_absent_and_not_infinite() -> None:
    found = estimate([mean([1.7e308] * 12)], names(12))["mean"]
    assert (found.value, found.low, found.high) == (None, None, None)


def resampled(draws: int, clusters: list[str], seed: int) -> list[list[int]]:
    """Positions of the values in each resample, by the plainest possible code, from the same draws."""
    members = [[i for i, name in enumerate(clusters) if name == unit] for unit in sorted(set(clusters))]
    drawn = np.random.default_rng(seed).integers(0, len(members), (draws, len(members)))
    return [[position for unit in row for position in members[unit]] for row in drawn]


clustered = st.integers(MIN_CLUSTERS, 14).flatmap(
    lambda count: st.tuples(
        st.lists(
            st.tuples(finite, st.integers(0, 20), st.integers(1, 30), st.integers(0, count - 1)), max_size=12
        ),
        st.just(count),
    )
)


@settings(max_examples=5, deadline=None)
@given(clustered)
def test_intervals_are_those_of_resamples_that_are_spelled_out(
    sample: tuple[list[tuple[float, int, int, int]], int],
) -> None:
    extra, count = sample
    data = [(float(unit * unit), unit % 3, 5 + unit, unit) for unit in range(count)] + extra
    values, errors, words = (np.array(column, dtype=float) for column in list(zip(*data, strict=True))[:3])
    clusters = [f"{unit:03}" for *_, unit in data]
    plain = resampled(RESAMPLES, clusters, 7)
    found = estimate([percentiles(values, [50]), mean(values), pooled_rate(errors, words)], clusters, seed=7)
    for name, figures in (
        ("p50", [np.percentile(values[draw], 50) for draw in plain]),
        ("mean", [values[draw].mean() for draw in plain]),
        ("pooled", [100 * errors[draw].sum() / words[draw].sum() for draw in plain]),
    ):
        low, high = np.percentile(figures, [2.5, 97.5])
        assert found[name].low == pytest.approx(low, rel=1e-6, abs=1e-6)
        assert found[name].high == pytest.approx(high, rel=1e-6, abs=1e-6)
        assert found[name].clusters == count


def test_the_interval_of_a_mean_is_close_to_students_for_many_values() -> None:
    values = np.random.default_rng(3).normal(400, 80, 500)
    found = estimate([mean(values)], names(500))["mean"]
    low, high = stats.t.interval(0.95, 499, loc=values.mean(), scale=stats.sem(values))
    assert [found.low, found.high] == pytest.approx([low, high], abs=1)


def test_the_interval_of_a_median_is_close_to_the_one_from_order_statistics() -> None:
    values = np.random.default_rng(4).lognormal(6, 0.5, 1000)
    found = estimate([percentiles(values, [50, 95])], names(1000))
    for name, share in (("p50", 0.5), ("p95", 0.95)):
        exact = stats.quantile_test(values, q=np.quantile(values, share), p=share).confidence_interval(0.95)
        assert found[name].low == pytest.approx(exact.low, rel=0.03)
        assert found[name].high == pytest.approx(exact.high, rel=0.03)


def test_values_that_repeat_each_other_do_not_narrow_an_interval() -> None:
    values = np.random.default_rng(5).normal(0, 1, 50)
    speakers = names(50)
    once = estimate([mean(values)], speakers)["mean"]
    tenfold = estimate([mean(np.repeat(values, 10))], [name for name in speakers for _ in range(10)])["mean"]
    assert [once.low, once.high] == pytest.approx([tenfold.low, tenfold.high])
    assert (once.n, tenfold.n, tenfold.clusters) == (50, 500, 50)


def test_nineteen_of_twenty_intervals_hold_the_truth(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(statistics, "RESAMPLES", 400)
    random = np.random.default_rng(6)
    held = 0
    for _ in range(200):
        a = random.normal(500, 100, 60)
        found = estimate_paired([percentiles(a, [50])], [percentiles(a + 20, [50])], names(60))["p50"]
        held += found.a.low is not None and found.a.high is not None and found.a.low <= 500 <= found.a.high
        assert found.difference.value == pytest.approx(20)
    assert 0.90 <= held / 200 <= 0.99


pairs = st.lists(st.tuples(finite, finite), min_size=MIN_CLUSTERS, max_size=30)


@settings(max_examples=15, deadline=None)
@given(pairs, st.integers(0, 2**32))
def test_swapping_two_samples_negates_the_difference_and_its_interval(
    data: list[tuple[float, float]], seed: int
) -> None:
    a, b = (list(column) for column in zip(*data, strict=True))
    one, other = ([percentiles(values, [50]), mean(values)] for values in (a, b))
    there, back = (estimate_paired(*both, names(len(a)), seed=seed) for both in ((one, other), (other, one)))
    for name in ("p50", "mean"):
        forth, reverse = there[name].difference, back[name].difference
        assert forth.value == pytest.approx(-reverse.value if reverse.value is not None else None)
        assert forth.low == pytest.approx(-reverse.high if reverse.high is not None else None, abs=1e-6)
        assert (there[name].a, there[name].b) == (back[name].b, back[name].a)


@settings(max_examples=10, deadline=None)
@given(pairs, st.integers(0, 2**32))
def test_the_same_seed_gives_the_same_interval_and_the_difference_is_that_of_the_figures(
    data: list[tuple[float, float]], seed: int
) -> None:
    a, b = ([percentiles(list(column), [50])] for column in zip(*data, strict=True))
    first, second = (estimate_paired(a, b, names(len(data)), seed=seed)["p50"] for _ in range(2))
    assert first == second
    assert isinstance(first.difference, Estimate)
    assert first.a.value is not None
    assert first.b.value is not None
    assert first.difference.value == pytest.approx(first.b.value - first.a.value, abs=1e-6)


def test_the_interval_depends_on_the_seed() -> None:
    values = np.random.default_rng(8).normal(0, 1, 30)
    lows = {estimate([mean(values)], names(30), seed=seed)["mean"].low for seed in range(3)}
    assert len(lows) == 3


def test_ten_thousand_cases_are_resampled_in_blocks_of_bounded_size() -> None:
    sizes: list[int] = []
    figures = mean(np.arange(10_000.0))

    def watched(weights: statistics.Integers) -> statistics.Floats:
        sizes.append(weights.size)
        return figures.of(weights)

    found = estimate([statistics.Figures(figures.names, figures.minima, watched)], names(10_000))["mean"]
    assert found.low is not None
    assert max(sizes) <= 50_000
    assert sum(sizes) >= RESAMPLES * 10_000
