"""ElevenLabs speech with streamed input. Source: elevenlabs 2.78.0 (`realtime_tts`, `types.audio_output`)."""

import base64
from collections.abc import Mapping
from typing import Any, ClassVar

from sayagain.simulator.faults import ErrorKind
from sayagain.simulator.protocols.base import Frame, Frames, Report, Said, TtsDialect, decode, encode

ERRORS = {
    ErrorKind.AUTH: "invalid_api_key",
    ErrorKind.QUOTA: "quota_exceeded",
    ErrorKind.RATE_LIMITED: "rate_limited",
    ErrorKind.CONCURRENCY: "too_many_concurrent_requests",
    ErrorKind.BAD_REQUEST: "invalid_request",
    ErrorKind.SESSION_EXPIRED: "input_timeout_exceeded",
    ErrorKind.SERVER_ERROR: "internal_error",
}


class ElevenLabsTts(TtsDialect):
    """Texts, then an empty text; audio as base64, then `isFinal` and a close."""

    path = "/v1/text-to-speech/{voice}/stream-input"
    key_headers = ("xi-api-key", "Authorization")
    impossible: ClassVar[Mapping[str, str]] = {"wrong_model": "it names no model"}

    @classmethod
    def refusal(cls, status: int, message: str) -> tuple[Mapping[str, str], Any]:
        """Return the error under `detail`."""
        return {}, {"detail": {"status": "error", "message": message}}

    @property
    def rate(self) -> int:
        """The rate in `output_format`, such as pcm_24000."""
        stated = self.opening.query.get("output_format", "").rpartition("_")[2]
        return int(stated) if stated.isdecimal() and int(stated) >= 8000 else 24_000

    def hear(self, message: Frame) -> Said:
        """An empty text ends; a text may ask to be spoken at once."""
        told = decode(message)
        text = told.get("text")
        if text == "":
            return Said(speak=True, end=True)
        return Said(text=text if isinstance(text, str) else "", speak=told.get("flush") is True)

    def audio(self, pcm: bytes, index: int, last: bool) -> Frames:
        """Return audio as base64."""
        chunk = {"audio": base64.b64encode(pcm).decode(), "isFinal": None, "normalizedAlignment": None}
        return (encode(chunk | {"alignment": None}),)

    def done(self) -> Frames:
        """Return the message that has no audio."""
        return (encode({"audio": None, "isFinal": True, "normalizedAlignment": None, "alignment": None}),)

    def report(self, error: ErrorKind, message: str) -> Report:
        """Return an error and the close that follows."""
        return Report((encode({"message": message, "error": ERRORS[error], "code": 1008}),), 1008, message)
