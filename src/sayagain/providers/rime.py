"""Rime: streaming text to speech.

Source: Rime's documentation of its `/ws3` endpoint (it has no Python SDK). Settings are its query parameters by
their own names, but for `model` (its `modelId`), `voice` (its `speaker`), `language` (its `lang`), `encoding`
(its `audioFormat`) and `sample_rate` (its `samplingRate`; which rates there are depends on the model).
"""

from collections.abc import Iterable, Iterator
from typing import Any

from sayagain.providers.access import Access, Closed, WebsocketFrame, WebsocketRequest
from sayagain.providers.codec import Signal
from sayagain.providers.network import WebsocketTts, compact, said, text_at
from sayagain.providers.refusals import worded
from sayagain.records import FailureKind, Item, Target


class RimeTts(WebsocketTts):
    """Text to speech, `/ws3`: base64 audio in chunks until `done`.

    There is one `done` for each piece of text that was synthesized: one for the whole text with `segment =
    "never"`; otherwise the end is the close that follows the last.
    """

    version = "rime-tts/1"

    def __init__(self, target: Target, item: Item, access: Access) -> None:
        super().__init__(target, item, access)
        self._whole = self.settings.get("segment") == "never"
        self._piece_is_done = False

    def open(self) -> WebsocketRequest:
        """Ask with the settings as query parameters."""
        settings = self.settings
        named = {
            "modelId": self.model,
            "speaker": settings["voice"],
            "lang": settings.get("language"),
            "audioFormat": settings.get("encoding"),
            "samplingRate": self.audio_format.rate,
        }
        parameters = self.query("segment", "speedAlpha", "noTextNormalization", "temperature", "top_p")
        return WebsocketRequest(
            self.access.websocket_url("/ws3", {**named, **parameters}),
            headers={"Authorization": f"Bearer {self.access.key}"},
        )

    def text(self, text: str) -> Iterable[WebsocketFrame]:
        """Send the text and its end."""
        return (compact(text=text), compact(operation="eos"))

    def message(self, message: dict[str, Any]) -> Iterator[Signal]:
        """Read audio, the end and errors, which have no code."""
        match message["type"]:
            case "chunk":
                self._piece_is_done = False
                yield from self.base64_pcm(text_at(message, "data"))
            case "done":
                self._piece_is_done = True
                if self._whole:
                    yield from self.finished()
            case "error":
                yield self._error(said(message, "message"))

    def _error(self, text: str) -> Signal:
        """Read an error: it has no code, so that its words have to do."""
        rule = worded(text)
        return self.refused(None, text, otherwise=FailureKind.SERVER_ERROR if rule is None else rule.kind)

    def closed(self, close: Closed) -> Iterable[Signal]:
        """Read a normal close as the end when every piece is done."""
        over = self._piece_is_done and close.normal
        return self.finished() if over else super().closed(close)
