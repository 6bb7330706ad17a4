"""AssemblyAI universal streaming v3. Source: assemblyai 1.8.2 (`streaming.v3`) and its documentation of errors."""

import time
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

CODES = {
    ErrorKind.AUTH: 1008,
    ErrorKind.QUOTA: 4002,
    ErrorKind.RATE_LIMITED: 4029,
    ErrorKind.CONCURRENCY: 3009,
    ErrorKind.BAD_REQUEST: 3006,
    ErrorKind.SESSION_EXPIRED: 3008,
    ErrorKind.SERVER_ERROR: 3005,
}


class AssemblyAi(SttDialect):
    """`Begin`, `Turn`s, and after `Terminate` the last `Turn` and `Termination`.

    With `format_turns` each turn ends twice, first unformatted, under one `turn_order`.
    """

    path = "/v3/ws"
    key_query = ("token",)
    impossible: ClassVar[Mapping[str, str]] = {"done_repeats": "its Termination message has no text"}

    def greeting(self) -> Frames:
        """Return `Begin`, which names the model."""
        model = self.opening.model or self.opening.query.get("speech_model", "universal-streaming-english")
        begin = {
            "type": "Begin",
            "id": self.id,
            "expires_at": int(time.time()) + 3 * 3600,
            "configuration": {"model": model, "api_version": "2025-05-12"},
        }
        return (encode(begin),)

    def hear(self, message: Frame) -> Heard:
        """Audio is binary; the rest is told by its type."""
        if isinstance(message, bytes):
            return Heard(pcm=message)
        match decode(message).get("type"):
            case "Terminate":
                return END
            case "ForceEndpoint":
                return FLUSH
            case _:
                return NOTHING

    def partial(self, segment: Segment) -> Frames:
        """Return a turn that goes on."""
        return (self._turn(segment, ended=False, formatted=False),)

    def final(self, segment: Segment) -> Frames:
        """Return the end of a turn: once, or unformatted and then formatted."""
        if self.opening.query.get("format_turns", "false").lower() != "true":
            return (self._turn(segment, ended=True, formatted=False),)
        return (
            self._turn(segment, ended=True, formatted=False),
            self._turn(segment, ended=True, formatted=True),
        )

    def done(self) -> Frames:
        """Return `Termination`."""
        seconds = round(self.heard_s)
        termination = {
            "type": "Termination",
            "audio_duration_seconds": seconds,
            "session_duration_seconds": seconds,
        }
        return (encode(termination),)

    def report(self, error: ErrorKind, message: str) -> Report:
        """Return an `Error` message and a close with the same code."""
        code = CODES[error]
        frame = encode({"type": "Error", "error_code": code, "error": message})
        return Report((frame,), code, "See Error message for details")

    def _turn(self, segment: Segment, ended: bool, formatted: bool) -> str:
        turn: dict[str, Any] = {
            "type": "Turn",
            "turn_order": segment.index,
            "turn_is_formatted": formatted,
            "end_of_turn": ended,
            "transcript": segment.text,
            "end_of_turn_confidence": 0.95 if ended else 0.05,
            "words": [
                {
                    "text": word,
                    "start": int(start * 1000),
                    "end": int(end * 1000),
                    "confidence": 0.99,
                    "word_is_final": ended,
                }
                for word, start, end in words(segment)
            ],
        }
        return encode(turn)
