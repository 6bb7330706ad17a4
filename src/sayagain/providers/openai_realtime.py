"""OpenAI Realtime: streaming speech to text in a transcription session.

Source: the event types of OpenAI's own Python SDK 3.57 (`openai.types.realtime`); that a commit needs at least
100 ms of audio is what its server says when there is less. Settings: `model`, `language`, `prompt`, `delay` of
the transcription; `noise_reduction` (`none`, `near_field`, `far_field`); `turn_detection` (`none`: the whole
recording is one item; `server_vad` with `threshold`, `prefix_padding_ms`, `silence_duration_ms`; `semantic_vad`
with `eagerness`).
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, ClassVar

from sayagain.providers.access import Access, WebsocketFrame, WebsocketRequest
from sayagain.providers.codec import Done, Final, Partial, Ready, Signal
from sayagain.providers.network import WebsocketStt, compact, encode_base64, mapping_at, said, text_at, within
from sayagain.providers.refusals import Rule
from sayagain.records import FailureKind, Item, Target

NOTHING_TO_COMMIT = "input_audio_buffer_commit_empty"
"""The code that answers a commit of less than 100 ms of audio."""

_TYPES = {
    "invalid_request_error": FailureKind.BAD_REQUEST,
    "authentication_error": FailureKind.AUTH,
    "rate_limit_error": FailureKind.RATE_LIMITED,
}
"""What the type of an error means when its code is not known."""

_TRANSCRIPTION = "conversation.item.input_audio_transcription"


class OpenAIRealtimeStt(WebsocketStt):
    """Speech to text, `/v1/realtime`: every completed item is a segment of the transcript.

    The session has no end of its own: it is over when the last commit was answered and every item that was
    committed is transcribed.
    """

    version = "openai-realtime-stt/1"
    awaits_ready = True
    error_rules: ClassVar[Mapping[str, Rule]] = {
        NOTHING_TO_COMMIT: Rule(FailureKind.BAD_REQUEST),
        "model_not_found": Rule(FailureKind.BAD_REQUEST),
        "session_expired": Rule(FailureKind.CONNECTION_LOST),
    }

    def __init__(self, target: Target, item: Item, access: Access) -> None:
        super().__init__(target, item, access)
        self._heard: dict[str, str] = {}
        self._committed: set[str] = set()
        self._transcribed: set[str] = set()
        self._ended = False
        self._answered = False

    def open(self) -> WebsocketRequest:
        """Ask for a transcription session; it is configured by the first message."""
        return WebsocketRequest(
            self.access.websocket_url("/v1/realtime", {"intent": "transcription"}),
            headers={"Authorization": f"Bearer {self.access.key}"},
        )

    def opening(self) -> Iterable[WebsocketFrame]:
        """Configure the session; `session.updated` confirms it."""
        noise_reduction = self.settings.get("noise_reduction") or "none"
        audio = {
            "format": {"type": "audio/pcm", "rate": self.audio_format.rate},
            "transcription": {"model": self.model, **self.query("language", "prompt", "delay")},
            "turn_detection": self._turn_detection(),
            "noise_reduction": None if noise_reduction == "none" else {"type": noise_reduction},
        }
        return (compact(type="session.update", session={"type": "transcription", "audio": {"input": audio}}),)

    def audio(self, pcm: bytes) -> Iterable[WebsocketFrame]:
        """Yield the audio as base64."""
        return (compact(type="input_audio_buffer.append", audio=encode_base64(pcm)),)

    def end(self) -> Iterable[WebsocketFrame]:
        """Commit what the server has not committed by itself."""
        self._ended = True
        return (compact(type="input_audio_buffer.commit"),)

    def message(self, message: dict[str, Any]) -> Iterator[Signal]:
        """Read the configuration, commits, transcripts and errors."""
        match message["type"]:
            case "session.updated":
                named = within(message, "session", "audio", "input", "transcription", "model")
                yield from self.model_named(named)
                yield Ready()
            case "input_audio_buffer.committed":
                self._committed.add(text_at(message, "item_id"))
                self._answered = self._ended
            case "error":
                yield from self._error(mapping_at(message, "error"))
            case str(kind) if kind.startswith(_TRANSCRIPTION):
                yield from self._transcription(kind.removeprefix(f"{_TRANSCRIPTION}."), message)

    def _transcription(self, kind: str, message: dict[str, Any]) -> Iterator[Signal]:
        item = text_at(message, "item_id")
        match kind:
            case "delta":
                self._heard[item] = self._heard.get(item, "") + text_at(message, "delta")
                if self._heard[item]:
                    yield Partial(self._heard[item])
            case "completed":
                yield Final(text_at(message, "transcript"), segment=item)
                self._transcribed.add(item)
                yield from self._over()
            case "failed":
                yield from self._error(mapping_at(message, "error"))

    def _error(self, error: Mapping[str, Any]) -> Iterator[Signal]:
        code = said(error, "code", "type")
        if code == NOTHING_TO_COMMIT and self._ended and self._committed:
            self._answered = True
            yield from self._over()
            return
        otherwise = _TYPES.get(said(error, "type"), FailureKind.SERVER_ERROR)
        yield self.refused(code, said(error, "message"), otherwise=otherwise)

    def _over(self) -> Iterator[Signal]:
        if self._answered and self._committed <= self._transcribed:
            yield Done()

    def _turn_detection(self) -> dict[str, Any] | None:
        kind = self.settings.get("turn_detection") or "none"
        if kind == "none":
            return None
        return {
            "type": kind,
            **self.query("threshold", "prefix_padding_ms", "silence_duration_ms", "eagerness"),
        }
