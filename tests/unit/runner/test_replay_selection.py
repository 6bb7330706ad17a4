"""Which cases of an artifact are replayed: failed ones, once, whole, narrowed, bounded."""

import hashlib
import itertools
from collections.abc import Iterator

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sayagain.errors import CorruptArtifactError, MismatchError, UsageError
from sayagain.failures import sanitized
from sayagain.records import Benchmark, Case, CaseCounts, Item, ResultRow, Target
from sayagain.runner.selection import (
    MOST_CASES,
    MOST_REPEATS,
    CaseName,
    Selector,
    cases_never_run,
    failed_cases,
    nothing_selected,
    with_repeats,
)
from support.parents import LOST, QUOTA, rows_of

STT = Target(benchmark=Benchmark.STT, provider="acme", model="fast")
TTS = Target(benchmark=Benchmark.TTS, provider="acme", model="loud", voice="joe")
EVERYTHING = Selector()


def made(target: Target, item: str, repeat: int = 0) -> Case:
    return Case.of(target, Item(id=item, text="some words", sha256="ab" * 32), repeat)


def name(case: Case) -> CaseName:
    return CaseName(case.target.key, case.item.id, case.item.digest, case.repeat)


HEARD, LATE, MUTE, WRONG = made(STT, "heard"), made(STT, "late"), made(TTS, "mute"), made(STT, "wrong")
ROWS = [
    *rows_of(HEARD),
    *rows_of(LATE, LOST),
    *rows_of(MUTE, QUOTA),
    *rows_of(WRONG, QUOTA, only="wer"),
]


def fingerprint(rows: list[ResultRow]) -> str:
    return next(row.failure.fingerprint or "" for row in rows if row.failure is not None)


def test_a_case_with_any_failed_row_is_selected_once_in_the_order_of_the_rows() -> None:
    assert failed_cases(ROWS, EVERYTHING, 1) == (name(LATE), name(MUTE), name(WRONG))


def test_a_poor_score_is_no_failure() -> None:
    awful = [msgspec.structs.replace(row, value=100.0) for row in rows_of(HEARD)]
    assert failed_cases(awful, EVERYTHING, 1) == ()


@pytest.mark.parametrize(
    ("selector", "wanted"),
    [
        (Selector(targets=frozenset({TTS.key})), [MUTE]),
        (Selector(items=frozenset({"late", "wrong", "heard"})), [LATE, WRONG]),
        (Selector(targets=frozenset({STT.key}), items=frozenset({"mute"})), []),
        (Selector(buckets=frozenset({fingerprint(rows_of(MUTE, QUOTA))})), [MUTE, WRONG]),
        (Selector(buckets=frozenset({fingerprint(rows_of(LATE, LOST))[:5]})), [LATE]),
        (Selector(buckets=frozenset({"no such bucket"})), []),
    ],
)
def test_a_selection_is_narrowed_by_target_item_and_bucket(selector: Selector, wanted: list[Case]) -> None:
    assert failed_cases(ROWS, selector, 1) == tuple(map(name, wanted))


def test_a_repeat_that_the_run_did_not_plan_is_a_sign_of_damage() -> None:
    for repeat in (-1, 1, 10**30):
        row = msgspec.structs.replace(ROWS[0], repeat=repeat)
        with pytest.raises(CorruptArtifactError, match="repeat"):
            failed_cases([row], EVERYTHING, 1)


def test_an_endless_artifact_is_not_held_in_memory() -> None:
    failure = sanitized(LOST, LOST.message, "acme")
    row = msgspec.structs.replace(rows_of(LATE, LOST)[0], failure=failure)

    def endless() -> Iterator[ResultRow]:
        for number in itertools.count():
            yield msgspec.structs.replace(row, item_id=f"item-{number}")

    with pytest.raises(UsageError, match=f"More than {MOST_CASES:,} cases.*narrow"):
        failed_cases(endless(), EVERYTHING, 1)


def plan_of(cases: list[Case]) -> str:
    return hashlib.sha256("".join(case.id for case in cases).encode()).hexdigest()


def test_cases_without_a_row_never_ran_and_are_named_from_the_plan() -> None:
    planned = [LATE, made(STT, "skipped"), MUTE, made(TTS, "unsaid")]
    never = cases_never_run(planned, plan_of(planned), ROWS, EVERYTHING)
    assert never == (name(planned[1]), name(planned[3]))
    of_tts = cases_never_run(planned, plan_of(planned), ROWS, Selector(targets=frozenset({TTS.key})))
    assert of_tts == (name(planned[3]),)


def test_no_case_is_named_from_a_plan_that_is_not_the_run_s() -> None:
    planned = [LATE, made(STT, "skipped")]
    with pytest.raises(MismatchError, match="do not make the plan"):
        cases_never_run(planned, plan_of([LATE]), ROWS, EVERYTHING)


CASES = st.lists(
    st.builds(CaseName, st.sampled_from("ab"), st.sampled_from("xyz"), st.just("d"), st.integers(0, 4)),
    unique=True,
    max_size=20,
)


@given(CASES, st.integers(1, 5), st.integers(5, 9))
def test_no_two_repeats_of_a_replay_are_the_same_case(names: list[CaseName], repeat: int, free: int) -> None:
    repeated = with_repeats(names, repeat, free)
    assert len(set(repeated)) == len(repeated) == len(names) * repeat
    assert list(repeated[: len(names)]) == names


def test_repeats_are_run_in_rounds_and_not_in_bursts() -> None:
    rounds = with_repeats([name(LATE), name(MUTE)], 2, 3)
    assert [(one.item_id, one.repeat) for one in rounds] == [("late", 0), ("mute", 0), ("late", 3), ("mute", 3)]


def test_a_billion_repeats_are_refused_before_any_is_made() -> None:
    with pytest.raises(UsageError, match="More than"):
        with_repeats([name(LATE)], 10**9, 1)
    with pytest.raises(UsageError, match="no numbers"):
        with_repeats([name(LATE)], 2, MOST_REPEATS)


@pytest.mark.parametrize(
    ("selector", "failed", "not_run", "include", "says"),
    [
        (EVERYTHING, 0, 0, False, "no case of this artifact failed."),
        (EVERYTHING, 0, 4, False, "4 never ran: --include not-run takes them"),
        (EVERYTHING, 0, 0, True, "failed or never ran"),
        (Selector(items=frozenset({"x", "y"})), 3, 0, False, "3 cases failed and none matches item x or y"),
        (Selector(buckets=frozenset({"\x1b[2J[red]"})), 3, 1, True, "4 cases failed or never ran"),
    ],
)
def test_why_there_is_nothing_to_replay_is_said(
    selector: Selector, failed: int, not_run: int, include: bool, says: str
) -> None:
    counts = CaseCounts(planned=9, succeeded=9 - failed - not_run, failed=failed, not_run=not_run)
    error = nothing_selected(selector, counts, include)
    assert says in str(error)
    assert str(error).isprintable()
    assert error.exit_code == 2
