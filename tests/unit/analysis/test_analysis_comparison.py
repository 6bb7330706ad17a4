"""Two runs held against each other: what became of each case, and of each number."""

import dataclasses
import hashlib
import itertools
from collections.abc import Sequence
from random import Random
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sayagain.analysis.comparison import compare_runs, compare_targets
from sayagain.analysis.model import Change, Comparison, MetricComparison, Mode
from sayagain.analysis.outcomes import Outcome
from sayagain.errors import MismatchError, UsageError
from sayagain.metrics import METRICS
from sayagain.records import ResultRow
from support.comparisons import LOST, OTHER, STT, TIMEOUT, case, header, replay_of, run, target

PLAN = "a" * 64
EVERY_OUTCOME_A = [
    case("fixed", failure=TIMEOUT),
    case("regressed"),
    case("same", failure=TIMEOUT),
    case("different", failure=TIMEOUT),
    case("ok"),
    case("missing"),
]
EVERY_OUTCOME_B = [
    case("fixed"),
    case("regressed", failure=LOST),
    case("same", failure=TIMEOUT),
    case("different", failure=LOST),
    case("ok"),
    case("new"),
]


def outcomes(comparison: Comparison) -> dict[str, Outcome]:
    return {one.item_id: one.outcome for one in comparison.cases}


def metric(comparison: Comparison, name: str, key: str = STT) -> MetricComparison:
    (of_target,) = (target for target in comparison.targets if target.target == key)
    return next(one for one in of_target.metrics if one.metric == name)


def test_every_outcome_is_told_from_the_rows_of_both_runs() -> None:
    compared = compare_runs(run(EVERY_OUTCOME_A), run(EVERY_OUTCOME_B, header("run-b")))
    assert compared.mode is Mode.RUNS
    assert outcomes(compared) == {
        "fixed": Outcome.FIXED,
        "regressed": Outcome.REGRESSED,
        "same": Outcome.SAME_FAILURE,
        "different": Outcome.DIFFERENT_FAILURE,
        "ok": Outcome.STILL_OK,
        "missing": Outcome.MISSING,
        "new": Outcome.NEW,
    }
    assert sum(compared.outcomes.values()) == 7
    assert set(compared.outcomes) == set(Outcome)


def test_a_case_says_what_failed_on_each_side() -> None:
    compared = compare_runs(run(EVERY_OUTCOME_A), run(EVERY_OUTCOME_B, header("run-b")))
    cases = {one.item_id: one for one in compared.cases}
    different, new = cases["different"], cases["new"]
    assert different.failure_a is not None
    assert different.failure_b is not None
    assert (different.failure_a.kind, different.failure_b.kind) == (TIMEOUT.kind, LOST.kind)
    assert (new.case_a, new.failed_a, new.failure_a) == (None, False, None)


def test_a_case_that_failed_of_one_cause_more_fails_differently() -> None:
    both = [*case("one", failure=TIMEOUT)[:1], *case("one", failure=LOST)[1:]]
    compared = compare_runs(run([case("one", failure=TIMEOUT)]), run([both], header("run-b")))
    assert outcomes(compared) == {"one": Outcome.DIFFERENT_FAILURE}


def test_a_case_with_one_failed_metric_is_failed_and_its_other_values_still_compare() -> None:
    half = [*case("one", {"ttfs": 300.0})[:1], *case("one", failure=LOST)[1:]]
    compared = compare_runs(run([case("one", {"ttfs": 100.0})]), run([half], header("run-b")))
    assert outcomes(compared) == {"one": Outcome.REGRESSED}
    assert metric(compared, "ttfs").n == 1
    assert metric(compared, "wer").n == 0


def test_the_same_plan_tells_cases_that_were_not_run_from_missing_ones() -> None:
    whole = run([case("x"), case("y")], header(plan_sha256=PLAN))
    stopped = run([case("x")], header("run-b", plan_sha256=PLAN), not_run=1)
    assert outcomes(compare_runs(whole, stopped)) == {"x": Outcome.STILL_OK, "y": Outcome.NOT_RUN}
    assert outcomes(compare_runs(stopped, whole)) == {"x": Outcome.STILL_OK, "y": Outcome.NOT_RUN}


def test_another_plan_leaves_open_what_was_not_run_and_says_so() -> None:
    compared = compare_runs(run([case("x"), case("y")]), run([case("x")], header("run-b"), not_run=3))
    assert outcomes(compared)["y"] is Outcome.MISSING
    assert compared.notes == ("3 planned cases of B never ran; they may be among the missing ones",)


def test_a_run_of_which_nothing_ran_compares_as_not_run() -> None:
    whole = run([case("x")], header(plan_sha256=PLAN))
    compared = compare_runs(whole, run([], header("run-b", plan_sha256=PLAN), not_run=1))
    assert outcomes(compared) == {"x": Outcome.NOT_RUN}
    assert compared.targets[0].success.a.value is None


def test_a_replay_speaks_about_the_replayed_cases_only() -> None:
    parent = run([case(f"ok-{i}") for i in range(20)] + [case(f"bad-{i}", failure=TIMEOUT) for i in range(14)])
    again = [case(f"bad-{i}") for i in range(11)] + [case(f"bad-{i}", failure=TIMEOUT) for i in range(11, 14)]
    compared = compare_runs(parent, run(again, replay_of(parent)))
    assert compared.mode is Mode.REPLAY
    assert {outcome: count for outcome, count in compared.outcomes.items() if count} == {
        Outcome.FIXED: 11,
        Outcome.SAME_FAILURE: 3,
        Outcome.NOT_REPLAYED: 20,
    }
    assert compared.targets[0].success.b.n == 14
    assert compared.targets[0].success.p_value is None


def test_a_replay_that_was_stopped_early_has_cases_that_were_not_run() -> None:
    parent = run([case("ok"), case("one", failure=TIMEOUT), case("two", failure=TIMEOUT)])
    failed = dict.fromkeys(row.case_id for row in parent.rows if row.failure)
    plan = hashlib.sha256("".join(failed).encode()).hexdigest()
    stopped = run([case("one")], replay_of(parent, plan_sha256=plan), not_run=1)
    assert outcomes(compare_runs(parent, stopped)) == {
        "ok": Outcome.NOT_REPLAYED,
        "one": Outcome.FIXED,
        "two": Outcome.NOT_RUN,
    }


def test_a_replay_that_names_another_file_of_its_parent_is_noticed() -> None:
    parent = run([case("one", failure=TIMEOUT)], sha256="1" * 64)
    child = run([case("one")], replay_of(parent))
    assert compare_runs(parent, child).notes == ()
    other = dataclasses.replace(parent, sha256="2" * 64)
    assert "another file" in compare_runs(other, child).notes[0]


def test_runs_that_differ_in_settings_are_matched_by_item_and_the_setting_is_named() -> None:
    beam = {"language": "en", "beam": 5}
    changed = header("run-b", [target(settings=beam)])
    compared = compare_runs(run([case("one")]), run([case("one", settings=beam)], changed))
    assert outcomes(compared) == {"one": Outcome.STILL_OK}
    assert compared.cases[0].case_a != compared.cases[0].case_b
    (difference,) = compared.differences
    assert (difference.key, difference.a, difference.b, difference.target) == ("settings.beam", "absent", "5", STT)
    assert compared.equivalent
    assert metric(compared, "ttfs").n == 1


def test_an_item_with_other_content_under_the_same_id_is_not_the_same_case() -> None:
    compared = compare_runs(
        run([case("one"), case("two")]), run([case("one", content="new"), case("two")], header("run-b"))
    )
    assert sorted(one.outcome for one in compared.cases) == [Outcome.MISSING, Outcome.NEW, Outcome.STILL_OK]
    assert compared.notes == ("items with other content under the same id: 1; their cases are missing and new",)


def test_repeats_are_cases_of_their_own_and_one_unit_of_resampling() -> None:
    rows = [case("one", repeat=repeat) for repeat in range(3)]
    compared = compare_runs(run(rows), run(rows, header("run-b")))
    assert (metric(compared, "ttfs").n, metric(compared, "ttfs").clusters) == (3, 1)


def test_speakers_are_the_units_of_resampling_where_they_are_known() -> None:
    rows = [case(f"item-{i}") for i in range(24)]
    digests = [one[0].item_digest for one in rows]
    clusters = {digest: f"speaker {i % 12}" for i, digest in enumerate(digests)}
    compared = compare_runs(run(rows), run(rows, header("run-b")), clusters=clusters)
    assert (metric(compared, "ttfs").n, metric(compared, "ttfs").clusters) == (24, 12)
    assert metric(compared, "ttfs").figures[0].difference.low == 0


def test_two_runs_with_nothing_in_common_are_refused_with_the_reason() -> None:
    other = header("run-b", [target(OTHER)])
    with pytest.raises(MismatchError, match="A has the targets 'stt:moonshine/tiny-en', and B has 'stt:pock"):
        compare_runs(run([case("one")]), run([case("one", key=OTHER)], other))
    with pytest.raises(MismatchError, match="the content of every item differs"):
        compare_runs(run([case("one")]), run([case("one", content="new")], header("run-b")))


@pytest.mark.parametrize(
    ("changes", "key", "refused"),
    [
        ({"normalizer": "normalizer/2"}, "normalizer", {"wer"}),
        ({"metrics": {"wer": METRICS["wer"].version + 1, "ttfs": 1}}, "metrics.wer", {"wer"}),
        ({"targets": [target(adapter="wyoming/2")]}, "adapter", {"wer", "ttfs"}),
        ({"contract": "9" * 64}, "runner.contract", {"wer", "ttfs"}),
    ],
)
def test_values_of_another_meaning_are_not_compared_and_outcomes_are(
    changes: dict[str, Any], key: str, refused: set[str]
) -> None:
    every_metric = {name: info.version for name, info in METRICS.items()}
    changes = {"contract": "8" * 64, "metrics": every_metric, **changes}
    before = run(EVERY_OUTCOME_A, header(metrics=every_metric))
    compared = compare_runs(before, run(EVERY_OUTCOME_B, header("run-b", **changes)))
    assert not compared.equivalent
    assert [one.key for one in compared.differences if one.refuses] == [key]
    found = {one.metric: one for one in compared.targets[0].metrics}
    assert {name for name, one in found.items() if one.refused} == refused
    assert all(not found[name].figures and found[name].refused == (key,) for name in refused)
    assert all(one.figures for name, one in found.items() if name not in refused)
    assert compared.outcomes[Outcome.FIXED] == 1


def test_a_contract_that_differs_only_because_another_target_ran_is_equivalent() -> None:
    more = header("run-b", [target(), target(OTHER, adapter="local/1")], contract="9" * 64)
    compared = compare_runs(run([case("one")]), run([case("one")], more))
    assert compared.equivalent
    assert metric(compared, "ttfs").figures


def test_a_contract_that_can_differ_by_metrics_of_the_other_benchmark_is_named_only() -> None:
    compared = compare_runs(run([case("one")]), run([case("one")], header("run-b", contract="9" * 64)))
    assert [one.key for one in compared.differences] == ["runner.contract"]
    assert compared.equivalent


def test_a_replay_that_was_allowed_to_differ_is_never_equivalent() -> None:
    parent = run([case("one", failure=TIMEOUT)])
    child = run([case("one")], replay_of(parent, allowed_differences=("settings.language",)))
    for compared in (compare_runs(parent, child), compare_runs(child, child)):
        assert not compared.equivalent
        assert compared.allowed == ("settings.language",)


def test_rows_that_contradict_their_header_are_believed() -> None:
    compared = compare_runs(run([case("one")]), run([case("one", version=2)], header("run-b")))
    assert metric(compared, "ttfs").refused == ("metrics.ttfs",)


def test_another_unit_is_never_compared() -> None:
    seconds = [msgspec.structs.replace(row, unit="s") if row.metric == "ttfs" else row for row in case("one")]
    compared = compare_runs(run([case("one")]), run([seconds], header("run-b")))
    assert metric(compared, "ttfs").refused == ("unit of ttfs",)
    assert metric(compared, "ttfs").unit is None


def test_builds_limits_and_datasets_are_named_and_refuse_nothing() -> None:
    made = header("run-b")
    changed = msgspec.structs.replace(
        made,
        runner=msgspec.structs.replace(made.runner, sha="abc", platform="Darwin-arm64"),
        limits=msgspec.structs.replace(made.limits, attempts=1),
        datasets=(msgspec.structs.replace(made.datasets[0], sample=5),),
    )
    compared = compare_runs(run([case("one")]), run([case("one")], changed))
    named = {one.key: (one.a, one.b) for one in compared.differences}
    assert named == {
        "dataset.cards.sample": ("null", "5"),
        "limits.attempts": ("3", "1"),
        "runner.sha": ("null", "abc"),
        "runner.platform": ("Linux-x86_64", "Darwin-arm64"),
    }
    assert compared.equivalent


def test_figures_are_over_the_cases_with_a_value_on_both_sides() -> None:
    a = [case(f"i{n:02}", {"ttfs": 100.0 + n}, errors=1) for n in range(12)] + [case("x", failure=TIMEOUT)]
    b = [case(f"i{n:02}", {"ttfs": 150.0 + n}, errors=2) for n in range(12)] + [
        case("x", {"ttfs": 9e9}, errors=10)
    ]
    compared = compare_runs(run(a), run(b, header("run-b")))
    ttfs, wer = metric(compared, "ttfs"), metric(compared, "wer")
    p50, p95, mean = ttfs.figures
    assert (ttfs.n, ttfs.unit, ttfs.version, ttfs.change) == (12, "ms", 1, Change.WORSE)
    assert [figure.name for figure in ttfs.figures] == ["p50", "p95", "mean"]
    assert (p50.a.value, p50.b.value, p50.difference.value) == (105.5, 155.5, 50.0)
    assert (p50.difference.low, p50.difference.high) == (50.0, 50.0)
    assert p95.difference.insufficient
    assert mean.difference.value == 50.0
    pooled = wer.figures[0]
    assert (pooled.name, pooled.a.value, pooled.b.value, wer.change) == ("pooled", 10.0, 20.0, Change.WORSE)


def test_a_difference_whose_interval_holds_zero_is_a_tie_and_too_few_cases_are_insufficient() -> None:
    noise = [3.0, -2.0, 4.0, -5.0, 1.0, -1.0, 2.0, -3.0, 5.0, -4.0, 6.0, -6.0]
    a = [case(f"i{n:02}", {"ttfs": 100.0 + n}) for n in range(12)]
    b = [case(f"i{n:02}", {"ttfs": 100.0 + n + noise[n]}) for n in range(12)]
    assert metric(compare_runs(run(a), run(b, header("run-b"))), "ttfs").change is Change.TIE
    assert metric(compare_runs(run(a[:9]), run(b[:9], header("run-b"))), "ttfs").change is Change.INSUFFICIENT


def test_higher_is_better_where_the_metric_says_so() -> None:
    a, b = ([case(f"i{n}", {"rtfx": speed}) for n in range(10)] for speed in (5.0, 9.0))
    assert metric(compare_runs(run(a), run(b, header("run-b"))), "rtfx").change is Change.BETTER
    assert metric(compare_runs(run(b), run(a, header("run-b"))), "rtfx").change is Change.WORSE


def test_success_rates_are_over_cases_that_ran_in_both_with_an_exact_test() -> None:
    a = [case(f"i{n}") for n in range(7)] + [case("f", failure=TIMEOUT), case("only-a", failure=TIMEOUT)]
    b = [case(f"i{n}", failure=LOST) for n in range(7)] + [case("f")]
    success = compare_runs(run(a), run(b, header("run-b"))).targets[0].success
    assert (success.a.value, success.b.value, success.a.n) == (7 / 8, 1 / 8, 8)
    assert (success.only_a_failed, success.only_b_failed) == (1, 7)
    assert success.p_value == pytest.approx(0.0703, abs=5e-5)


def test_buckets_stand_side_by_side_with_the_largest_first() -> None:
    a = [case(f"i{n}", failure=TIMEOUT) for n in range(3)] + [case("j", failure=LOST)]
    b = [case(f"i{n}", failure=LOST) for n in range(3)] + [case("j", failure=LOST)]
    buckets = compare_runs(run(a), run(b, header("run-b"))).buckets
    assert [(one.kind, one.a, one.b) for one in buckets] == [(LOST.kind, 1, 4), (TIMEOUT.kind, 3, 0)]


def test_two_targets_of_one_run_are_compared_by_item() -> None:
    rows = [
        case("one", {"ttfs": 100.0}),
        case("one", {"ttfs": 150.0}, key=OTHER),
        case("two", failure=TIMEOUT),
        case("two", failure=TIMEOUT, key=OTHER),
        case("three", failure=TIMEOUT),
        case("three", key=OTHER),
    ]
    made = run(rows, header(targets=[target(), target(OTHER, settings={"language": "en", "beam": 2})]))
    compared = compare_targets(made, "moonshine/tiny-en", OTHER)
    assert compared.mode is Mode.TARGETS
    assert (compared.a.name, compared.b.name) == (STT, OTHER)
    assert outcomes(compared) == {"one": Outcome.STILL_OK, "two": Outcome.SAME_FAILURE, "three": Outcome.FIXED}
    assert [one.key for one in compared.differences] == ["settings.beam"]
    assert metric(compared, "ttfs", "").figures[0].difference.value == 50.0


def test_targets_that_cannot_be_compared_are_refused() -> None:
    made = run([case("one")], header(targets=[target(), target("tts:piper/joe")]))
    with pytest.raises(UsageError, match="there is no target 'nobody'; the run has 'stt:moonshine/tiny-en'"):
        compare_targets(made, STT, "nobody")
    for pair in ((STT, "tts:piper/joe"), (STT, STT)):
        with pytest.raises(UsageError, match="name two targets of one benchmark"):
            compare_targets(made, *pair)


kinds = st.sampled_from(["ok", "timeout", "lost", "absent"])
plans = st.lists(st.tuples(kinds, kinds, st.floats(1, 1e4), st.floats(1, 1e4)), min_size=1, max_size=15)


def made_of(kind: str, item: str, value: float) -> list[Sequence[ResultRow]]:
    failures = {"timeout": TIMEOUT, "lost": LOST}
    if kind == "absent":
        return []
    return [
        case(item, failure=failures[kind])
        if kind in failures
        else case(item, {"ttfs": value}, errors=int(value) % 7)
    ]


@settings(max_examples=40, deadline=None)
@given(plans, st.randoms(use_true_random=False))
def test_swapping_the_runs_swaps_the_outcomes_and_negates_the_differences(
    plan: list[tuple[str, str, float, float]], random: Random
) -> None:
    a = [rows for n, (kind, _, value, _) in enumerate(plan) for rows in made_of(kind, f"i{n:02}", value)]
    b = [rows for n, (_, kind, _, value) in enumerate(plan) for rows in made_of(kind, f"i{n:02}", value)]
    random.shuffle(b)
    a.append(case("anchor"))
    b.append(case("anchor"))
    there = compare_runs(run(a), run(b, header("run-b")))
    back = compare_runs(run(b), run(a, header("run-b")))
    swapped = {Outcome.FIXED: Outcome.REGRESSED, Outcome.MISSING: Outcome.NEW}
    swapped |= {new: old for old, new in swapped.items()}
    assert {swapped.get(one, one): count for one, count in there.outcomes.items()} == back.outcomes
    assert [(one.fingerprint, one.a, one.b) for one in there.buckets] == [
        (one.fingerprint, one.b, one.a) for one in back.buckets
    ]
    assert there.targets[0].success.p_value == back.targets[0].success.p_value
    for forth, reverse in zip(there.targets[0].metrics, back.targets[0].metrics, strict=True):
        assert forth.n == reverse.n
        for one, other in zip(forth.figures, reverse.figures, strict=True):
            assert (one.a, one.b) == (other.b, other.a)
            assert negated(one.difference.value, other.difference.value)
            assert negated(one.difference.low, other.difference.high)


def negated(one: float | None, other: float | None) -> bool:
    return one == other is None or one == pytest.approx(-(other or 0.0), abs=1e-6)


@settings(max_examples=20, deadline=None)
@given(plans, st.randoms(use_true_random=False))
def test_the_order_of_the_rows_changes_nothing(plan: list[tuple[str, str, float, float]], random: Random) -> None:
    a = [rows for n, (kind, _, value, _) in enumerate(plan) for rows in made_of(kind, f"i{n:02}", value)]
    b = [rows for n, (_, kind, _, value) in enumerate(plan) for rows in made_of(kind, f"i{n:02}", value)]
    a.append(case("anchor"))
    b.append(case("anchor"))
    shuffled = list(itertools.chain.from_iterable(b))
    random.shuffle(shuffled)
    first = compare_runs(run(a), run(b, header("run-b")))
    second = compare_runs(run(a), run([shuffled], header("run-b")))
    assert first.targets == second.targets
    assert outcomes(first) == outcomes(second)
    assert compare_runs(run(a), run(b, header("run-b"))) == first
