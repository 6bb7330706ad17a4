"""Cartesia transcription with manual finalization. Source: cartesia 4.2.0 (`stt.manual_finalize`)."""

from collections.abc import Mapping
from typing import Any, ClassVar

from sayagain.simulator.faults import ErrorKind
from sayagain.simulator.protocols.base import (
    END,
    FLUSH,
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

CODES = {
    ErrorKind.AUTH: (401, "unauthorized"),
    ErrorKind.QUOTA: (402, "quota_exceeded"),
    ErrorKind.RATE_LIMITED: (429, "rate_limited"),
    ErrorKind.CONCURRENCY: (429, "concurrency_limited"),
    ErrorKind.BAD_REQUEST: (400, "invalid_request"),
    ErrorKind.SESSION_EXPIRED: (408, "session_expired"),
    ErrorKind.SERVER_ERROR: (500, "internal_error"),
}


def cartesia_error(error: ErrorKind, message: str, request: str) -> dict[str, Any]:
    """Return an error as both of Cartesia's websockets send it."""
    status, code = CODES[error]
    return {
        "type": "error",
        "title": code.replace("_", " "),
        "message": message,
        "error_code": code,
        "status_code": status,
        "request_id": request,
    }


class CartesiaStt(SttDialect):
    """The bare words `finalize` and `close` are the client's messages.

    The texts of finals are joined as they are: every one but the first begins with its own space.
    """

    path = "/stt/websocket"
    key_headers = ("X-API-Key", "Authorization")
    key_query = ("api_key", "access_token")
    impossible: ClassVar[Mapping[str, str]] = {
        "duplicated_finals": "its segments have no ids",
        "done_repeats": "its done message has no text",
        "wrong_model": "it names no model",
    }

    def hear(self, message: Frame) -> Heard:
        """Audio is binary, commands are words."""
        match message:
            case bytes():
                return Heard(pcm=message)
            case "finalize":
                return FLUSH
            case "close" | "done":
                return END
            case _:
                raise ClientError(ErrorKind.BAD_REQUEST, "the commands are finalize and close")

    def partial(self, segment: Segment) -> Frames:
        """Return a transcript that is not final."""
        return (self._transcript(segment, is_final=False),)

    def final(self, segment: Segment) -> Frames:
        """Return a transcript that is final."""
        return (self._transcript(segment, is_final=True),)

    def flushed(self) -> Frames:
        """Return the answer to `finalize`."""
        return (encode({"type": "flush_done", "request_id": self.id}),)

    def done(self) -> Frames:
        """Return the answer to `close`."""
        return (encode({"type": "done", "request_id": self.id}),)

    def report(self, error: ErrorKind, message: str) -> Report:
        """Return an error and a close."""
        return Report((encode(cartesia_error(error, message, self.id)),), 1008, CODES[error][1])

    def _transcript(self, segment: Segment, is_final: bool) -> str:
        return encode(
            {
                "type": "transcript",
                "is_final": is_final,
                "request_id": self.id,
                "text": segment.text if segment.index == 0 else f" {segment.text}",
                "duration": round(segment.end_s - segment.start_s, 3),
                "language": "en",
                "words": [{"word": word, "start": start, "end": end} for word, start, end in words(segment)],
            }
        )
