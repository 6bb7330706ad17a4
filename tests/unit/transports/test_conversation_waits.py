"""Conversations that wait for the provider, go on in silence after the audio, or need keepalives."""

import asyncio
from collections.abc import Callable, Iterable, Iterator

import pytest

from sayagain.failures import CaseFailedError
from sayagain.providers.codec import Done, Final, Ready, Signal, SttCodec
from sayagain.records import Benchmark, EventKind, FailureKind, Item, Limits, Phase, Target
from sayagain.transports.base import Channel
from sayagain.transports.conversation import transcribe
from sayagain.transports.tracing import Tracer

Frame = str | Signal

LIMITS = Limits(idle_timeout_s=0.2, final_timeout_s=0.3)
PCM = b"\1" * 1280


class Stt(SttCodec[Frame]):
    version = "test/1"

    def opening(self) -> Iterator[Frame]:
        yield "open"

    def audio(self, pcm: bytes) -> Iterator[Frame]:
        yield "audio" if any(pcm) else "silence"

    def end(self) -> Iterator[Frame]:
        yield "end"

    def keepalive(self) -> Iterator[Frame]:
        yield "alive"

    def receive(self, frame: Frame) -> Iterable[Signal]:
        assert not isinstance(frame, str)
        return (frame,)


class Polite(Stt):
    awaits_ready = True


class Patient(Polite):
    keepalive_s = 0.02


class Lingering(Stt):
    silence_after_end = True


class Answering(Channel[Frame]):
    """Gives what `answer` says to each frame; remembers every frame in order."""

    def __init__(self, answer: Callable[[list[str]], list[Signal]]) -> None:
        self.answer = answer
        self.sent: list[str] = []
        self.arrivals: asyncio.Queue[Signal] = asyncio.Queue()

    async def send(self, frame: Frame) -> None:
        assert isinstance(frame, str)
        self.sent.append(frame)
        for signal in self.answer(self.sent):
            self.arrivals.put_nowait(signal)

    async def receive(self) -> tuple[int, Frame] | None:
        return self.sent_at(), await self.arrivals.get()

    async def close(self) -> None:
        pass


async def hear(channel: Answering, codec: type[Stt]) -> Tracer:
    tracer = Tracer()
    target = Target(benchmark=Benchmark.STT, provider="p", model="m")
    await transcribe(channel, codec(target, Item(id="one", text="x", sha256="0" * 64)), PCM, 0.02, tracer, LIMITS)
    return tracer


async def test_a_provider_that_never_gets_ready_is_an_idle_timeout_of_the_opening() -> None:
    with pytest.raises(CaseFailedError) as caught:
        await hear(Answering(lambda sent: []), Polite)
    assert (caught.value.failure.kind, caught.value.failure.phase) == (FailureKind.IDLE_TIMEOUT, Phase.OPEN)


async def test_no_audio_leaves_before_the_provider_is_ready_and_meanwhile_the_connection_is_kept_alive() -> None:
    def answer(sent: list[str]) -> list[Signal]:
        if sent.count("alive") == 3 and sent[-1] == "alive":
            return [Ready()]
        return [Final("ten"), Done()] if sent[-1] == "end" else []

    channel = Answering(answer)
    await hear(channel, Patient)
    assert channel.sent[:4] == ["open", "alive", "alive", "alive"]
    assert [frame for frame in channel.sent if frame != "alive"] == ["open", "audio", "audio", "end"]


async def test_silence_follows_the_audio_until_the_provider_is_done() -> None:
    def answer(sent: list[str]) -> list[Signal]:
        return [Final("ten"), Done()] if sent.count("silence") == 3 and sent[-1] == "silence" else []

    channel = Answering(answer)
    tracer = await hear(channel, Lingering)
    assert channel.sent == ["open", "audio", "audio", "end", "silence", "silence", "silence"]
    kinds = [event.kind for event in tracer.freeze(0.0).events]
    assert kinds.count(EventKind.AUDIO_SENT) == 2
    assert kinds.count(EventKind.END_SENT) == 1


async def test_silence_does_not_go_on_beyond_the_final_timeout() -> None:
    with pytest.raises(CaseFailedError) as caught:
        await hear(Answering(lambda sent: []), Lingering)
    assert (caught.value.failure.kind, caught.value.failure.phase) == (FailureKind.FINAL_TIMEOUT, Phase.FINISH)


class Vanishing(Channel[Frame]):
    """Is lost to who listens and to who speaks in one moment."""

    def __init__(self) -> None:
        self.lost = asyncio.Event()

    async def send(self, frame: Frame) -> None:
        if frame == "audio":
            self.lost.set()
            raise OSError("gone")

    async def receive(self) -> tuple[int, Frame] | None:
        await self.lost.wait()
        return None

    async def close(self) -> None:
        pass


async def test_a_connection_that_both_halves_lose_in_one_moment_is_one_failure_and_no_stray_error() -> None:
    stray: list[dict[str, object]] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: stray.append(context))
    target = Target(benchmark=Benchmark.STT, provider="p", model="m")
    codec = Stt(target, Item(id="one", text="x", sha256="0" * 64))
    with pytest.raises(CaseFailedError) as caught:
        await transcribe(Vanishing(), codec, PCM, 0.02, Tracer(), LIMITS)
    assert caught.value.failure.kind is FailureKind.CONNECTION_LOST
    assert stray == []
