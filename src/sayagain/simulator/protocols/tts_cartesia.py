"""Cartesia speech. Source: cartesia 4.2.0 (`lib._tts`, `types.websocket_response`)."""

import base64
from collections.abc import Mapping
from typing import Any, ClassVar

from sayagain.simulator.faults import ErrorKind
from sayagain.simulator.protocols.base import (
    ClientError,
    Frame,
    Frames,
    Opening,
    Report,
    Said,
    TtsDialect,
    decode,
    encode,
)
from sayagain.simulator.protocols.stt_cartesia import CODES, cartesia_error


class CartesiaTts(TtsDialect):
    """One context: `chunk`s, then `done`; the connection stays open for the next."""

    path = "/tts/websocket"
    key_headers = ("X-API-Key", "Authorization")
    key_query = ("api_key", "access_token")
    closes = False
    impossible: ClassVar[Mapping[str, str]] = {"wrong_model": "it names no model"}

    def __init__(self, opening: Opening) -> None:
        super().__init__(opening)
        self._context = ""
        self._rate = 24_000

    @property
    def rate(self) -> int:
        """The rate of the request's output format."""
        return self._rate

    def hear(self, message: Frame) -> Said:
        """A request carries its whole configuration; `continue` says that more text follows."""
        told = decode(message)
        if told.get("cancel"):
            return Said()
        missing = [name for name in ("context_id", "model_id", "voice", "output_format") if not told.get(name)]
        if missing:
            raise ClientError(ErrorKind.BAD_REQUEST, f"{missing[0]} is missing")
        self._context = str(told["context_id"])
        wanted = told["output_format"]
        stated: Any = wanted.get("sample_rate") if isinstance(wanted, dict) else None
        if not isinstance(stated, int) or wanted.get("container") != "raw":
            raise ClientError(ErrorKind.BAD_REQUEST, "the stand-in sends raw audio at a stated sample_rate")
        self._rate = stated
        return Said(text=str(told.get("transcript", "")), speak=told.get("continue") is not True)

    def audio(self, pcm: bytes, index: int, last: bool) -> Frames:
        """Return audio as base64."""
        chunk = self._message("chunk", 206, done=False, data=base64.b64encode(pcm).decode(), step_time=1.0)
        return (chunk,)

    def spoken(self) -> Frames:
        """Return the end of the context."""
        return (self._message("done", 200, done=True),)

    def report(self, error: ErrorKind, message: str) -> Report:
        """Return an error of the context and a close."""
        told = cartesia_error(error, message, self.id) | {"done": True, "context_id": self._context or None}
        return Report((encode(told),), 1008, CODES[error][1])

    def _message(self, kind: str, status: int, **more: Any) -> str:
        return encode({"type": kind, "status_code": status, "context_id": self._context} | more)
