"""The two conversations: audio out and a transcript back; text out and audio back.

They are the same for every provider and every transport: a codec says what frames mean, a channel carries
them, and here they are paced, timed and bounded.
"""

import asyncio
from collections.abc import Callable, Iterable, Iterator

from sayagain.failures import failed
from sayagain.providers.codec import (
    AudioBegins,
    AudioChunk,
    Done,
    Final,
    Frame,
    Partial,
    Refused,
    Signal,
    SttCodec,
    TtsCodec,
)
from sayagain.records import AudioFormat, EventKind, FailureKind, Limits, Phase
from sayagain.transports.base import Channel
from sayagain.transports.pacing import NS_PER_S, now_ns, sleep_until
from sayagain.transports.tracing import Tracer

LAST_WORDS_S = 1.0
"""How long a provider that stopped listening is given to say why."""


async def transcribe(
    channel: Channel[Frame], codec: SttCodec[Frame], pcm: bytes, chunk_s: float, tracer: Tracer, limits: Limits
) -> None:
    """Stream audio at the pace of a live microphone and read the transcript until the provider is done.

    Raises a `CaseFailedError` when the provider refuses, ends early, answers with nothing, or does not finish
    within the limits; errors of the channel pass through.
    """
    tracer.phase = Phase.OPEN
    await _send(channel, codec.opening(), limits)
    speaking = asyncio.create_task(_speak(channel, codec, pcm, chunk_s, tracer, limits))
    patience = asyncio.timeout(None)

    def spoken(task: asyncio.Task[None]) -> None:
        if not task.cancelled():
            wait_s = LAST_WORDS_S if task.exception() else limits.final_timeout_s
            patience.reschedule(asyncio.get_running_loop().time() + wait_s)

    speaking.add_done_callback(spoken)
    try:
        async with patience:
            await _listen(channel, codec.receive, tracer)
    except TimeoutError:
        if not patience.expired():
            raise
        if error := speaking.exception():
            raise error from None
        raise failed(
            FailureKind.FINAL_TIMEOUT,
            Phase.FINISH,
            f"no complete answer within {limits.final_timeout_s:g} s of the end of the stream",
        ) from None
    finally:
        speaking.remove_done_callback(spoken)
        speaking.cancel()
        await asyncio.gather(speaking, return_exceptions=True)
    _require_transcript(tracer, codec.joiner)


async def synthesize(
    channel: Channel[Frame], codec: TtsCodec[Frame], text: str, tracer: Tracer, limits: Limits
) -> None:
    """Send a whole text and read the audio until the provider is done.

    Raises a `CaseFailedError` when the provider refuses, ends early, sends no audio, or stops sending for
    longer than the limits allow; errors of the channel pass through.
    """
    tracer.phase = Phase.SEND
    await _send(channel, codec.text(text), limits)
    tracer.mark(EventKind.TEXT_SENT)
    tracer.phase = Phase.RECEIVE
    loop = asyncio.get_running_loop()
    patience = asyncio.timeout(limits.idle_timeout_s)
    try:
        async with patience:
            await _listen(
                channel,
                codec.receive,
                tracer,
                heard=lambda: patience.reschedule(loop.time() + limits.idle_timeout_s),
            )
    except TimeoutError:
        if not patience.expired():
            raise
        seen = "the audio stopped" if tracer.saw(EventKind.AUDIO_RECEIVED) else "no audio came"
        raise failed(
            FailureKind.IDLE_TIMEOUT, Phase.RECEIVE, f"{seen} for {limits.idle_timeout_s:g} s without an end"
        ) from None
    _require_audio(tracer)


def chunks(pcm: bytes, audio_format: AudioFormat, chunk_s: float) -> Iterator[tuple[float, bytes]]:
    """Cut PCM into chunks of `chunk_s` seconds; yield each with the second of the recording at which it ends."""
    size = max(1, round(audio_format.rate * chunk_s)) * audio_format.frame_bytes
    for start in range(0, len(pcm), size):
        chunk = pcm[start : start + size]
        yield audio_format.seconds(start + len(chunk)), chunk


async def _speak(
    channel: Channel[Frame], codec: SttCodec[Frame], pcm: bytes, chunk_s: float, tracer: Tracer, limits: Limits
) -> None:
    tracer.phase = Phase.SEND
    t0_ns = now_ns()
    tracer.mark(EventKind.STREAM_STARTED, at_ns=t0_ns)
    for end_s, chunk in chunks(pcm, codec.audio_format, chunk_s):
        tracer.pacing.note(await sleep_until(t0_ns + round(end_s * NS_PER_S)))
        await _send(channel, codec.audio(chunk), limits)
        tracer.mark(EventKind.AUDIO_SENT, size=len(chunk))
    await _send(channel, codec.end(), limits)
    tracer.mark(EventKind.END_SENT)
    tracer.phase = Phase.FINISH


async def _send(channel: Channel[Frame], frames: Iterable[Frame], limits: Limits) -> None:
    patience = asyncio.timeout(limits.idle_timeout_s)
    try:
        async with patience:
            for frame in frames:
                await channel.send(frame)
    except TimeoutError:
        if not patience.expired():
            raise
        raise failed(
            FailureKind.IDLE_TIMEOUT,
            Phase.SEND,
            f"the provider took nothing off the connection for {limits.idle_timeout_s:g} s",
        ) from None


async def _listen(
    channel: Channel[Frame],
    receive: Callable[[Frame], Iterable[Signal]],
    tracer: Tracer,
    heard: Callable[[], None] = lambda: None,
) -> None:
    while (arrival := await channel.receive()) is not None:
        heard()
        at_ns, frame = arrival
        for signal in _understood(receive, frame, tracer.phase):
            if _note(signal, at_ns, tracer):
                return
    tracer.mark(EventKind.CLOSED)
    raise failed(
        FailureKind.CONNECTION_LOST, tracer.phase, "the connection was closed before the answer was complete"
    )


def _understood(receive: Callable[[Frame], Iterable[Signal]], frame: Frame, phase: Phase) -> list[Signal]:
    try:
        return list(receive(frame))
    except (ValueError, KeyError, TypeError, AttributeError, LookupError) as error:
        raise failed(
            FailureKind.PROTOCOL, phase, f"a frame that makes no sense: {type(error).__name__} while reading it"
        ) from error


def _note(signal: Signal, at_ns: int, tracer: Tracer) -> bool:
    match signal:
        case Partial(text):
            tracer.mark(EventKind.PARTIAL, at_ns=at_ns, text=text)
        case Final(text, segment):
            tracer.final(text, segment, at_ns)
        case AudioBegins(audio_format):
            tracer.begin_audio(audio_format)
        case AudioChunk(pcm):
            tracer.audio(pcm, at_ns)
        case Done():
            tracer.mark(EventKind.DONE, at_ns=at_ns)
            return True
        case Refused(kind, message, code, retryable):
            tracer.mark(EventKind.ERROR, at_ns=at_ns, code=code)
            raise failed(kind, tracer.phase, message, code=code, retryable=retryable)
    return False


def _require_transcript(tracer: Tracer, joiner: str) -> None:
    transcript = tracer.transcript(joiner)
    if transcript:
        return
    if transcript is None and tracer.saw(EventKind.PARTIAL):
        raise failed(FailureKind.PROTOCOL, Phase.FINISH, "partial transcripts came but never a final one")
    raise failed(FailureKind.EMPTY, Phase.FINISH, "the provider finished without any transcript")


def _require_audio(tracer: Tracer) -> None:
    if not tracer.saw(EventKind.AUDIO_RECEIVED):
        raise failed(FailureKind.EMPTY, Phase.RECEIVE, "the provider finished without any audio")
    if tracer.audio_format is None:
        raise failed(FailureKind.PROTOCOL, Phase.RECEIVE, "audio came whose format was never named")
