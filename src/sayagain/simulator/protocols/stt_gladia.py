"""Gladia live v2: a POST that names a websocket. Source: gladiaio-sdk 2.2.1 (`v2.live`)."""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from sayagain.simulator.faults import ErrorKind
from sayagain.simulator.protocols.base import (
    NOTHING,
    ClientError,
    Frame,
    Frames,
    Heard,
    Opening,
    Report,
    Segment,
    SttDialect,
    decode,
    encode,
    words,
)

CREATED = "2026-01-01T00:00:00.000Z"

CLOSES = {
    ErrorKind.AUTH: (4401, "unauthorized"),
    ErrorKind.QUOTA: (4402, "payment required"),
    ErrorKind.RATE_LIMITED: (4429, "too many requests"),
    ErrorKind.CONCURRENCY: (4429, "too many concurrent sessions"),
    ErrorKind.BAD_REQUEST: (4400, "bad request"),
    ErrorKind.SESSION_EXPIRED: (4403, "session ended"),
    ErrorKind.SERVER_ERROR: (4500, "internal error"),
}
"""4403 is known; the other codes are the stand-in's guess and follow its pattern."""

MAX_FRAME = 1 << 20
"""The server refuses larger frames, with close code 1009."""


class Gladia(SttDialect):
    """`transcript` messages, an id for each utterance; `stop_recording` ends with a normal close."""

    path = "/v2/live"
    key_headers = ("x-gladia-key",)
    impossible: ClassVar[Mapping[str, str]] = {"wrong_model": "it names no model"}

    def __init__(self, opening: Opening) -> None:
        super().__init__(opening)
        wanted = opening.body.get("messages_config")
        self._wanted: Mapping[str, Any] = wanted if isinstance(wanted, dict) else {}
        self._bytes = 0
        self._too_big = False

    @property
    def rate(self) -> int:
        """The rate of the POST."""
        stated = self.opening.body.get("sample_rate")
        return stated if isinstance(stated, int) and stated > 0 else 16_000

    @classmethod
    def refusal(cls, status: int, message: str) -> tuple[Mapping[str, str], Any]:
        """Return the error of the POST."""
        return {}, {"timestamp": CREATED, "statusCode": status, "message": message, "request_id": "G-simulator"}

    def greeting(self) -> Frames:
        """Return the lifecycle messages if they were asked for."""
        if not self._wanted.get("receive_lifecycle_events"):
            return ()
        return (self._message("start_session"), self._message("start_recording"))

    def hear(self, message: Frame) -> Heard:
        """Audio is binary, or base64 in `audio_chunk` (which the stand-in does not take)."""
        if isinstance(message, bytes):
            if len(message) > MAX_FRAME:
                self._too_big = True
                raise ClientError(ErrorKind.BAD_REQUEST, "a frame is larger than 1 MiB")
            return Heard(pcm=message, replies=self._acknowledge(message))
        if decode(message).get("type") != "stop_recording":
            return NOTHING
        data = {"recording_duration": self.heard_s, "recording_left_to_process": 0.0}
        return Heard(end=True, replies=self._acknowledged("stop_recording", data))

    def partial(self, segment: Segment) -> Frames:
        """Return a partial if partials were asked for."""
        return (self._transcript(segment, False),) if self._wanted.get("receive_partial_transcripts") else ()

    def final(self, segment: Segment) -> Frames:
        """Return the final of an utterance."""
        return (self._transcript(segment, True),)

    def done(self) -> Frames:
        """Return the lifecycle messages if they were asked for; the close is what says that all is done."""
        if not self._wanted.get("receive_lifecycle_events"):
            return ()
        recording = self._message("end_recording", data={"recording_duration": self.heard_s})
        return (recording, self._message("end_session"))

    def repeated(self, segments: Sequence[Segment]) -> Frames:
        """Return `post_transcript`, which holds everything once more."""
        full = " ".join(segment.text for segment in segments)
        utterances = [self._utterance(segment) for segment in segments]
        return (self._message("post_transcript", data={"full_transcript": full, "utterances": utterances}),)

    def report(self, error: ErrorKind, message: str) -> Report:
        """Gladia closes without a message."""
        return Report((), 1009, "message too big") if self._too_big else Report((), *CLOSES[error])

    def _transcript(self, segment: Segment, is_final: bool) -> str:
        data = {"id": f"00_{segment.index:08d}", "is_final": is_final, "utterance": self._utterance(segment)}
        return self._message("transcript", data=data)

    def _utterance(self, segment: Segment) -> dict[str, Any]:
        return {
            "text": segment.text,
            "start": segment.start_s,
            "end": segment.end_s,
            "language": "en",
            "confidence": 0.99,
            "channel": 0,
            "words": [
                {"word": f" {word}", "start": start, "end": end, "confidence": 0.99}
                for word, start, end in words(segment)
            ],
        }

    def _acknowledge(self, pcm: bytes) -> Frames:
        start, self._bytes = self._bytes, self._bytes + len(pcm)
        width = 2 * self.rate
        data = {"byte_range": [start, self._bytes], "time_range": [start / width, self._bytes / width]}
        return self._acknowledged("audio_chunk", data)

    def _acknowledged(self, kind: str, data: Mapping[str, Any]) -> Frames:
        if not self._wanted.get("receive_acknowledgments"):
            return ()
        return (self._message(kind, acknowledged=True, error=None, data=data),)

    def _message(self, kind: str, **more: Any) -> str:
        return encode({"type": kind, "session_id": self.id, "created_at": CREATED} | more)
