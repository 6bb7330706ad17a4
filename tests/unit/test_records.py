"""The nouns: ids are digests of content, and records survive their codec."""

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from sayagain.records import Benchmark, Case, Event, EventKind, Item, SpeechSpan, Target, content_digest

TEXT = st.text(max_size=20)
SETTINGS = st.dictionaries(TEXT, st.none() | st.booleans() | st.integers(-(2**53), 2**53) | TEXT, max_size=5)


def item(**changes: object) -> Item:
    values: dict[str, object] = {"id": "one", "text": "ten of clubs", "sha256": "a" * 64}
    return Item(**(values | changes))  # type: ignore[arg-type]


def target(**changes: object) -> Target:
    values: dict[str, object] = {"benchmark": Benchmark.STT, "provider": "p", "model": "m", "settings": {"x": 1}}
    return Target(**(values | changes))  # type: ignore[arg-type]


@given(SETTINGS)
def test_the_digest_of_settings_does_not_depend_on_their_order(settings: dict[str, object]) -> None:
    backwards = dict(reversed(settings.items()))
    assert target(settings=settings).settings_digest == target(settings=backwards).settings_digest


@given(SETTINGS, SETTINGS)
def test_different_settings_have_different_digests(one: dict[str, object], other: dict[str, object]) -> None:
    same = msgspec.json.encode(one, order="deterministic") == msgspec.json.encode(other, order="deterministic")
    assert (content_digest(one) == content_digest(other)) is same


def test_a_case_is_the_same_case_wherever_it_stands() -> None:
    assert Case.of(target(), item(), 0, position=3).id == Case.of(target(), item(), 0, position=99).id


def test_everything_that_can_change_a_result_changes_the_id_of_its_case() -> None:
    ids = {
        Case.of(target(), item()).id,
        Case.of(target(), item(), repeat=1).id,
        Case.of(target(model="other"), item()).id,
        Case.of(target(voice="v"), item()).id,
        Case.of(target(settings={"x": 2}), item()).id,
        Case.of(target(benchmark=Benchmark.TTS), item()).id,
        Case.of(target(), item(id="two")).id,
        Case.of(target(), item(text="ten of spades")).id,
        Case.of(target(), item(sha256="b" * 64)).id,
        Case.of(target(), item(language="de")).id,
        Case.of(target(), item(speech=SpeechSpan(start_s=0.1, end_s=1.0, vad="v"))).id,
    }
    assert len(ids) == 11


def test_what_cannot_change_a_result_does_not_change_the_id() -> None:
    described = item(speaker="s", tags=("t",), reference_origin="somebody", audio="elsewhere.wav")
    assert Case.of(target(), described).id == Case.of(target(adapter="a/2"), item()).id


def test_the_key_of_a_target_names_no_host_and_no_setting() -> None:
    assert target(voice="v", settings={"url": "h"}).key == "stt:p/m/v"
    assert target().key == "stt:p/m"


@given(st.integers(0, 2**62), st.sampled_from(EventKind), st.none() | TEXT, st.none() | st.integers(0, 10**9))
def test_an_event_survives_its_codec(t_ns: int, kind: EventKind, text: str | None, size: int | None) -> None:
    event = Event(t_ns, kind, text, size)
    assert msgspec.json.decode(msgspec.json.encode(event), type=Event) == event
    assert msgspec.msgpack.decode(msgspec.msgpack.encode(event), type=Event) == event
