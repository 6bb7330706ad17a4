"""Speechmatics: streaming speech to text.

Source: the message types of Speechmatics' own Python SDK, speechmatics-rt 1.2.1; error types and close codes are
those of its Realtime API reference. Settings are the fields of its `transcription_config` by their own names,
with `encoding` and `sample_rate` of its `audio_format`, `end_of_utterance_silence_trigger` of its
`conversation_config` and `remove_disfluencies` of its `transcript_filtering_config`.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, ClassVar

from sayagain.providers.access import Access, WebsocketFrame, WebsocketRequest
from sayagain.providers.codec import Done, Final, Partial, Ready, Signal
from sayagain.providers.network import WebsocketStt, compact, mapping_at, said, text_at
from sayagain.providers.refusals import Rule
from sayagain.records import FailureKind, Item, Target


class SpeechmaticsStt(WebsocketStt):
    """Speech to text, `/v2`: every `AddTranscript` is a segment, `EndOfTranscript` is the end.

    A segment carries the space that follows it, so segments are joined as they are.
    """

    version = "speechmatics-stt/1"
    joiner = ""
    awaits_ready = True
    error_rules: ClassVar[Mapping[str, Rule]] = {
        "invalid_message": Rule(FailureKind.BAD_REQUEST),
        "invalid_model": Rule(FailureKind.BAD_REQUEST),
        "invalid_language": Rule(FailureKind.BAD_REQUEST),
        "invalid_config": Rule(FailureKind.BAD_REQUEST),
        "invalid_audio_type": Rule(FailureKind.AUDIO_FORMAT),
        "invalid_output_format": Rule(FailureKind.BAD_REQUEST),
        "protocol_error": Rule(FailureKind.PROTOCOL),
        "not_authorised": Rule(FailureKind.AUTH),
        "not_allowed": Rule(FailureKind.AUTH),
        "insufficient_funds": Rule(FailureKind.QUOTA),
        # Its name for too many sessions at once; used up is `timelimit_exceeded`.
        "quota_exceeded": Rule(FailureKind.RATE_LIMITED),
        "timelimit_exceeded": Rule(FailureKind.QUOTA),
        "idle_timeout": Rule(FailureKind.IDLE_TIMEOUT),
        "session_timeout": Rule(FailureKind.CONNECTION_LOST),
    }
    close_rules: ClassVar[Mapping[int, Rule]] = {
        1003: Rule(FailureKind.PROTOCOL),
        4001: Rule(FailureKind.AUTH),
        4003: Rule(FailureKind.AUTH),
        4004: Rule(FailureKind.BAD_REQUEST),
        4005: Rule(FailureKind.RATE_LIMITED),
        4006: Rule(FailureKind.QUOTA),
        4013: Rule(FailureKind.SERVER_ERROR),
    }

    def __init__(self, target: Target, item: Item, access: Access) -> None:
        super().__init__(target, item, access)
        self._chunks = 0

    def open(self) -> WebsocketRequest:
        """Ask for a session; it is configured by the first message."""
        return WebsocketRequest(
            self.access.websocket_url("/v2"), headers={"Authorization": f"Bearer {self.access.key}"}
        )

    def opening(self) -> Iterable[WebsocketFrame]:
        """Configure the session; `RecognitionStarted` confirms it."""
        fields = self.query(
            "language",
            "output_locale",
            "domain",
            "enable_partials",
            "enable_entities",
            "max_delay",
            "max_delay_mode",
            "diarization",
        )
        parts = {
            "conversation_config": self.query("end_of_utterance_silence_trigger"),
            "transcript_filtering_config": self.query("remove_disfluencies"),
        }
        return (
            compact(
                message="StartRecognition",
                audio_format={"type": "raw", **self.query("encoding"), "sample_rate": self.audio_format.rate},
                transcription_config={
                    "model": self.model,
                    **fields,
                    **{name: part for name, part in parts.items() if part},
                },
            ),
        )

    def audio(self, pcm: bytes) -> Iterable[WebsocketFrame]:
        """Yield the audio as it is, counting its messages."""
        self._chunks += 1
        return (pcm,)

    def end(self) -> Iterable[WebsocketFrame]:
        """Say how many messages of audio there were."""
        return (compact(message="EndOfStream", last_seq_no=self._chunks),)

    def message(self, message: dict[str, Any]) -> Iterator[Signal]:
        """Read the start, transcripts, the end and errors."""
        match message["message"]:
            case "RecognitionStarted":
                yield Ready()
            case "AddPartialTranscript":
                if text := text_at(mapping_at(message, "metadata"), "transcript"):
                    yield Partial(text)
            case "AddTranscript":
                yield _final(mapping_at(message, "metadata"))
            case "EndOfTranscript":
                yield Done()
            case "Error":
                yield self.refused(message["type"], said(message, "reason"))


def _final(metadata: Mapping[str, Any]) -> Final:
    """Return a segment; finals have no ids, but no two can be of the same stretch of the recording."""
    start, end = metadata.get("start_time"), metadata.get("end_time")
    return Final(text_at(metadata, "transcript"), segment=None if start == end else f"{start} to {end} s")
