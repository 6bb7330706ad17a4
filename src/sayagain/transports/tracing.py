"""Collecting a trace: what an attempt saw, while it is still going on."""

from sayagain.failures import failed
from sayagain.records import AudioFormat, Connection, Event, EventKind, FailureKind, Phase, Trace
from sayagain.transports.pacing import Lag, now_ns, wall_time


class Tracer:
    """The trace of one attempt in the making.

    Whatever happens to the attempt, what was seen until then can be frozen into a `Trace`. `phase` says how far
    the attempt has come, so that a failure can say where it happened.
    """

    def __init__(self) -> None:
        self.phase = Phase.PREPARE
        self.connection: Connection | None = None
        self.audio_format: AudioFormat | None = None
        self.pacing = Lag()
        self._started = wall_time()
        self.zero_ns = now_ns()
        self._events: list[Event] = []
        self._segments: list[str] = []
        self._segment_ids: set[str] = set()
        self._audio = bytearray()

    def restart(self) -> None:
        """Count time from now: what was waited for until here is not part of the attempt."""
        self._started = wall_time()
        self.zero_ns = now_ns()

    def mark(
        self,
        kind: EventKind,
        *,
        at_ns: int | None = None,
        text: str | None = None,
        size: int | None = None,
        code: str | None = None,
    ) -> None:
        """Note an event, at an instant of `now_ns` (now, unless said)."""
        instant = now_ns() if at_ns is None else at_ns
        self._events.append(Event(instant - self.zero_ns, kind, text, size, code))

    def final(self, text: str, segment: str | None, at_ns: int) -> None:
        """Note a final segment; one whose id was seen before adds nothing to the transcript."""
        if segment is not None and segment in self._segment_ids:
            return
        if segment is not None:
            self._segment_ids.add(segment)
        self._segments.append(text)
        self.mark(EventKind.FINAL, at_ns=at_ns, text=text)

    def begin_audio(self, audio_format: AudioFormat) -> None:
        """Note the format of the audio that follows; it cannot change within one answer."""
        if min(audio_format.rate, audio_format.width, audio_format.channels) <= 0:
            raise failed(FailureKind.PROTOCOL, self.phase, "an audio format of nothing was announced")
        if self.audio_format not in (None, audio_format):
            raise failed(FailureKind.PROTOCOL, self.phase, "the audio format changed within one answer")
        self.audio_format = audio_format

    def audio(self, pcm: bytes, at_ns: int) -> None:
        """Note a chunk of synthesized audio."""
        self._audio += pcm
        self.mark(EventKind.AUDIO_RECEIVED, at_ns=at_ns, size=len(pcm))

    def received_audio(self) -> tuple[bytes, AudioFormat | None]:
        """Return the audio so far and its format, if one was named."""
        return bytes(self._audio), self.audio_format

    def saw(self, kind: EventKind) -> bool:
        """Tell whether an event of a kind has been noted."""
        return any(event.kind is kind for event in self._events)

    def transcript(self, joiner: str) -> str | None:
        """Return the final segments joined, or None when there was none."""
        if not self._segments:
            return None
        return joiner.join(text for text in self._segments if text).strip()

    def freeze(self, loop_lag_ms: float, joiner: str = " ") -> Trace:
        """Return what was seen as a record."""
        return Trace(
            started=self._started,
            events=tuple(self._events),
            transcript=self.transcript(joiner),
            audio=bytes(self._audio),
            audio_format=self.audio_format,
            connection=self.connection,
            loop_lag_ms=loop_lag_ms,
            pacing_lag_ms=self.pacing.worst_ms,
        )
