"""Soniox realtime transcription. Source: soniox 2.10.0 (`realtime.stt`, `types.realtime`).

The key comes with the handshake (as the SDK does it) or in the first message (as older clients do); both at once
are refused. Final tokens are sent once, others again and again; their texts are joined as they are.
"""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from sayagain.simulator.faults import ErrorKind
from sayagain.simulator.protocols.base import (
    END,
    FLUSH,
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

CODES = {
    ErrorKind.AUTH: 401,
    ErrorKind.QUOTA: 402,
    ErrorKind.RATE_LIMITED: 429,
    ErrorKind.CONCURRENCY: 429,
    ErrorKind.BAD_REQUEST: 400,
    ErrorKind.SESSION_EXPIRED: 408,
    ErrorKind.SERVER_ERROR: 503,
}


class Soniox(SttDialect):
    """A configuration message, audio, and an empty text message that ends; `finished` says that all is done."""

    path = "/transcribe-websocket"
    client_first = True
    impossible: ClassVar[Mapping[str, str]] = {"wrong_model": "it names no model"}

    def __init__(self, opening: Opening) -> None:
        super().__init__(opening)
        self._config: Mapping[str, Any] | None = None

    @classmethod
    def has_key(cls, opening: Opening) -> bool:
        """The first message may still bring it."""
        return True

    @property
    def rate(self) -> int:
        """The rate of the configuration."""
        stated = (self._config or {}).get("sample_rate")
        return stated if isinstance(stated, int) and stated > 0 else 16_000

    def hear(self, message: Frame) -> Heard:
        """The first message configures; after it audio is binary and an empty text ends."""
        if self._config is None:
            self._configure(decode(message))
            return NOTHING
        if isinstance(message, bytes):
            return Heard(pcm=message)
        if not message:
            return END
        return FLUSH if decode(message).get("type") == "finalize" else NOTHING

    def partial(self, segment: Segment) -> Frames:
        """Return tokens that are not final."""
        return (self._tokens(self._of(segment, is_final=False)),)

    def final(self, segment: Segment) -> Frames:
        """Return final tokens."""
        return (self._tokens(self._of(segment, is_final=True)),)

    def flushed(self) -> Frames:
        """Return the control token that ends a finalization."""
        return (self._tokens([{"text": "<fin>", "is_final": True}]),)

    def done(self) -> Frames:
        """Return `finished`."""
        return (self._tokens([], finished=True),)

    def repeated(self, segments: Sequence[Segment]) -> Frames:
        """Return a message like `finished` that carries every final token again, with its times."""
        return (self._tokens([token for segment in segments for token in self._of(segment, is_final=True)]),)

    def report(self, error: ErrorKind, message: str) -> Report:
        """Return an error in the form of an HTTP status, and a close."""
        frame = encode({"tokens": [], "error_code": CODES[error], "error_message": message})
        return Report((frame,), 1008 if CODES[error] < 500 else 1011)

    def _configure(self, config: Mapping[str, Any]) -> None:
        in_header, in_message = bool(self.opening.headers.get("Authorization")), bool(config.get("api_key"))
        if in_header and in_message:
            raise ClientError(ErrorKind.BAD_REQUEST, "the key was sent twice")
        if not in_header and not in_message:
            raise ClientError(ErrorKind.AUTH, "there is no key")
        if not config.get("model"):
            raise ClientError(ErrorKind.BAD_REQUEST, "the model is missing")
        self._config = config

    def _of(self, segment: Segment, is_final: bool) -> list[dict[str, Any]]:
        return [
            {
                "text": word if segment.index == position == 0 else f" {word}",
                "start_ms": int(start * 1000),
                "end_ms": int(end * 1000),
                "confidence": 0.99,
                "is_final": is_final,
            }
            for position, (word, start, end) in enumerate(words(segment))
        ]

    def _tokens(self, tokens: list[dict[str, Any]], **more: Any) -> str:
        heard = int(self.heard_s * 1000)
        progress = {"tokens": tokens, "final_audio_proc_ms": heard, "total_audio_proc_ms": heard}
        return encode(progress | more)
