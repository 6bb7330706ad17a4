"""AssemblyAI: streaming speech to text, version 3.

Source: the message types of AssemblyAI's own Python SDK 1.8.2 (`assemblyai.streaming.v3`); the meaning of its
codes and the bounds of a frame of audio (50 to 1000 ms) are those of its documentation of streaming errors.
Settings are its query parameters by their own names, but for `model`, which is its `speech_model`.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, ClassVar

from sayagain.providers.access import Access, WebsocketFrame, WebsocketRequest
from sayagain.providers.codec import Done, Final, Partial, Signal
from sayagain.providers.network import WebsocketStt, compact, said, text_at, within
from sayagain.providers.refusals import Rule
from sayagain.records import FailureKind, Item, Target

LEAST_FRAME_S = 0.05
"""The shortest frame of audio that is accepted, in seconds."""

MODELS = frozenset(
    {
        "universal-streaming-english",
        "universal-streaming-multilingual",
        "u3-rt-pro",
        "whisper-rt",
        "universal-3-5-pro",
        "universal-3-6",
        "universal-3-6-pro",
    }
)
"""The models that can be asked for, by the SDK's `SpeechModel`, without beta and deprecated names."""

_CODES = {
    1008: Rule(FailureKind.AUTH),
    3005: Rule(FailureKind.SERVER_ERROR),
    3006: Rule(FailureKind.BAD_REQUEST),
    3007: Rule(FailureKind.BAD_REQUEST),
    3008: Rule(FailureKind.CONNECTION_LOST),
    3009: Rule(FailureKind.RATE_LIMITED),
    4001: Rule(FailureKind.AUTH),
    4002: Rule(FailureKind.QUOTA),
    4003: Rule(FailureKind.QUOTA),
    4029: Rule(FailureKind.RATE_LIMITED),
    4031: Rule(FailureKind.IDLE_TIMEOUT),
    4102: Rule(FailureKind.RATE_LIMITED),
}
"""What a code means, in an `Error` message and in the close that follows it."""


class AssemblyAIStt(WebsocketStt):
    """Speech to text, `/v3/ws`: every turn that has ended is a segment, `Termination` is the end.

    With `format_turns` a turn ends twice, first as it was heard and then formatted; the formatted text is the
    transcript, unless it never comes.
    """

    version = "assemblyai-stt/1"
    error_rules: ClassVar[Mapping[str, Rule]] = {str(code): rule for code, rule in _CODES.items()}
    close_rules: ClassVar[Mapping[int, Rule]] = _CODES

    def __init__(self, target: Target, item: Item, access: Access) -> None:
        super().__init__(target, item, access)
        self._least_bytes = round(LEAST_FRAME_S * self.audio_format.rate) * self.audio_format.frame_bytes
        self._held = b""
        self._unformatted: dict[str, str] = {}

    def open(self) -> WebsocketRequest:
        """Ask with the settings as query parameters."""
        parameters = self.query(
            "sample_rate",
            "encoding",
            "language_code",
            "format_turns",
            "end_of_turn_confidence_threshold",
            "min_turn_silence",
            "max_turn_silence",
            "vad_threshold",
            "filter_profanity",
            "inactivity_timeout",
        )
        return WebsocketRequest(
            self.access.websocket_url("/v3/ws", {"speech_model": self.model, **parameters}),
            headers={"Authorization": self.access.key, "AssemblyAI-Version": "2025-05-12"},
        )

    def audio(self, pcm: bytes) -> Iterable[WebsocketFrame]:
        """Yield the audio as it is, once there is enough of it for a frame."""
        frame, self._held = self._held + pcm, b""
        if len(frame) >= self._least_bytes:
            return (frame,)
        self._held = frame
        return ()

    def end(self) -> Iterable[WebsocketFrame]:
        """Send what is left, with silence up to the length of the shortest frame, and end the session."""
        last = (self._held.ljust(self._least_bytes, b"\0"),) if self._held else ()
        return (*last, compact(type="Terminate"))

    def message(self, message: dict[str, Any]) -> Iterator[Signal]:
        """Read the name of the model, turns, the end and errors; an older form of error has no type."""
        if "error" in message:
            yield self.refused(message.get("error_code"), said(message, "error"))
            return
        match message["type"]:
            case "Begin":
                yield from self._model(within(message, "configuration", "model"))
            case "Turn":
                yield from self._turn(message)
            case "Termination":
                yield from (Final(text, segment) for segment, text in self._unformatted.items())
                yield Done()

    def _model(self, name: object) -> Iterator[Signal]:
        """Take a name for another model only when it can be asked for: its spelling here was never proven."""
        if isinstance(name, str) and name in MODELS:
            yield from self.model_named(name)

    def _turn(self, message: dict[str, Any]) -> Iterator[Signal]:
        text, segment = text_at(message, "transcript"), f"turn {message['turn_order']}"
        if not message["end_of_turn"]:
            if text:
                yield Partial(text)
        elif self.settings.get("format_turns") and not message["turn_is_formatted"]:
            self._unformatted[segment] = text
        else:
            self._unformatted.pop(segment, None)
            yield Final(text, segment)
