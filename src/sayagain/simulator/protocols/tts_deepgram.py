"""Deepgram speech over a websocket. Source: deepgram-sdk 7.17.0 (`speak.v1`)."""

from collections.abc import Mapping
from typing import Any, ClassVar

from sayagain.simulator.faults import ErrorKind
from sayagain.simulator.protocols.base import (
    Frame,
    Frames,
    Opening,
    Report,
    Said,
    TtsDialect,
    decode,
    encode,
    number,
)
from sayagain.simulator.protocols.stt_deepgram import CLOSES, deepgram_refusal


class DeepgramTts(TtsDialect):
    """`Speak` and `Flush`; binary audio and `Flushed`; `Close` ends."""

    path = "/v1/speak"
    client_first = False
    impossible: ClassVar[Mapping[str, str]] = {}

    def __init__(self, opening: Opening) -> None:
        super().__init__(opening)
        self._flushes = 0

    @classmethod
    def refusal(cls, status: int, message: str) -> tuple[Mapping[str, str], Any]:
        """Return the error in the body and in `dg-error`."""
        return deepgram_refusal(status, message, "00000000-0000-4000-8000-000000000000")

    @property
    def rate(self) -> int:
        """The rate of the query; 24 kHz unless said."""
        return number(self.opening.query.get("sample_rate"), 24_000)

    def greeting(self) -> Frames:
        """Return `Metadata`, which names the model."""
        metadata = {
            "type": "Metadata",
            "request_id": self.id,
            "model_name": self.opening.model or self.opening.query.get("model", "aura-asteria-en"),
            "model_version": "2026-01-01.0",
            "model_uuid": "00000000-0000-4000-8000-000000000002",
        }
        return (encode(metadata),)

    def hear(self, message: Frame) -> Said:
        """Every message is told by its type."""
        told = decode(message)
        match told.get("type"):
            case "Speak":
                return Said(text=str(told.get("text", "")))
            case "Flush":
                return Said(speak=True)
            case "Close":
                return Said(end=True)
            case _:
                return Said()

    def audio(self, pcm: bytes, index: int, last: bool) -> Frames:
        """Return audio as it is."""
        return (pcm,)

    def spoken(self) -> Frames:
        """Return the answer to `Flush`."""
        self._flushes += 1
        return (encode({"type": "Flushed", "sequence_id": self._flushes - 1}),)

    def report(self, error: ErrorKind, message: str) -> Report:
        """Return a warning where there is one, and a close."""
        warning = encode({"type": "Warning", "code": error.upper(), "description": message})
        limited = error in (ErrorKind.RATE_LIMITED, ErrorKind.CONCURRENCY)
        return Report((warning,) if limited else (), *CLOSES.get(error, (1008, "DATA-0000")))
