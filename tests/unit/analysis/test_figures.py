"""The figures of a run: what they are, who is ranked, what is a tie, and what is too little."""

from collections.abc import Mapping, Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sayagain.analysis.cases import gather
from sayagain.analysis.figures import MetricFigures, SliceFigures, figures_of
from sayagain.analysis.slices import By, slices_of
from sayagain.analysis.statistics import MIN_CLUSTERS, wilson
from sayagain.records import Failure, FailureKind, Item, Phase, ResultRow, content_digest
from support.comparisons import OTHER, STT, case

Rows = Sequence[ResultRow]
LOST = Failure(kind=FailureKind.SERVER_ERROR, phase=Phase.RECEIVE, message="no")
CANCELLED = Failure(kind=FailureKind.CANCELLED, phase=Phase.RECEIVE, message="stopped")
THIRD = "stt:acme/ear"


def rows(*cases: Rows) -> list[ResultRow]:
    return [row for one in cases for row in one]


def lost(item: str, words: int, failure: Failure = LOST, key: str = STT) -> Rows:
    """A failed case that owed words."""
    from msgspec.structs import replace

    made = case(item, failure=failure, key=key)
    return [replace(row, detail={"N": words}) if row.metric == "wer" else row for row in made]


def whole(made: Rows, items: Mapping[str, Item] | None = None) -> SliceFigures:
    (part,) = figures_of(gather(made), items or {})
    return part


def of(part: SliceFigures, metric: str, target: str = STT) -> MetricFigures:
    (table,) = [table for table in part.metrics if table.metric == metric]
    (row,) = [row for row in table.targets if row.target == target]
    return row


def items(count: int, latency: float, key: str = STT, errors: int = 0) -> list[ResultRow]:
    """One case an item, with latencies that climb from `latency` by 1 ms."""
    return rows(*[case(f"i{n}", {"ttfs": latency + n}, key=key, errors=errors) for n in range(count)])


def digest_of(item: str) -> str:
    return content_digest([item, ""])


def test_an_error_rate_is_pooled_first_then_with_failures_and_its_mean_comes_after() -> None:
    part = whole(rows(case("a", errors=1, words=2), case("b", errors=2, words=18), lost("c", 5)))
    figures = of(part, "wer").figures
    assert list(figures) == ["pooled", "pooled_with_failures", "mean", "p50", "p95"]
    assert figures["pooled"].value == pytest.approx(100 * 3 / 20)
    assert figures["pooled_with_failures"].value == pytest.approx(100 * 8 / 25)
    assert figures["mean"].value == pytest.approx((50 + 100 / 9) / 2)
    assert [figures[name].n for name in ("pooled", "pooled_with_failures", "mean")] == [2, 3, 2]


def test_a_case_that_we_cancelled_is_not_charged_to_the_target() -> None:
    figures = of(whole(rows(case("a", errors=1, words=2), lost("c", 5, CANCELLED))), "wer").figures
    assert figures["pooled_with_failures"].value == 50


def test_a_target_that_answered_nothing_has_left_out_everything_and_no_latency() -> None:
    part = whole(rows(lost("a", 3), lost("b", 4)))
    figures = of(part, "wer").figures
    assert (figures["pooled"].value, figures["pooled_with_failures"].value) == (None, 100)
    assert [table.metric for table in part.metrics] == ["wer"]
    assert part.answered[STT] == wilson(0, 2)


def test_a_latency_has_its_median_first() -> None:
    figures = of(whole(items(20, 100.0)), "ttfs").figures
    assert list(figures) == ["p50", "p95", "mean"]
    assert figures["p50"].value == pytest.approx(109.5)
    assert figures["p95"].value == pytest.approx(100 + 0.95 * 19)
    median = figures["p50"]
    assert median.low is not None
    assert median.high is not None
    assert median.low < 109.5 < median.high


def test_too_few_units_have_figures_without_intervals_and_no_rank() -> None:
    row = of(whole(items(MIN_CLUSTERS - 1, 100.0)), "ttfs")
    assert row.figures["p50"].value == pytest.approx(104)
    assert row.figures["p50"].low is None
    assert row.rank is None
    assert str(MIN_CLUSTERS) in (row.insufficient or "")


def test_utterances_of_one_speaker_are_one_unit() -> None:
    known = {digest_of(f"i{n}"): Item(id=f"i{n}", text="t", sha256="0", speaker=f"s{n % 3}") for n in range(30)}
    row = of(whole(items(30, 100.0), known), "ttfs")
    assert (row.n, row.clusters) == (30, 3)
    assert row.insufficient


def test_a_target_that_is_better_beyond_doubt_ranks_before_and_one_that_is_not_ties() -> None:
    n = 20
    near = rows(*[case(f"i{k}", {"ttfs": 100.0 + k + (3 if k % 2 else -3)}, key=OTHER) for k in range(n)])
    part = whole([*items(n, 100.0), *near, *items(n, 500.0, THIRD)])
    first, second, third = (of(part, "ttfs", target).rank for target in (STT, OTHER, THIRD))
    assert first is not None
    assert second is not None
    assert third is not None
    assert (first.rank, first.ties) == (1, (OTHER,))
    assert (second.rank, second.ties) == (1, (STT,))
    assert (third.rank, third.ties) == (3, ())


def test_what_is_better_higher_ranks_higher() -> None:
    fast = rows(*[case(f"i{k}", {"rtfx": 30.0 + k}, key=STT) for k in range(12)])
    slow = rows(*[case(f"i{k}", {"rtfx": 3.0 + k}, key=OTHER) for k in range(12)])
    part = whole([*slow, *fast])
    first, second = of(part, "rtfx", STT).rank, of(part, "rtfx", OTHER).rank
    assert first is not None
    assert second is not None
    assert (first.rank, second.rank) == (1, 2)


def test_a_target_with_too_little_does_not_move_the_rank_of_the_others() -> None:
    part = whole([*items(20, 100.0), *items(3, 1.0, OTHER)])
    place = of(part, "ttfs").rank
    assert place is not None
    assert (place.rank, place.ties) == (1, ())
    assert of(part, "ttfs", OTHER).rank is None


def test_targets_without_an_item_in_common_cannot_be_told_apart() -> None:
    others = rows(*[case(f"o{k}", {"ttfs": 900.0}, key=OTHER) for k in range(20)])
    place = of(whole([*items(20, 100.0), *others]), "ttfs").rank
    assert place is not None
    assert (place.rank, place.ties) == (1, (OTHER,))


@settings(max_examples=25, deadline=None)
@given(st.permutations([STT, OTHER, THIRD]), st.lists(st.integers(0, 60), min_size=3, max_size=3))
def test_ranks_are_those_of_any_order_and_fit_the_ties(order: list[str], shifts: list[int]) -> None:
    made = {
        target: rows(
            *[case(f"i{k}", {"ttfs": 100.0 + (7 * k * (place + 2)) % 41 + shift}, key=target) for k in range(12)]
        )
        for place, (target, shift) in enumerate(zip((STT, OTHER, THIRD), shifts, strict=True))
    }
    part = whole([row for target in order for row in made[target]])
    same = whole([row for target in made for row in made[target]])
    for target in order:
        place = of(part, "ttfs", target).rank
        assert place == of(same, "ttfs", target).rank
        assert place is not None
        assert 1 <= place.rank <= 3 - len(place.ties)
        for tied in place.ties:
            other = of(part, "ttfs", tied).rank
            assert other is not None
            assert target in other.ties


ITEM = Item(id="i", text="t", sha256="0", speaker="ann", tags=("read", "prose"), duration_s=5.0)


@pytest.mark.parametrize(
    ("by", "names"),
    [
        (By.TAG, ["tag read", "tag prose"]),
        (By.SPEAKER, ["speaker ann"]),
        (By.DURATION, ["5 s to below 10 s"]),
    ],
)
def test_an_item_is_in_the_slices_of_what_it_says_of_itself(by: By, names: list[str]) -> None:
    assert [found.name for found in slices_of(ITEM, by)] == names


@pytest.mark.parametrize(
    ("seconds", "name"),
    [(0.1, "0 s to below 2 s"), (2.0, "2 s to below 5 s"), (59.9, "20 s to below 60 s"), (60.0, "60 s or more")],
)
def test_durations_have_fixed_edges_that_belong_to_the_longer_slice(seconds: float, name: str) -> None:
    item = Item(id="i", text="t", sha256="0", duration_s=seconds)
    assert [found.name for found in slices_of(item, By.DURATION)] == [name]


@pytest.mark.parametrize("by", list(By))
def test_an_item_that_says_nothing_and_one_that_is_not_here_are_slices_of_their_own(by: By) -> None:
    silent = Item(id="i", text="t", sha256="0")
    assert len(slices_of(silent, by)) == 1
    assert slices_of(silent, by)[0].name.startswith("no ")
    assert "not here" in slices_of(None, by)[0].name


def test_slices_are_in_order_and_each_has_the_figures_of_its_items_alone() -> None:
    known = {
        digest_of("long"): Item(id="long", text="t", sha256="0", duration_s=70.0),
        digest_of("short"): Item(id="short", text="t", sha256="0", duration_s=1.0),
        digest_of("middle"): Item(id="middle", text="t", sha256="0", duration_s=12.0),
    }
    made = rows(
        case("long", errors=7), case("unknown", errors=9), case("short", errors=1), case("middle", errors=4)
    )
    parts = figures_of(gather(made), known, By.DURATION)
    assert [part.name for part in parts] == [
        "0 s to below 2 s",
        "10 s to below 20 s",
        "60 s or more",
        "items whose dataset is not here",
    ]
    assert [of(part, "wer").figures["pooled"].value for part in parts] == [10, 40, 70, 90]


def test_an_item_with_two_tags_counts_in_both() -> None:
    known = {
        digest_of("a"): Item(id="a", text="t", sha256="0", tags=("noisy", "phone")),
        digest_of("b"): Item(id="b", text="t", sha256="0", tags=("phone",)),
    }
    parts = figures_of(gather(rows(case("a", errors=2), case("b", errors=4))), known, By.TAG)
    assert {part.name: of(part, "wer").n for part in parts} == {"tag noisy": 1, "tag phone": 2}
