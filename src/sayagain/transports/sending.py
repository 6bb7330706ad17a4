"""The outgoing half of a conversation: frames leave in order and bounded in time, audio as from a microphone."""

import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator
from typing import Generic

from sayagain.failures import CaseFailedError, failed
from sayagain.providers.codec import Frame, SttCodec
from sayagain.records import AudioFormat, EventKind, FailureKind, Limits, Phase, Target
from sayagain.transports.base import Channel
from sayagain.transports.pacing import NS_PER_S, now_ns, sleep_until
from sayagain.transports.patience import Patience
from sayagain.transports.tracing import Tracer

DEFAULT_CHUNK_MS = 20
"""The audio of one chunk, as real-time media stacks cut it, in milliseconds."""


class Outlet(Generic[Frame]):
    """Sends frames over a channel, within the idle timeout each time, and remembers when it last did."""

    def __init__(self, channel: Channel[Frame], limits: Limits) -> None:
        self._channel = channel
        self._patience_s = limits.idle_timeout_s + channel.opening_s
        self._last_ns = now_ns()

    async def send(self, frames: Iterable[Frame]) -> int:
        """Send frames; return the instant at which the last one had left.

        Raises a `CaseFailedError` of kind `idle_timeout` when they are not taken off the connection in time.
        """
        async with self.stream() as stream:
            return await stream(frames)

    @contextlib.asynccontextmanager
    async def stream(self) -> AsyncIterator[Callable[[Iterable[Frame]], Awaitable[int]]]:
        """Yield what `send` does, for many times: the timeout is set up once."""
        patience = Patience(self._patience_s)

        async def send(frames: Iterable[Frame]) -> int:
            """Send frames within the timeout; return the instant at which the last one had left."""
            patience.renew()
            for frame in frames:
                await self._channel.send(frame)
            patience.suspend()
            self._last_ns = self._channel.sent_at()
            return self._last_ns

        try:
            async with patience:
                patience.suspend()
                yield send
        except TimeoutError:
            if not patience.expired:
                raise
            raise failed(
                FailureKind.IDLE_TIMEOUT,
                Phase.SEND,
                f"the provider took nothing off the connection for {self._patience_s:g} s",
            ) from None

    async def keep_alive(self, codec: SttCodec[Frame]) -> None:
        """Send the codec's keepalive whenever nothing was sent for as long as it says; until cancelled.

        A connection that is gone ends it quietly: whoever listens will find out, and say why.
        """
        if codec.keepalive_s is None:
            return
        period_ns = round(codec.keepalive_s * NS_PER_S)
        with contextlib.suppress(OSError, CaseFailedError):
            while True:
                await sleep_until(self._last_ns + period_ns)
                if now_ns() >= self._last_ns + period_ns:
                    await self.send(codec.keepalive())


async def speak(
    outlet: Outlet[Frame],
    codec: SttCodec[Frame],
    pcm: bytes,
    chunk_s: float,
    tracer: Tracer,
    ended: Callable[[], None],
) -> None:
    """Send a recording at the pace of speech, then its end, then silence where the codec wants it.

    `ended` is called when the end has left. Silence goes on until this is cancelled.
    """
    tracer.phase = Phase.SEND
    t0_ns = now_ns()
    tracer.mark(EventKind.STREAM_STARTED, at_ns=t0_ns)
    end_s = 0.0
    async with outlet.stream() as send:
        for end_s, chunk in chunks(pcm, codec.audio_format, chunk_s):
            tracer.pacing.note(await sleep_until(t0_ns + round(end_s * NS_PER_S)))
            at_ns = await send(codec.audio(chunk))
            tracer.mark(EventKind.AUDIO_SENT, at_ns=at_ns, size=len(chunk))
        at_ns = await send(codec.end())
        tracer.mark(EventKind.END_SENT, at_ns=at_ns)
        tracer.phase = Phase.FINISH
        ended()
        silence = bytes(chunk_size(codec.audio_format, chunk_s))
        while codec.silence_after_end:
            end_s += chunk_s
            await sleep_until(t0_ns + round(end_s * NS_PER_S))
            await send(codec.audio(silence))


def chunk_seconds(target: Target) -> float:
    """Return the seconds of audio that a target is sent at a time: its setting `chunk_ms`, or the default."""
    return float(target.settings.get("chunk_ms", DEFAULT_CHUNK_MS) or 0) / 1000


def chunk_size(audio_format: AudioFormat, chunk_s: float) -> int:
    """Return the bytes of a chunk of `chunk_s` seconds: whole samples, at least one."""
    return max(1, round(audio_format.rate * chunk_s)) * audio_format.frame_bytes


def chunks(pcm: bytes, audio_format: AudioFormat, chunk_s: float) -> Iterator[tuple[float, bytes]]:
    """Cut PCM into chunks of `chunk_s` seconds; yield each with the second of the recording at which it ends."""
    size = chunk_size(audio_format, chunk_s)
    for start in range(0, len(pcm), size):
        chunk = pcm[start : start + size]
        yield audio_format.seconds(start + len(chunk)), chunk
