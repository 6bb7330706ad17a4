"""Delays, faults and errors are drawn from a seed: within their bounds, and always the same."""

import asyncio
from random import Random
from statistics import median

from hypothesis import given
from hypothesis import strategies as st

from sayagain.simulator import faults
from sayagain.simulator.delays import Alarm, Constant, Lognormal, Uniform, draw
from sayagain.simulator.plan import Plan
from sayagain.simulator.scenario import scenario
from sayagain.simulator.texts import WORDS, Ear, Shelf, garbled

TEXTS = st.lists(st.text(st.characters(categories=["L"]), min_size=1), min_size=1, max_size=40).map(" ".join)


@given(st.floats(0, 1000), st.floats(0, 1000), st.integers())
def test_a_uniform_delay_stays_between_its_bounds(one: float, other: float, seed: int) -> None:
    low, high = sorted((one, other))
    assert low / 1000 <= draw(Uniform(low, high), Random(seed)) <= high / 1000


def test_half_of_lognormal_delays_are_below_the_median_and_none_above_the_cap() -> None:
    random = Random(1)
    drawn = [draw(Lognormal(200, 0.5, 500), random) for _ in range(4000)]
    assert abs(median(drawn) - 0.2) < 0.01
    assert max(drawn) == 0.5


def test_a_constant_delay_can_be_a_bare_number() -> None:
    assert draw(12.5, Random(0)) == draw(Constant(12.5), Random(0)) == 0.0125


def test_a_plan_is_the_same_whenever_it_is_made() -> None:
    values = {
        "seed": 5,
        "endpoints": {"stt-soniox": {"faults": [{"kind": "no_final", "probability": 0.5}]}},
    }
    endpoint = scenario(values).endpoints["stt-soniox"]
    struck = [Plan(scenario(values), endpoint, ordinal).fault is not None for ordinal in range(200)]
    assert struck == [Plan(scenario(values), endpoint, ordinal).fault is not None for ordinal in range(200)]
    assert 60 < sum(struck) < 140
    other = [Plan(scenario(values | {"seed": 6}), endpoint, ordinal).fault is not None for ordinal in range(200)]
    assert struck != other


def test_the_first_rule_that_strikes_wins() -> None:
    rules = (faults.NoFinal(cases=(1,)), faults.EmptyFinal())
    assert [type(faults.chosen(rules, ordinal, "s")) for ordinal in (0, 1)] == [faults.EmptyFinal, faults.NoFinal]


@given(TEXTS, st.text())
def test_without_errors_a_text_stays_as_it_is(text: str, seed: str) -> None:
    assert garbled(text, 0, seed).text == text


@given(TEXTS, st.floats(0, 1), st.text())
def test_errors_account_for_every_change_of_length_and_leave_a_word(text: str, rate: float, seed: str) -> None:
    made = garbled(text, rate, seed)
    assert made == garbled(text, rate, seed)
    assert len(made.text.split()) == len(text.split()) + made.insertions - made.deletions
    assert made.text
    known = set(text.split()) | set(WORDS)
    assert set(made.text.split()) <= known


def test_about_the_stated_share_of_words_is_hit() -> None:
    made = garbled(" ".join(["word"] * 5000), 0.2, "seed")
    assert abs((made.substitutions + made.deletions + made.insertions) / 5000 - 0.2) < 0.02


@given(
    st.dictionaries(st.text(min_size=1), st.tuples(st.integers(0, 255), st.integers(1, 9000)), max_size=4),
    st.integers(1, 5000),
)
def test_a_known_recording_is_recognised_however_it_is_cut(
    recordings: dict[str, tuple[int, int]], size: int
) -> None:
    unique = {bytes([value]) * length: text for text, (value, length) in recordings.items()}
    shelf = Shelf.of((text, pcm) for pcm, text in unique.items())
    for pcm, text in unique.items():
        ear = Ear(shelf)
        for start in range(0, len(pcm), size):
            ear.hear(pcm[start : start + size])
        known = ear.utterance()
        assert known is not None
        assert known.text == text
        assert ear.complete


def test_recordings_that_begin_alike_are_told_apart_and_known_before_they_end() -> None:
    silence = bytes(20_000)
    shelf = Shelf.of([("a", silence + b"a" * 60_000), ("b", silence + b"b" * 60_000)])
    ear = Ear(shelf)
    ear.hear(silence)
    assert ear.utterance() is None
    ear.hear(b"b" * 20_000)
    known = ear.utterance()
    assert known is not None
    assert known.text == "b"
    assert not ear.complete


async def test_an_alarm_that_rang_before_anyone_waited_is_heard_once() -> None:
    alarm = Alarm()
    alarm.ring()
    assert await alarm.until(None)
    assert not await alarm.until(asyncio.get_running_loop().time())


async def test_an_alarm_cuts_a_wait_short() -> None:
    alarm = Alarm()
    waiting = asyncio.create_task(alarm.until(asyncio.get_running_loop().time() + 3600))
    await asyncio.sleep(0)
    alarm.ring()
    assert await waiting


async def test_an_alarm_does_not_end_before_its_deadline() -> None:
    loop = asyncio.get_running_loop()
    deadline = loop.time() + 0.02
    assert not await Alarm().until(deadline)
    assert loop.time() >= deadline
