"""Gladia: streaming speech to text, version 2 of its live API.

Source: the message types of Gladia's own Python SDK, gladiaio-sdk 2.2.1 (`v2.live`); that a live job which has
ended closes with 4403 was seen in the field. Settings are the fields of its request by their own names, those of
its `language_config`, `pre_processing` and `messages_config` among them; `language` may be several, with commas.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, ClassVar

from sayagain.providers.access import Access, Closed, HttpRequest, WebsocketFrame, WebsocketRequest
from sayagain.providers.codec import Done, Final, Partial, Signal
from sayagain.providers.network import WebsocketStt, compact, mapping_at, text_at
from sayagain.providers.refusals import Rule, status_rule
from sayagain.records import FailureKind, Item, Target


class GladiaStt(WebsocketStt):
    """Speech to text: a POST to `/v2/live` answers with the websocket of a job.

    Every final utterance is a segment; after `stop_recording` the server closes when all is said.
    """

    version = "gladia-stt/1"
    # 4403 says that the job has ended; the others are not documented and taken for an HTTP status plus 4000.
    close_rules: ClassVar[Mapping[int, Rule]] = {
        **{4000 + status: status_rule(status) for status in (400, 401, 402, 429, 500, 503)},
        4403: Rule(FailureKind.CONNECTION_LOST),
    }

    def __init__(self, target: Target, item: Item, access: Access) -> None:
        super().__init__(target, item, access)
        self._url = ""
        self._stopped = False

    def prepare(self) -> HttpRequest:
        """Order a job."""
        fields = self.query(
            "encoding", "bit_depth", "channels", "endpointing", "maximum_duration_without_endpointing"
        )
        return HttpRequest(
            self.access.url("/v2/live", self.query("region")),
            headers={"x-gladia-key": self.access.key},
            json={
                "model": self.model,
                "sample_rate": self.audio_format.rate,
                **fields,
                "language_config": {"languages": self.listed("language"), **self.query("code_switching")},
                "pre_processing": self.query("audio_enhancer", "speech_threshold"),
                "messages_config": {
                    "receive_final_transcripts": True,
                    "receive_errors": True,
                    **self.query("receive_partial_transcripts"),
                },
            },
        )

    def prepared(self, answer: Any) -> None:
        """Take the address of the job's websocket, which holds its token."""
        url = text_at(answer, "url")
        if not url.startswith(("wss://", "ws://")):
            raise ValueError("the address is not that of a websocket")
        self._url = url

    def open(self) -> WebsocketRequest:
        """Go to the address that the answer named."""
        return WebsocketRequest(self._url)

    def end(self) -> Iterable[WebsocketFrame]:
        """Stop the recording, which has what was heard transcribed."""
        self._stopped = True
        return (compact(type="stop_recording"),)

    def message(self, message: dict[str, Any]) -> Iterator[Signal]:
        """Read transcripts and errors; what sums up the transcript after its end repeats it."""
        if message.get("error"):
            yield self.reported(message["error"])
        elif message["type"] == "transcript":
            data = mapping_at(message, "data")
            text = text_at(mapping_at(data, "utterance"), "text")
            if data["is_final"]:
                yield Final(text, segment=text_at(data, "id"))
            elif text:
                yield Partial(text)

    def closed(self, close: Closed) -> Iterable[Signal]:
        """Read a normal close as the end, once the recording was stopped."""
        return (Done(),) if self._stopped and close.normal else super().closed(close)
