"""Hume: streaming text to speech (Octave).

Source: the message types of Hume's own Python SDK 0.14.1 (`hume.tts`), whose authentication is by header; what the
first letter of an error code means is said in its documentation of errors, and that an error nests its type in
`details` was seen in the field. Settings are its parameters by their own names, but for `model`, which is only a
name for us (its `version` chooses the model), `voice` and `encoding` (its `format_type`).
"""

from collections.abc import Iterable, Iterator
from typing import Any

from sayagain.providers.access import Access, Closed, WebsocketFrame, WebsocketRequest
from sayagain.providers.codec import Signal
from sayagain.providers.network import WebsocketTts, compact, said, text_at
from sayagain.records import FailureKind, Item, Target


class HumeTts(WebsocketTts):
    """Text to speech, `/v0/tts/stream/input`: base64 audio until the server closes.

    `is_last_chunk` ends a snippet, of which a text may have several, and not the answer; a close inside a
    snippet is a lost connection.
    """

    version = "hume-tts/1"

    def __init__(self, target: Target, item: Item, access: Access) -> None:
        super().__init__(target, item, access)
        self._inside_snippet = False

    def open(self) -> WebsocketRequest:
        """Ask with the settings as query parameters, for audio in JSON only and without headers inside it."""
        parameters = self.query("version", "instant_mode", "temperature")
        query = {"format_type": self.settings.get("encoding"), "no_binary": True, "strip_headers": True}
        return WebsocketRequest(
            self.access.websocket_url("/v0/tts/stream/input", {**query, **parameters}),
            headers={"X-Hume-Api-Key": self.access.key},
        )

    def text(self, text: str) -> Iterable[WebsocketFrame]:
        """Send the text, have it spoken at once, and end the stream."""
        voice = {"name": self.settings["voice"], "provider": self.settings.get("voice_provider")}
        utterance = self.query("speed", "description", "trailing_silence")
        return (compact(text=text, voice=voice, **utterance), compact(flush=True), compact(close=True))

    def message(self, message: dict[str, Any]) -> Iterator[Signal]:
        """Read audio and errors."""
        match message["type"]:
            case "audio":
                self._inside_snippet = not message["is_last_chunk"]
                yield from self.base64_pcm(text_at(message, "audio"))
            case "error":
                yield self._error(message)

    def _error(self, message: dict[str, Any]) -> Signal:
        """Read an error: one whose code begins with E is, by the documentation, an error of what was asked for."""
        code, details = said(message, "code"), message.get("details")
        nested = said(details, "type") if isinstance(details, dict) else ""
        otherwise = FailureKind.BAD_REQUEST if code.startswith("E") else FailureKind.SERVER_ERROR
        return self.refused(nested or code, said(message, "message"), otherwise=otherwise)

    def closed(self, close: Closed) -> Iterable[Signal]:
        """Read a normal close between snippets as the end."""
        over = close.normal and not self._inside_snippet
        return self.finished() if over else super().closed(close)
