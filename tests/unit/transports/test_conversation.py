"""The two conversations, against a scripted channel."""

import asyncio
from collections.abc import Iterable, Iterator

import pytest

from sayagain.failures import CaseFailedError
from sayagain.providers.codec import (
    AudioBegins,
    AudioChunk,
    Done,
    Final,
    Partial,
    Refused,
    Signal,
    SttCodec,
    TtsCodec,
)
from sayagain.records import (
    AudioFormat,
    Benchmark,
    EventKind,
    FailureKind,
    Item,
    Limits,
    Phase,
    Target,
    Trace,
)
from sayagain.transports.base import Channel
from sayagain.transports.conversation import synthesize, transcribe
from sayagain.transports.pacing import now_ns
from sayagain.transports.sending import chunks
from sayagain.transports.tracing import Tracer

ITEM = Item(id="one", text="the reference", sha256="0" * 64)
LIMITS = Limits(idle_timeout_s=0.2, final_timeout_s=0.2)
PCM = bytes(3200)
LAYOUT = AudioFormat(rate=16_000)

Frame = str | Signal


class Stt(SttCodec[Frame]):
    version = "test/1"

    def opening(self) -> Iterator[Frame]:
        yield "open"

    def audio(self, pcm: bytes) -> Iterator[Frame]:
        yield f"audio {len(pcm)}"

    def end(self) -> Iterator[Frame]:
        yield "end"

    def receive(self, frame: Frame) -> Iterable[Signal]:
        if isinstance(frame, str):
            raise KeyError(frame)
        return (frame,)


class Tts(TtsCodec[Frame]):
    version = "test/1"

    def text(self, text: str) -> Iterator[Frame]:
        yield "text"

    def receive(self, frame: Frame) -> Iterable[Signal]:
        if isinstance(frame, str):
            raise KeyError(frame)
        return (frame,)


class Scripted(Channel[Frame]):
    """Answers a sent frame by what the script has under its name; None closes."""

    def __init__(self, script: dict[str, list[Frame | None]]) -> None:
        self.script = script
        self.sent: list[str] = []
        self.arrivals: asyncio.Queue[Frame | None] = asyncio.Queue()

    async def send(self, frame: Frame) -> None:
        assert isinstance(frame, str)
        self.sent.append(frame)
        for answer in self.script.pop(frame.split()[0], []):
            self.arrivals.put_nowait(answer)

    async def receive(self) -> tuple[int, Frame] | None:
        frame = await self.arrivals.get()
        return None if frame is None else (now_ns(), frame)

    async def close(self) -> None:
        pass


class Broken(Scripted):
    """Takes two chunks of audio, then the connection is gone for sending."""

    async def send(self, frame: Frame) -> None:
        if len(self.sent) == 3:
            raise ConnectionResetError(104, "reset")
        await super().send(frame)


class Deaf(Scripted):
    """Takes nothing off the connection."""

    async def send(self, frame: Frame) -> None:
        await asyncio.Event().wait()


async def hear(channel: Channel[Frame], pcm: bytes = PCM) -> Trace:
    target = Target(benchmark=Benchmark.STT, provider="p", model="m")
    tracer = Tracer()
    await transcribe(channel, Stt(target, ITEM), pcm, 0.02, tracer, LIMITS)
    return tracer.freeze(0.0)


async def speak(channel: Channel[Frame]) -> Trace:
    target = Target(benchmark=Benchmark.TTS, provider="p", model="m")
    tracer = Tracer()
    await synthesize(channel, Tts(target, ITEM), ITEM.text, tracer, LIMITS)
    return tracer.freeze(0.0)


async def test_a_transcript_is_heard_and_every_step_is_in_the_trace() -> None:
    channel = Scripted({"audio": [Partial("ten")], "end": [Final("ten of"), Final("clubs"), Done()]})
    trace = await hear(channel)
    assert trace.transcript == "ten of clubs"
    assert channel.sent == ["open", *["audio 640"] * 5, "end"]
    kinds = [event.kind for event in trace.events]
    assert kinds[0] is EventKind.STREAM_STARTED
    assert kinds.count(EventKind.AUDIO_SENT) == 5
    assert kinds.index(EventKind.PARTIAL) < kinds.index(EventKind.END_SENT)
    assert kinds[-1] is EventKind.DONE


async def test_a_chunk_leaves_when_a_microphone_would_have_finished_recording_it() -> None:
    trace = await hear(Scripted({"end": [Final("x"), Done()]}))
    started = trace.events[0].t_ns
    sent = [event.t_ns - started for event in trace.events if event.kind is EventKind.AUDIO_SENT]
    for number, elapsed in enumerate(sent, start=1):
        assert elapsed >= number * 20_000_000


async def test_a_final_that_repeats_a_segment_is_heard_once_and_equal_texts_are_not_confused() -> None:
    channel = Scripted({"end": [Final("five", "a"), Final("five", "a"), Final("five", "b"), Done()]})
    assert (await hear(channel)).transcript == "five five"


@pytest.mark.parametrize(
    ("script", "kind", "phase"),
    [
        ({"end": [None]}, FailureKind.CONNECTION_LOST, Phase.FINISH),
        ({"audio": [None]}, FailureKind.CONNECTION_LOST, Phase.SEND),
        ({"end": []}, FailureKind.FINAL_TIMEOUT, Phase.FINISH),
        ({"audio": [Partial("ten")], "end": []}, FailureKind.FINAL_TIMEOUT, Phase.FINISH),
        ({"end": [Done()]}, FailureKind.EMPTY, Phase.FINISH),
        ({"end": [Final("  "), Done()]}, FailureKind.EMPTY, Phase.FINISH),
        ({"audio": [Partial("ten")], "end": [Done()]}, FailureKind.PROTOCOL, Phase.FINISH),
        ({"end": ["nonsense"]}, FailureKind.PROTOCOL, Phase.FINISH),
        ({"audio": [Refused(FailureKind.AUTH, "no", "401")]}, FailureKind.AUTH, Phase.SEND),
    ],
)
async def test_what_goes_wrong_while_listening_has_a_kind_and_a_phase(
    script: dict[str, list[Frame | None]], kind: FailureKind, phase: Phase
) -> None:
    with pytest.raises(CaseFailedError) as caught:
        await hear(Scripted(script))
    assert (caught.value.failure.kind, caught.value.failure.phase) == (kind, phase)


async def test_a_provider_that_stops_listening_is_given_time_to_say_why() -> None:
    with pytest.raises(CaseFailedError) as caught:
        await hear(Broken({"audio": [Partial("x"), Refused(FailureKind.QUOTA, "no money", "402")]}))
    assert caught.value.failure.kind is FailureKind.QUOTA


async def test_a_connection_lost_while_sending_is_raised_when_nobody_says_why() -> None:
    with pytest.raises(ConnectionResetError):
        await hear(Broken({}))


async def test_a_provider_that_takes_nothing_off_the_connection_is_an_idle_timeout() -> None:
    with pytest.raises(CaseFailedError) as caught:
        await hear(Deaf({}))
    assert (caught.value.failure.kind, caught.value.failure.phase) == (FailureKind.IDLE_TIMEOUT, Phase.SEND)


async def test_speech_is_collected_byte_for_byte_across_odd_chunks() -> None:
    channel = Scripted({"text": [AudioBegins(LAYOUT), AudioChunk(b"\1\2\3"), AudioChunk(b"\4"), Done()]})
    trace = await speak(channel)
    assert trace.audio == b"\1\2\3\4"
    assert trace.audio_format == LAYOUT
    assert [event.size for event in trace.events if event.kind is EventKind.AUDIO_RECEIVED] == [3, 1]


@pytest.mark.parametrize(
    ("script", "kind"),
    [
        ({"text": []}, FailureKind.IDLE_TIMEOUT),
        ({"text": [AudioBegins(LAYOUT), AudioChunk(b"ab")]}, FailureKind.IDLE_TIMEOUT),
        ({"text": [AudioBegins(LAYOUT), AudioChunk(b"ab"), None]}, FailureKind.CONNECTION_LOST),
        ({"text": [AudioBegins(LAYOUT), Done()]}, FailureKind.EMPTY),
        ({"text": [AudioChunk(b"ab"), Done()]}, FailureKind.PROTOCOL),
        ({"text": [AudioBegins(AudioFormat(rate=0)), Done()]}, FailureKind.PROTOCOL),
        ({"text": [AudioBegins(LAYOUT), AudioBegins(AudioFormat(rate=8000))]}, FailureKind.PROTOCOL),
    ],
)
async def test_what_goes_wrong_while_speaking_has_a_kind(
    script: dict[str, list[Frame | None]], kind: FailureKind
) -> None:
    with pytest.raises(CaseFailedError) as caught:
        await speak(Scripted(script))
    assert caught.value.failure.kind is kind
    assert caught.value.failure.message


def test_chunks_cover_the_audio_exactly_and_end_where_it_ends() -> None:
    pieces = list(chunks(bytes(1000), LAYOUT, 0.02))
    assert b"".join(piece for _, piece in pieces) == bytes(1000)
    assert [end for end, _ in pieces] == [0.02, 1000 / 32000]
