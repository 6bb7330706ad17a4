"""ElevenLabs realtime transcription. Source: elevenlabs 2.78.0 (`realtime.scribe`, `types.*_payload`)."""

import base64
from collections.abc import Mapping
from typing import Any, ClassVar

import msgspec

from sayagain.simulator.faults import ErrorKind
from sayagain.simulator.protocols.base import (
    ClientError,
    Frame,
    Frames,
    Heard,
    Report,
    Segment,
    SttDialect,
    encode,
    words,
)

TYPES = {
    ErrorKind.AUTH: "auth_error",
    ErrorKind.QUOTA: "quota_exceeded",
    ErrorKind.RATE_LIMITED: "rate_limited",
    ErrorKind.CONCURRENCY: "resource_exhausted",
    ErrorKind.BAD_REQUEST: "invalid_request",
    ErrorKind.SESSION_EXPIRED: "session_time_limit_exceeded",
    ErrorKind.SERVER_ERROR: "transcriber_error",
}


class _Chunk(msgspec.Struct):
    """The only message of the client."""

    message_type: str
    audio_base_64: str = ""
    commit: bool = False


_chunk = msgspec.json.Decoder(_Chunk)


class ElevenLabsStt(SttDialect):
    """`partial_transcript`s, and a `committed_transcript` for each commit; the client closes."""

    path = "/v1/speech-to-text/realtime"
    key_headers = ("xi-api-key",)
    key_query = ("token",)
    closes = False
    impossible: ClassVar[Mapping[str, str]] = {
        "duplicated_finals": "its segments have no ids",
        "done_repeats": "it has no message that says that all is done",
        "empty_done": "it has no message that says that all is done",
    }

    @property
    def rate(self) -> int:
        """The rate in `audio_format`, such as pcm_16000."""
        stated = self.opening.query.get("audio_format", "pcm_16000").rpartition("_")[2]
        return int(stated) if stated.isdecimal() else 16_000

    @classmethod
    def refusal(cls, status: int, message: str) -> tuple[Mapping[str, str], Any]:
        """Return the error under `detail`."""
        return {}, {"detail": {"status": "error", "message": message}}

    def greeting(self) -> Frames:
        """Return `session_started`, which names the model."""
        query = self.opening.query
        config = {
            "sample_rate": self.rate,
            "audio_format": query.get("audio_format", "pcm_16000"),
            "language_code": query.get("language_code"),
            "commit_strategy": query.get("commit_strategy", "manual"),
            "model_id": self.opening.model or query.get("model_id"),
        }
        return (encode({"message_type": "session_started", "session_id": self.id, "config": config}),)

    def hear(self, message: Frame) -> Heard:
        """Every message is a chunk of audio, maybe empty, and may commit."""
        try:
            chunk = _chunk.decode(message)
            pcm = base64.b64decode(chunk.audio_base_64, validate=True)
        except (msgspec.MsgspecError, ValueError):
            raise ClientError(ErrorKind.BAD_REQUEST, "an input_audio_chunk was expected") from None
        if chunk.message_type != "input_audio_chunk":
            raise ClientError(ErrorKind.BAD_REQUEST, "an input_audio_chunk was expected")
        return Heard(pcm=pcm, flush=chunk.commit)

    def partial(self, segment: Segment) -> Frames:
        """Return `partial_transcript`."""
        return (encode({"message_type": "partial_transcript", "text": segment.text}),)

    def final(self, segment: Segment) -> Frames:
        """Return `committed_transcript`, and the same segment with timestamps if they were asked for."""
        committed = encode({"message_type": "committed_transcript", "text": segment.text})
        if self.opening.query.get("include_timestamps", "false").lower() != "true":
            return (committed,)
        timed = {
            "message_type": "committed_transcript_with_timestamps",
            "text": segment.text,
            "language_code": "en",
            "words": [
                {"text": word, "start": start, "end": end, "type": "word", "logprob": -0.01}
                for word, start, end in words(segment)
            ],
        }
        return (committed, encode(timed))

    def report(self, error: ErrorKind, message: str) -> Report:
        """Return a message whose type is the error."""
        return Report((encode({"message_type": TYPES[error], "error": message}),), 1008, TYPES[error])
