"""Cartesia: streaming speech to text and streaming text to speech.

Source: the message types of Cartesia's own Python SDK 4.2 (`types.stt`, `types.websocket_response`,
`types.generation_request_param`), whose version of the API is the one asked for here. Settings are its
parameters by their own names, but for `model` and `voice` (the ids of both).
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, ClassVar

from sayagain.providers.access import WebsocketFrame, WebsocketRequest
from sayagain.providers.codec import Done, Final, Partial, Signal
from sayagain.providers.network import NetworkCodec, WebsocketStt, WebsocketTts, compact, said, text_at
from sayagain.providers.refusals import Rule
from sayagain.records import FailureKind, Setting

API_VERSION = "2026-08-14"


class _Cartesia(NetworkCodec):
    """What both directions share: authentication and errors."""

    error_rules: ClassVar[Mapping[str, Rule]] = {"concurrency_limited": Rule(FailureKind.RATE_LIMITED)}

    def _open(self, path: str, query: Mapping[str, Setting] | None = None) -> WebsocketRequest:
        return WebsocketRequest(
            self.access.websocket_url(path, query),
            headers={"Authorization": f"Bearer {self.access.key}", "Cartesia-Version": API_VERSION},
        )

    def _error(self, message: dict[str, Any]) -> Signal:
        status = message.get("status_code")
        return self.refused(
            message.get("error_code"),
            said(message, "message", "title"),
            status=status if type(status) is int else None,
        )


class CartesiaStt(_Cartesia, WebsocketStt):
    """Speech to text, `/stt/websocket`: final texts are the transcript, `done` is the end.

    A final text begins where the last one ended and carries its spaces, so they are joined as they are.
    """

    version = "cartesia-stt/1"
    joiner = ""

    def open(self) -> WebsocketRequest:
        """Ask with the settings as query parameters."""
        parameters = self.query("language", "encoding", "sample_rate", "min_volume", "max_silence_duration_secs")
        return self._open("/stt/websocket", {"model": self.model, **parameters})

    def end(self) -> Iterable[WebsocketFrame]:
        """Have what was heard transcribed now, and the stream ended; both are words, not JSON."""
        return ("finalize", "close")

    def message(self, message: dict[str, Any]) -> Iterator[Signal]:
        """Read transcripts, the end and errors."""
        match message["type"]:
            case "transcript":
                text = text_at(message, "text")
                if message["is_final"]:
                    yield Final(text)
                elif text:
                    yield Partial(text)
            case "done":
                yield Done()
            case "error":
                yield self._error(message)


class CartesiaTts(_Cartesia, WebsocketTts):
    """Text to speech, `/tts/websocket`: base64 audio in chunks until `done`."""

    version = "cartesia-tts/1"

    def open(self) -> WebsocketRequest:
        """Ask for a connection; the one request it carries says everything."""
        return self._open("/tts/websocket")

    def text(self, text: str) -> Iterable[WebsocketFrame]:
        """Ask for the whole text at once."""
        request = {
            "model_id": self.model,
            "transcript": text,
            "voice": {"mode": "id", "id": self.settings["voice"]},
            "context_id": "sayagain",
            "output_format": {
                "container": "raw",
                "encoding": self.settings["encoding"],
                "sample_rate": self.audio_format.rate,
            },
            "continue": False,
            **self.query("language", "max_buffer_delay_ms"),
            "generation_config": self.query("speed", "volume", "emotion") or None,
        }
        return (compact(**request),)

    def message(self, message: dict[str, Any]) -> Iterator[Signal]:
        """Read audio, the end and errors."""
        match message["type"]:
            case "chunk":
                yield from self.base64_pcm(text_at(message, "data"))
            case "done":
                yield from self.finished()
            case "error":
                yield self._error(message)
