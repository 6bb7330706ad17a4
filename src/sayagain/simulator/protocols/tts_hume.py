"""Hume speech with streamed input. Source: hume 0.14.1 (`tts.stream_input`); the form of errors is unverified."""

import base64
import uuid
from collections.abc import Mapping
from typing import ClassVar

from sayagain.simulator.faults import ErrorKind
from sayagain.simulator.protocols.base import Frame, Frames, Report, Said, TtsDialect, decode, encode

CODES = {
    ErrorKind.AUTH: "E0300",
    ErrorKind.QUOTA: "E0301",
    ErrorKind.RATE_LIMITED: "E0303",
    ErrorKind.CONCURRENCY: "E0304",
    ErrorKind.BAD_REQUEST: "E0700",
    ErrorKind.SESSION_EXPIRED: "E0708",
    ErrorKind.SERVER_ERROR: "I0100",
}


class Hume(TtsDialect):
    """Texts, `flush` and `close`; `audio` chunks at 48 kHz; the end is the close after `close`.

    Without `no_binary` the same audio comes once more as a binary message, as the SDK's parameter implies; the
    stand-in sends it as JSON only when `no_binary` is true and as binary only otherwise.
    """

    path = "/v0/tts/stream/input"
    key_headers = ("X-Hume-Api-Key", "Authorization")
    key_query = ("api_key", "access_token")
    impossible: ClassVar[Mapping[str, str]] = {"wrong_model": "it names no model"}

    @property
    def rate(self) -> int:
        """The one rate there is."""
        return 48_000

    def hear(self, message: Frame) -> Said:
        """A message may carry text and ask for its synthesis or for the end."""
        told = decode(message)
        text = told.get("text")
        end = told.get("close") is True
        return Said(text=text if isinstance(text, str) else "", speak=end or told.get("flush") is True, end=end)

    def audio(self, pcm: bytes, index: int, last: bool) -> Frames:
        """Return audio in the form that was asked for."""
        if self.opening.query.get("no_binary", "false").lower() != "true":
            return (pcm,)
        chunk = {
            "type": "audio",
            "audio": base64.b64encode(pcm).decode(),
            "audio_format": "pcm",
            "chunk_index": index,
            "generation_id": self.id,
            "is_last_chunk": last,
            "request_id": self.id,
            "snippet_id": str(uuid.uuid5(uuid.NAMESPACE_OID, self.id)),
            "text": "",
            "utterance_index": 0,
        }
        return (encode(chunk),)

    def report(self, error: ErrorKind, message: str) -> Report:
        """Return an error whose kind is nested in `details`, and a close."""
        told = {"type": "error", "code": CODES[error], "message": message, "details": {"type": error}}
        return Report((encode(told),), 1008, CODES[error])
