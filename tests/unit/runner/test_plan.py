"""The plan: which cases, in which order."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sayagain.datasets import Dataset
from sayagain.errors import UsageError
from sayagain.records import Benchmark, Target
from sayagain.runner.plan import Plan, make_plan
from support.plans import dataset_of


def stt(count: int) -> Dataset:
    return dataset_of(count, Benchmark.STT)


def target(provider: str, model: str = "m", benchmark: Benchmark = Benchmark.STT) -> Target:
    return Target(benchmark=benchmark, provider=provider, model=model)


def ids(plan: Plan) -> list[str]:
    return [case.id for stage in plan.stages for case, _ in stage.cases()]


@given(items=st.integers(1, 12), targets=st.integers(1, 4), repeat=st.integers(1, 3), seed=st.integers(0, 10**6))
def test_every_target_meets_every_item_as_often_as_asked_and_no_case_comes_twice(
    items: int, targets: int, repeat: int, seed: int
) -> None:
    plan = make_plan([stt(items)], [target(f"p{n}") for n in range(targets)], seed=seed, repeat=repeat)
    assert plan.size == items * targets * repeat == len(set(ids(plan)))
    positions = [case.position for stage in plan.stages for case, _ in stage.cases()]
    assert positions == list(range(plan.size))


def test_the_order_is_item_major() -> None:
    plan = make_plan([stt(6)], [target("a"), target("b"), target("c")])
    items = [case.item.id for case, _ in plan.stages[0].cases()]
    groups = [items[start : start + 3] for start in range(0, 18, 3)]
    assert all(len(set(group)) == 1 for group in groups)
    assert len({group[0] for group in groups}) == 6


def test_the_same_seed_gives_the_same_plan_and_another_seed_another_order_of_the_same_cases() -> None:
    def plan(seed: int) -> Plan:
        return make_plan([stt(20)], [target("a"), target("b")], seed=seed)

    assert ids(plan(1)) == ids(plan(1))
    assert plan(1).digest() == plan(1).digest() != plan(2).digest()
    assert sorted(ids(plan(1))) == sorted(ids(plan(2)))


def test_the_ids_of_cases_do_not_depend_on_where_they_stand() -> None:
    small = make_plan([stt(3)], [target("a")])
    large = make_plan([stt(9)], [target("z"), target("a")], seed=5)
    assert set(ids(small)) < set(ids(large))


def test_a_providers_cases_are_a_subsequence_of_the_plan() -> None:
    plan = make_plan([stt(5)], [target("a"), target("b"), target("a", "other")])
    everything = [case.id for case, _ in plan.stages[0].cases() if case.target.provider == "a"]
    assert [case.id for case, _ in plan.stages[0].cases("a")] == everything


def test_each_benchmark_is_a_stage_of_its_own_and_positions_go_on() -> None:
    plan = make_plan(
        [stt(2), dataset_of(3, Benchmark.TTS, "t")], [target("a"), target("b", benchmark=Benchmark.TTS)]
    )
    assert [stage.benchmark for stage in plan.stages] == [Benchmark.STT, Benchmark.TTS]
    assert [case.position for case, _ in plan.stages[1].cases()] == [2, 3, 4]
    assert plan.kind == "both"
    assert {root for _, root in plan.stages[1].cases()} == {Path("data/t")}


def test_a_benchmark_without_targets_or_items_has_no_stage() -> None:
    assert make_plan([stt(2)], [target("a", benchmark=Benchmark.TTS)]).stages == ()
    assert make_plan([stt(0)], [target("a")]).stages == ()


def test_the_header_describes_datasets_and_targets_without_their_texts() -> None:
    plan = make_plan([stt(8)], [target("a")], size=3, seed=7)
    (info,) = plan.dataset_infos()
    assert (info.items_planned, info.sample, info.seed) == (3, 3, 7)
    (described,) = plan.target_infos()
    assert described.key == "stt:a/m"
    assert "text" not in repr(info)


def test_a_plan_of_more_cases_than_memory_is_for_is_refused_before_it_is_made() -> None:
    with pytest.raises(UsageError, match="--repeat"):
        make_plan([stt(3)], [target("a")], repeat=10**12)
