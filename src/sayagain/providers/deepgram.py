"""Deepgram: streaming speech to text (v1, and Flux on v2) and streaming text to speech.

Source: the message types of Deepgram's own Python SDK 7.17 (`listen.v1`, `listen.v2`, `speak.v1`); the error codes
are those of its documentation of streaming errors. Settings are Deepgram's query parameters by their own names.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, ClassVar

from sayagain.providers.access import Access, WebsocketFrame, WebsocketRequest
from sayagain.providers.codec import Done, Final, Partial, Signal
from sayagain.providers.network import NetworkCodec, WebsocketStt, WebsocketTts, compact, said, text_at, within
from sayagain.providers.refusals import Rule
from sayagain.records import FailureKind, Item, Target

SETTLING_S = 1.0
"""Silence that Flux must have heard without a turn beginning, for no turn to be outstanding, in seconds."""


class _Deepgram(NetworkCodec):
    """What its three services share: authentication and error codes."""

    error_rules: ClassVar[Mapping[str, Rule]] = {
        "DATA-0000": Rule(FailureKind.BAD_REQUEST),
        "NET-0000": Rule(FailureKind.SERVER_ERROR),
        "NET-0001": Rule(FailureKind.SERVER_ERROR),
        "ASR_PAYMENT_REQUIRED": Rule(FailureKind.QUOTA),
        "INVALID_AUTH": Rule(FailureKind.AUTH),
        "INSUFFICIENT_PERMISSIONS": Rule(FailureKind.AUTH),
        "SchemaError": Rule(FailureKind.BAD_REQUEST),
    }

    def _open(self, path: str, *names: str) -> WebsocketRequest:
        query = {"model": self.model, **self.query(*names)}
        return WebsocketRequest(
            self.access.websocket_url(path, query), headers={"Authorization": f"Token {self.access.key}"}
        )

    def _error(self, message: dict[str, Any]) -> Signal:
        code = said(message, "code", "err_code", "variant")
        return self.refused(code, said(message, "description", "err_msg", "message"))


class DeepgramStt(_Deepgram, WebsocketStt):
    """Speech to text, `/v1/listen`: segments with `is_final` are the transcript, `Metadata` is the end."""

    version = "deepgram-stt/1"
    keepalive_s = 5.0

    def open(self) -> WebsocketRequest:
        """Ask with the settings as query parameters."""
        return self._open(
            "/v1/listen",
            "language",
            "encoding",
            "sample_rate",
            "channels",
            "interim_results",
            "endpointing",
            "utterance_end_ms",
            "vad_events",
            "smart_format",
            "punctuate",
            "numerals",
            "filler_words",
            "mip_opt_out",
        )

    def end(self) -> Iterable[WebsocketFrame]:
        """Have what was heard transcribed now, and the stream ended."""
        return (compact(type="Finalize"), compact(type="CloseStream"))

    def keepalive(self) -> Iterable[WebsocketFrame]:
        """Say that the connection is meant to stay, which is due within every 10 s without audio."""
        return (compact(type="KeepAlive"),)

    def message(self, message: dict[str, Any]) -> Iterator[Signal]:
        """Read results, the closing metadata and errors; everything else is about the speaker, not the words."""
        match message["type"]:
            case "Results":
                yield from self._results(message)
            case "Metadata":
                yield Done()
            case "Error":
                yield self._error(message)

    def _results(self, message: dict[str, Any]) -> Iterator[Signal]:
        architecture = within(message, "metadata", "model_info", "arch")
        if architecture != self.model and not self.model.startswith(f"{architecture}-"):
            yield from self.model_named(architecture)
        text = text_at(message["channel"]["alternatives"][0], "transcript")
        if message.get("is_final"):
            yield Final(text, _stretch(message))
        elif text:
            yield Partial(text)


class DeepgramFluxStt(_Deepgram, WebsocketStt):
    """Speech to text with Flux, `/v2/listen`: every `EndOfTurn` is a segment of the transcript.

    Turns advance only while audio arrives, so silence follows the audio until the last turn has ended.
    """

    version = "deepgram-flux-stt/1"
    silence_after_end = True

    def __init__(self, target: Target, item: Item, access: Access) -> None:
        super().__init__(target, item, access)
        self._sent_bytes = 0
        self._audio_s: float | None = None
        self._in_turn = False

    def open(self) -> WebsocketRequest:
        """Ask with the settings as query parameters."""
        return self._open(
            "/v2/listen",
            "encoding",
            "sample_rate",
            "eager_eot_threshold",
            "eot_threshold",
            "eot_timeout_ms",
            "language_hint",
            "numerals",
            "mip_opt_out",
        )

    def audio(self, pcm: bytes) -> Iterable[WebsocketFrame]:
        """Yield the audio as it is, counting it until the end is announced."""
        self._sent_bytes += len(pcm)
        return (pcm,)

    def end(self) -> Iterable[WebsocketFrame]:
        """Send nothing: the end of a turn is heard in the silence that follows."""
        self._audio_s = self.audio_format.seconds(self._sent_bytes)
        return ()

    def message(self, message: dict[str, Any]) -> Iterator[Signal]:
        """Read turns and errors."""
        match message["type"]:
            case "TurnInfo":
                yield from self._turn(message)
            case "Error":
                yield self._error(message)

    def _turn(self, message: dict[str, Any]) -> Iterator[Signal]:
        event, text = message["event"], text_at(message, "transcript")
        heard_s = float(message["audio_window_end"])
        self._in_turn = event != "EndOfTurn" and (self._in_turn or event == "StartOfTurn" or bool(text))
        if event == "EndOfTurn":
            yield Final(text, segment=f"turn {message['turn_index']}")
        elif text:
            yield Partial(text)
        settling_s = 0.0 if event == "EndOfTurn" else SETTLING_S
        if self._audio_s is not None and not self._in_turn and heard_s >= self._audio_s + settling_s:
            yield Done()


class DeepgramTts(_Deepgram, WebsocketTts):
    """Text to speech, `/v1/speak`: binary audio until `Flushed`."""

    version = "deepgram-tts/1"

    def open(self) -> WebsocketRequest:
        """Ask with the settings as query parameters."""
        return self._open("/v1/speak", "encoding", "sample_rate", "mip_opt_out")

    def text(self, text: str) -> Iterable[WebsocketFrame]:
        """Send the text and have it spoken at once."""
        return (compact(type="Speak", text=text), compact(type="Flush"))

    def message(self, message: dict[str, Any]) -> Iterator[Signal]:
        """Read the name of the model, the end and errors."""
        match message["type"]:
            case "Metadata":
                yield from self.model_named(message.get("model_name"))
            case "Flushed":
                yield from self.finished()
            case "Error":
                yield self._error(message)


def _stretch(message: Mapping[str, Any]) -> str | None:
    """Name the stretch of the recording that a result is about: results have no ids, but no two share one."""
    start, duration = message.get("start"), message.get("duration")
    return f"{duration} s from {start} s" if start is not None and duration else None
