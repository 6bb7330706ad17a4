"""The two conversations: audio out and a transcript back; text out and audio back.

They are the same for every provider and every transport: a codec says what frames mean, a channel carries
them, and here they are paced, timed and bounded.
"""

import asyncio
from collections.abc import Callable, Iterable

from sayagain.failures import CaseFailedError, failed
from sayagain.providers.codec import (
    AudioBegins,
    AudioChunk,
    Done,
    Final,
    Frame,
    Partial,
    Ready,
    Refused,
    Signal,
    SttCodec,
    TtsCodec,
)
from sayagain.records import EventKind, FailureKind, Limits, Phase
from sayagain.transports.base import Channel
from sayagain.transports.patience import Patience
from sayagain.transports.sending import Outlet, speak
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
    outlet = Outlet(channel, limits)
    await outlet.send(codec.opening())
    ready = asyncio.Event()
    loop = asyncio.get_running_loop()
    patience = asyncio.timeout(None)

    over = False

    def wait_for(seconds: float) -> None:
        """Give the answer so long, from now."""
        if not over:
            patience.reschedule(loop.time() + seconds)

    async def begin() -> None:
        """Speak as soon as the provider will listen."""
        if codec.awaits_ready:
            await _until_ready(ready, limits)
        await speak(outlet, codec, pcm, chunk_s, tracer, ended=lambda: wait_for(limits.final_timeout_s))

    def spoken(task: asyncio.Task[None]) -> None:
        """Give a provider that stopped listening time for its last words."""
        if not task.cancelled() and task.exception() and not patience.expired():
            wait_for(LAST_WORDS_S)

    speaking = asyncio.create_task(begin())
    keeping_alive = asyncio.create_task(outlet.keep_alive(codec))
    speaking.add_done_callback(spoken)
    try:
        async with patience:
            await listen(channel, codec.receive, tracer, on_ready=ready.set)
    except TimeoutError:
        if not patience.expired():
            raise
        if speaking.done() and (error := speaking.exception()):
            raise error from None
        raise failed(
            FailureKind.FINAL_TIMEOUT,
            Phase.FINISH,
            f"no complete answer within {limits.final_timeout_s:g} s of the end of the stream",
        ) from None
    finally:
        over = True  # who speaks may have failed in this very moment, and its callback be on its way
        speaking.cancel()
        keeping_alive.cancel()
        await asyncio.gather(speaking, keeping_alive, return_exceptions=True)
    require_transcript(tracer, codec.joiner)


async def synthesize(
    channel: Channel[Frame], codec: TtsCodec[Frame], text: str, tracer: Tracer, limits: Limits
) -> None:
    """Send a whole text and read the audio until the provider is done.

    Raises a `CaseFailedError` when the provider refuses, ends early, sends no audio, or stops sending for
    longer than the limits allow; errors of the channel pass through.
    """
    tracer.phase = Phase.SEND
    at_ns = await Outlet(channel, limits).send(codec.text(text))
    tracer.mark(EventKind.TEXT_SENT, at_ns=at_ns)
    tracer.phase = Phase.RECEIVE
    patience = Patience(limits.idle_timeout_s)
    try:
        async with patience:
            await listen(channel, codec.receive, tracer, heard=patience.renew)
    except TimeoutError:
        if not patience.expired:
            raise
        seen = "the audio stopped" if tracer.saw(EventKind.AUDIO_RECEIVED) else "no audio came"
        raise failed(
            FailureKind.IDLE_TIMEOUT, Phase.RECEIVE, f"{seen} for {limits.idle_timeout_s:g} s without an end"
        ) from None
    _require_audio(tracer)


async def listen(
    channel: Channel[Frame],
    receive: Callable[[Frame], Iterable[Signal]],
    tracer: Tracer,
    heard: Callable[[], None] = lambda: None,
    on_ready: Callable[[], None] = lambda: None,
) -> None:
    """Read frames and note what they mean until the answer is complete.

    `heard` is called for every frame, `on_ready` when the provider says it is ready. Raises a `CaseFailedError`
    when the provider refuses, sends what makes no sense, or closes before it is done.
    """
    while (arrival := await channel.receive()) is not None:
        heard()
        at_ns, frame = arrival
        for signal in _understood(receive, frame, tracer.phase):
            if isinstance(signal, Ready):
                on_ready()
            elif _note(signal, at_ns, tracer):
                return
    tracer.mark(EventKind.CLOSED, code=channel.close_code)
    raise failed(
        FailureKind.CONNECTION_LOST,
        tracer.phase,
        "the connection was closed before the answer was complete",
        code=channel.close_code,
    )


async def _until_ready(ready: asyncio.Event, limits: Limits) -> None:
    patience = asyncio.timeout(limits.idle_timeout_s)
    try:
        async with patience:
            await ready.wait()
    except TimeoutError:
        if not patience.expired():
            raise
        raise failed(
            FailureKind.IDLE_TIMEOUT,
            Phase.OPEN,
            f"the provider did not say within {limits.idle_timeout_s:g} s that it is ready",
        ) from None


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
        case Refused():
            tracer.mark(EventKind.ERROR, at_ns=at_ns, code=signal.code)
            raise refusal(signal, tracer.phase)
    return False


def refusal(refused: Refused, phase: Phase) -> CaseFailedError:
    """Return the exception for a provider's refusal."""
    return failed(
        refused.kind,
        phase,
        refused.message,
        code=refused.code,
        retryable=refused.retryable,
        retry_after_s=refused.retry_after_s,
    )


def require_transcript(tracer: Tracer, joiner: str) -> None:
    """Raise a `CaseFailedError` when a complete answer holds no final words."""
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
