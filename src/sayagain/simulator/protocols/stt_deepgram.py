"""Deepgram live transcription v1. Source: deepgram-sdk 7.17.0 (`listen.v1`); close codes: its documentation."""

from collections.abc import Mapping
from typing import Any, ClassVar

from sayagain.simulator.faults import ErrorKind
from sayagain.simulator.protocols.base import (
    END,
    FLUSH,
    NOTHING,
    Frame,
    Frames,
    Heard,
    Report,
    Segment,
    SttDialect,
    decode,
    encode,
    words,
)

CLOSES = {
    ErrorKind.BAD_REQUEST: (1008, "DATA-0000"),
    ErrorKind.SESSION_EXPIRED: (1011, "NET-0000"),
    ErrorKind.SERVER_ERROR: (1011, "NET-0001"),
}
"""The closes of the documentation; what an account may not do is said at the upgrade."""

CODES = {
    400: "Bad Request",
    401: "INVALID_AUTH",
    402: "ASR_PAYMENT_REQUIRED",
    403: "INSUFFICIENT_PERMISSIONS",
    429: "TOO_MANY_REQUESTS",
}


def deepgram_refusal(status: int, message: str, request: str) -> tuple[Mapping[str, str], Any]:
    """Return a failed upgrade as Deepgram documents it: the error in the body and in a header."""
    headers = {"dg-request-id": request, "dg-error": message}
    code = CODES.get(status, "INTERNAL_SERVER_ERROR" if status >= 500 else "BAD_REQUEST")
    return headers, {"err_code": code, "err_msg": message, "request_id": request}


class Deepgram(SttDialect):
    """`Results` while audio comes; `Finalize` brings out what is pending; `CloseStream` ends with `Metadata`."""

    path = "/v1/listen"
    impossible: ClassVar[Mapping[str, str]] = {"done_repeats": "its Metadata message has no text"}

    @classmethod
    def refusal(cls, status: int, message: str) -> tuple[Mapping[str, str], Any]:
        """Return the error in the body and in `dg-error`."""
        return deepgram_refusal(status, message, "00000000-0000-4000-8000-000000000000")

    def hear(self, message: Frame) -> Heard:
        """Audio is binary; the rest is told by its type."""
        if isinstance(message, bytes):
            # An empty binary message means CloseStream (documented as a trap).
            return Heard(pcm=message) if message else END
        match decode(message).get("type"):
            case "Finalize":
                return FLUSH
            case "CloseStream":
                return END
            case _:
                return NOTHING

    def partial(self, segment: Segment) -> Frames:
        """Interim results come only when they were asked for."""
        if self.opening.query.get("interim_results", "false").lower() != "true":
            return ()
        return (self._results(segment, is_final=False),)

    def final(self, segment: Segment) -> Frames:
        """Return the segment with `is_final`."""
        return (self._results(segment, is_final=True),)

    def done(self) -> Frames:
        """Return the summary that ends a stream."""
        metadata = {
            "type": "Metadata",
            "transaction_key": "deprecated",
            "request_id": self.id,
            "sha256": self.ear.sha256,
            "created": "2026-01-01T00:00:00.000Z",
            "duration": self.heard_s,
            "channels": 1,
        }
        return (encode(metadata),)

    def report(self, error: ErrorKind, message: str) -> Report:
        """Deepgram closes without a message, except for text that it cannot parse."""
        code, reason = CLOSES.get(error, (1008, "DATA-0000"))
        frames = (encode({"type": "Error", "variant": "SchemaError", "description": message, "message": ""}),)
        return Report(frames if error is ErrorKind.BAD_REQUEST else (), code, reason)

    def _results(self, segment: Segment, is_final: bool) -> str:
        asked = self.opening.model or self.opening.query.get("model", "nova-3")
        arch = "-".join(asked.split("-")[:2])
        alternative = {
            "transcript": segment.text,
            "confidence": 0.99,
            "words": [
                {"word": word, "start": start, "end": end, "confidence": 0.99, "punctuated_word": word}
                for word, start, end in words(segment)
            ],
        }
        return encode(
            {
                "type": "Results",
                "channel_index": [0, 1],
                "duration": round(segment.end_s - segment.start_s, 3),
                "start": round(segment.start_s, 3),
                "is_final": is_final,
                "speech_final": is_final,
                "from_finalize": is_final and segment.flushed,
                "channel": {"alternatives": [alternative]},
                "metadata": {
                    "request_id": self.id,
                    "model_info": {"name": f"general-{asked}", "version": "2026-01-01.0", "arch": arch},
                    "model_uuid": "00000000-0000-4000-8000-000000000001",
                },
            }
        )
