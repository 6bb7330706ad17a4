"""Rime speech over its `ws3` websocket. Source: Rime's documentation; there is no Python SDK to check against."""

import base64
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

DEFAULT_RATE = 24_000
"""What the stand-in speaks when `samplingRate` is not said; the provider's default depends on the model."""


class Rime(TtsDialect):
    """Texts, then `flush` or `eos`; `chunk`s, then `done`. `eos` also closes."""

    path = "/ws3"
    impossible: ClassVar[Mapping[str, str]] = {"wrong_model": "it names no model"}

    def __init__(self, opening: Opening) -> None:
        super().__init__(opening)
        self._context: str | None = None

    @property
    def rate(self) -> int:
        """The rate of `samplingRate`."""
        return number(self.opening.query.get("samplingRate"), DEFAULT_RATE)

    def hear(self, message: Frame) -> Said:
        """Texts and operations are JSON."""
        told = decode(message)
        match told.get("operation"):
            case "flush":
                return Said(speak=True)
            case "eos":
                return Said(speak=True, end=True)
            case "clear":
                return Said()
        context = told.get("contextId")
        self._context = context if isinstance(context, str) else None
        return Said(text=str(told.get("text", "")))

    def audio(self, pcm: bytes, index: int, last: bool) -> Frames:
        """Return audio as base64."""
        return (self._message("chunk", data=base64.b64encode(pcm).decode()),)

    def spoken(self) -> Frames:
        """Return the end of a synthesis."""
        return (self._message("done"),)

    def report(self, error: ErrorKind, message: str) -> Report:
        """Return an error and a close."""
        return Report((self._message("error", message=f"{error}: {message}"),), 1008, error)

    def _message(self, kind: str, **more: Any) -> str:
        return encode({"type": kind, "contextId": self._context} | more)
