"""Deepgram's codecs, fed with frames as its SDK defines them."""

import json
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from sayagain.providers.access import Access, Closed
from sayagain.providers.codec import AudioBegins, AudioChunk, Done, Final, Partial, Refused
from sayagain.providers.deepgram import DeepgramFluxStt, DeepgramStt, DeepgramTts
from sayagain.records import AudioFormat, Benchmark, FailureKind, Item, Setting, Target

ITEM = Item(id="one", text="ten of clubs", sha256="0" * 64)
ACCESS = Access("http://host.example/base", {"DEEPGRAM_API_KEY": "k"})


def target(benchmark: Benchmark = Benchmark.STT, **settings: Setting) -> Target:
    return Target(benchmark=benchmark, provider="deepgram", model="m", settings=settings)


def turn(event: str, text: str, until: float, index: int = 0) -> str:
    return json.dumps(
        {"type": "TurnInfo", "event": event, "turn_index": index, "transcript": text, "audio_window_end": until}
    )


def results(text: str, **more: Any) -> str:
    return json.dumps({"type": "Results", "channel": {"alternatives": [{"transcript": text}]}, **more})


def test_the_url_carries_what_the_settings_say_and_the_key_is_in_a_header() -> None:
    request = DeepgramStt(
        target(model="nova-3", language="en", interim_results=True, endpointing=10), ITEM, ACCESS
    ).open()
    parts = urlsplit(request.url)
    assert (parts.scheme, parts.path) == ("ws", "/base/v1/listen")
    assert parse_qs(parts.query) == {
        "model": ["nova-3"],
        "language": ["en"],
        "interim_results": ["true"],
        "endpointing": ["10"],
    }
    assert request.headers == {"Authorization": "Token k"}


def test_finals_partials_and_the_end_are_told_apart() -> None:
    codec = DeepgramStt(target(model="nova-3"), ITEM, ACCESS)
    assert list(codec.receive(results("ten"))) == [Partial("ten")]
    assert list(codec.receive(results(""))) == []
    assert list(codec.receive(results("ten of clubs", is_final=True))) == [Final("ten of clubs")]
    assert list(codec.receive('{"type": "SpeechStarted"}')) == []
    assert list(codec.receive('{"type": "Metadata"}')) == [Done()]
    assert list(codec.receive(Closed(1000))) == []


def test_a_stretch_of_the_recording_has_one_segment_however_often_it_is_repeated() -> None:
    codec = DeepgramStt(target(model="nova-3"), ITEM, ACCESS)
    frames = [results("ten", is_final=True, start=0.5, duration=1.0)] * 2
    first, again = (signal for frame in frames for signal in codec.receive(frame))
    assert first == again == Final("ten", "1.0 s from 0.5 s")
    (later,) = codec.receive(results("ten", is_final=True, start=1.5, duration=1.0))
    (empty,) = codec.receive(results("", is_final=True, start=2.5, duration=0))
    assert later != first
    assert empty == Final("")


def test_a_result_without_metadata_names_no_model() -> None:
    codec = DeepgramStt(target(model="nova-3"), ITEM, ACCESS)
    assert list(codec.receive(results("ten", is_final=True, metadata=None))) == [Final("ten")]


def test_a_result_without_a_text_makes_no_sense() -> None:
    codec = DeepgramStt(target(model="nova-3"), ITEM, ACCESS)
    frame = json.dumps({"type": "Results", "is_final": True, "channel": {"alternatives": [{"transcript": None}]}})
    with pytest.raises(TypeError):
        list(codec.receive(frame))


@pytest.mark.parametrize(
    ("asked", "arch", "mismatch"),
    [("nova-3", "nova-3", False), ("nova-3-medical", "nova-3", False), ("nova-3", "nova-2", True)],
)
def test_another_architecture_than_asked_for_is_a_mismatch(asked: str, arch: str, mismatch: bool) -> None:
    codec = DeepgramStt(target(model=asked), ITEM, ACCESS)
    signals = list(codec.receive(results("x", metadata={"model_info": {"arch": arch}})))
    assert isinstance(signals[0], Refused) is mismatch


def test_flux_is_done_when_the_turn_that_holds_the_last_of_the_audio_has_ended() -> None:
    codec = DeepgramFluxStt(target(sample_rate=16000), ITEM, ACCESS)
    list(codec.audio(bytes(32_000)))
    assert list(codec.receive(turn("EndOfTurn", "ten", 0.5))) == [Final("ten", "turn 0")]
    assert list(codec.receive(turn("StartOfTurn", "of", 0.8, 1))) == [Partial("of")]
    assert list(codec.end()) == []
    list(codec.audio(bytes(32_000)))
    assert list(codec.receive(turn("Update", "of clubs", 1.9, 1))) == [Partial("of clubs")]
    assert list(codec.receive(turn("EndOfTurn", "of clubs", 2.0, 1))) == [Final("of clubs", "turn 1"), Done()]


def test_flux_is_done_after_a_second_of_silence_in_which_no_turn_began() -> None:
    codec = DeepgramFluxStt(target(sample_rate=16000), ITEM, ACCESS)
    list(codec.audio(bytes(32_000)))
    list(codec.receive(turn("EndOfTurn", "ten", 0.5)))
    list(codec.end())
    assert list(codec.receive(turn("Update", "", 1.5, 1))) == []
    assert list(codec.receive(turn("Update", "", 2.0, 1))) == [Done()]


def test_flux_names_its_errors() -> None:
    codec = DeepgramFluxStt(target(), ITEM, ACCESS)
    (refused,) = codec.receive('{"type": "Error", "code": "INTERNAL_SERVER_ERROR", "description": "oops"}')
    assert refused == Refused(FailureKind.SERVER_ERROR, "oops", "INTERNAL_SERVER_ERROR")


def test_speech_is_announced_and_ends_when_all_of_it_was_flushed() -> None:
    codec = DeepgramTts(target(Benchmark.TTS, model="aura-2-thalia-en", sample_rate=24000), ITEM, ACCESS)
    assert [json.loads(str(frame))["type"] for frame in codec.text("hello")] == ["Speak", "Flush"]
    assert list(codec.receive('{"type": "Metadata", "model_name": "aura-2-thalia-en"}')) == []
    assert list(codec.receive(b"abc")) == [AudioBegins(AudioFormat(rate=24_000)), AudioChunk(b"ab")]
    assert list(codec.receive(b"d")) == [AudioBegins(AudioFormat(rate=24_000)), AudioChunk(b"cd")]
    assert list(codec.receive('{"type": "Flushed", "sequence_id": 0}')) == [Done()]
