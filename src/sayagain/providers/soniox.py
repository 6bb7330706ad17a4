"""Soniox: streaming speech to text.

Source: the message types and client of Soniox' own Python SDK 2.10 (`soniox.realtime`), which authenticates by
header; its documentation of errors says that they are HTTP statuses. Settings are the fields of its
configuration by their own names, but for `language` (its `language_hints`; several, with commas), `encoding`
(its `audio_format`) and `channels` (its `num_channels`).
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from sayagain.providers.access import Access, WebsocketFrame, WebsocketRequest
from sayagain.providers.codec import Done, Final, Partial, Signal
from sayagain.providers.network import WebsocketStt, compact, said, text_at
from sayagain.records import Item, Target

CONTROL_TOKENS = ("<end>", "<fin>")
"""Tokens that mark an endpoint or a finalization and are no text."""


class SonioxStt(WebsocketStt):
    """Speech to text, `/transcribe-websocket`: final tokens are the transcript, `finished` is the end.

    Tokens carry their spaces, so they are joined as they are. A final token is sent once, so one that comes again
    with the same times is the same; tokens that are not final are sent again and again.
    """

    version = "soniox-stt/1"
    joiner = ""

    def __init__(self, target: Target, item: Item, access: Access) -> None:
        super().__init__(target, item, access)
        self._seen: set[tuple[str, object, object]] = set()

    def open(self) -> WebsocketRequest:
        """Ask for a session; it is configured by the first message."""
        return WebsocketRequest(
            self.access.websocket_url("/transcribe-websocket"),
            headers={"Authorization": f"Bearer {self.access.key}"},
        )

    def opening(self) -> Iterable[WebsocketFrame]:
        """Configure the session."""
        fields = self.query(
            "language_hints_strict",
            "enable_language_identification",
            "enable_endpoint_detection",
            "max_endpoint_delay_ms",
            "endpoint_sensitivity",
        )
        return (
            compact(
                model=self.model,
                audio_format=self.settings.get("encoding"),
                sample_rate=self.audio_format.rate,
                num_channels=self.settings.get("channels"),
                language_hints=self.listed("language") or None,
                **fields,
            ),
        )

    def end(self) -> Iterable[WebsocketFrame]:
        """Send an empty text message."""
        return ("",)

    def message(self, message: dict[str, Any]) -> Iterator[Signal]:
        """Read tokens, the end (which can bring the last tokens) and errors."""
        if message.get("error_code") is not None:
            yield self.refused(message["error_code"], said(message, "error_message"))
            return
        final = partial = ""
        for token in message["tokens"]:
            text = text_at(token, "text")
            if text in CONTROL_TOKENS:
                continue
            if not token.get("is_final"):
                partial += text
            elif self._is_new(token):
                final += text
        if final:
            yield Final(final)
        if partial:
            yield Partial(partial)
        if message.get("finished"):
            yield Done()

    def _is_new(self, token: Mapping[str, Any]) -> bool:
        """Say whether a final token was not there before; one without times cannot be told from another."""
        identity = (token["text"], token.get("start_ms"), token.get("end_ms"))
        if identity[1] is None or identity not in self._seen:
            self._seen.add(identity)
            return True
        return False
