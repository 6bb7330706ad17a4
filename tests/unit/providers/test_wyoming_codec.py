"""The Wyoming codec, fed with frames."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from wyoming.asr import Transcribe, Transcript, TranscriptChunk, TranscriptStop
from wyoming.audio import AudioChunk as WireChunk
from wyoming.audio import AudioStart, AudioStop
from wyoming.error import Error
from wyoming.event import Event
from wyoming.tts import Synthesize

from sayagain.providers.codec import AudioBegins, AudioChunk, Done, Final, Partial, Refused
from sayagain.providers.wyoming import WyomingSttCodec, WyomingTtsCodec
from sayagain.records import AudioFormat, Benchmark, FailureKind, Item, Target

ITEM = Item(id="one", text="ten of clubs", sha256="0" * 64)
STT = Target(benchmark=Benchmark.STT, provider="p", model="m", settings={"language": "en", "model": "tiny"})
TTS = Target(benchmark=Benchmark.TTS, provider="p", model="m", settings={"voice": "joe"})


def stt() -> WyomingSttCodec:
    return WyomingSttCodec(STT, ITEM)


def tts() -> WyomingTtsCodec:
    return WyomingTtsCodec(TTS, ITEM)


def test_it_opens_with_the_model_the_language_and_the_audio_format() -> None:
    first, second = stt().opening()
    assert Transcribe.from_event(first).name == "tiny"
    assert Transcribe.from_event(first).language == "en"
    assert AudioStart.from_event(second) == AudioStart(rate=16000, width=2, channels=1)


@given(st.binary(max_size=4000))
def test_audio_travels_as_the_payload_unchanged(pcm: bytes) -> None:
    (event,) = stt().audio(pcm)
    assert WireChunk.from_event(event).audio == pcm


def test_the_end_is_an_audio_stop() -> None:
    (event,) = stt().end()
    assert AudioStop.is_type(event.type)


def test_chunks_add_up_to_a_partial_and_the_transcript_is_the_final() -> None:
    codec = stt()
    assert tuple(codec.receive(TranscriptChunk(text="ten ").event())) == (Partial("ten "),)
    assert tuple(codec.receive(TranscriptChunk(text="of").event())) == (Partial("ten of"),)
    assert tuple(codec.receive(Transcript(text="ten of clubs").event())) == (Final("ten of clubs"), Done())


def test_a_partial_replaces_the_one_before() -> None:
    codec = stt()
    codec.receive(Event("transcript-partial", {"text": "tent"}))
    assert tuple(codec.receive(Event("transcript-partial", {"text": "ten of"}))) == (Partial("ten of"),)


def test_a_stream_that_stops_without_a_transcript_is_done_without_a_final() -> None:
    assert tuple(stt().receive(TranscriptStop().event())) == (Done(),)


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        ("audio-format", FailureKind.AUDIO_FORMAT),
        ("bad-request", FailureKind.BAD_REQUEST),
        ("boom", FailureKind.SERVER_ERROR),
        (None, FailureKind.SERVER_ERROR),
    ],
)
def test_an_error_is_refused_with_the_kind_of_its_code(code: str | None, kind: FailureKind) -> None:
    for codec in (stt(), tts()):
        assert tuple(codec.receive(Error(text="no", code=code).event())) == (Refused(kind, "no", code=code),)


def test_somebody_elses_extension_means_nothing() -> None:
    assert tuple(stt().receive(Event("ping", {"text": "x"}))) == ()
    assert tuple(tts().receive(Event("ping", {"text": "x"}))) == ()


def test_a_text_is_sent_whole_with_its_voice() -> None:
    (event,) = tts().text("Hello there.")
    request = Synthesize.from_event(event)
    assert request.text == "Hello there."
    assert request.voice is not None
    assert request.voice.name == "joe"


def test_audio_comes_with_its_format_and_ends_with_the_stop() -> None:
    codec = tts()
    layout = AudioFormat(rate=22050)
    assert tuple(codec.receive(AudioStart(rate=22050, width=2, channels=1).event())) == (AudioBegins(layout),)
    chunk = WireChunk(rate=22050, width=2, channels=1, audio=b"\1\2\3").event()
    assert tuple(codec.receive(chunk)) == (AudioBegins(layout), AudioChunk(b"\1\2\3"))
    assert tuple(codec.receive(AudioStop().event())) == (Done(),)


JSON = st.recursive(
    st.none() | st.booleans() | st.floats() | st.text(max_size=5) | st.integers(),
    st.lists,
    max_leaves=5,
)
TYPES = st.sampled_from(
    [
        "transcript",
        "transcript-chunk",
        "transcript-partial",
        "transcript-stop",
        "audio-start",
        "audio-chunk",
        "error",
    ]
)


@given(TYPES, st.dictionaries(st.sampled_from(["text", "rate", "width", "channels", "code"]), JSON))
def test_a_frame_of_any_content_is_understood_or_refused_never_anything_else(
    kind: str, data: dict[str, object]
) -> None:
    for codec in (stt(), tts()):
        try:
            signals = list(codec.receive(Event(kind, data)))
        except (ValueError, KeyError, TypeError):
            continue
        for signal in signals:
            if isinstance(signal, Partial | Final):
                assert isinstance(signal.text, str)
            if isinstance(signal, AudioBegins):
                assert signal.format.rate > 0
