"""ElevenLabs: streaming speech to text (Scribe realtime) and streaming text to speech.

Source: the message types and clients of ElevenLabs' own Python SDK 2.78 (`elevenlabs.realtime`,
`elevenlabs.realtime_tts`); the meaning of its error types is that of its documentation. Settings are its
parameters by their own names, but for `model` (its `model_id`), `voice` (its id) and `encoding` with
`sample_rate`, which together are its audio format (`pcm_16000`).
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, ClassVar
from urllib.parse import quote

from sayagain.providers.access import Access, WebsocketFrame, WebsocketRequest
from sayagain.providers.codec import Done, Final, Partial, Signal
from sayagain.providers.network import (
    NetworkCodec,
    WebsocketStt,
    WebsocketTts,
    compact,
    encode_base64,
    said,
    text_at,
    within,
)
from sayagain.providers.refusals import Rule, plain_code
from sayagain.records import FailureKind, Item, Target


class _ElevenLabs(NetworkCodec):
    """What both directions share: authentication, the audio format and error codes."""

    error_rules: ClassVar[Mapping[str, Rule]] = {
        "auth_error": Rule(FailureKind.AUTH),
        "unaccepted_terms": Rule(FailureKind.AUTH),
        "missing_permissions": Rule(FailureKind.AUTH),
        "detected_unusual_activity": Rule(FailureKind.AUTH),
        "rate_limited": Rule(FailureKind.RATE_LIMITED),
        "queue_overflow": Rule(FailureKind.RATE_LIMITED),
        "too_many_concurrent_requests": Rule(FailureKind.RATE_LIMITED),
        "system_busy": Rule(FailureKind.SERVER_ERROR),
        "internal_error": Rule(FailureKind.SERVER_ERROR),
        "transcriber_error": Rule(FailureKind.SERVER_ERROR),
        "resource_exhausted": Rule(FailureKind.SERVER_ERROR),
        "session_time_limit_exceeded": Rule(FailureKind.CONNECTION_LOST),
        "input_error": Rule(FailureKind.BAD_REQUEST),
        "invalid_request": Rule(FailureKind.BAD_REQUEST),
        "chunk_size_exceeded": Rule(FailureKind.BAD_REQUEST),
        "commit_throttled": Rule(FailureKind.BAD_REQUEST),
        "input_timeout_exceeded": Rule(FailureKind.IDLE_TIMEOUT),
        "insufficient_audio_activity": Rule(FailureKind.EMPTY),
    }

    def _open(self, path: str, query: Mapping[str, Any]) -> WebsocketRequest:
        return WebsocketRequest(self.access.websocket_url(path, query), headers={"xi-api-key": self.access.key})

    def _format(self, rate: int) -> str:
        return f"{self.settings.get('encoding') or 'pcm'}_{rate}"


class ElevenLabsStt(_ElevenLabs, WebsocketStt):
    """Speech to text, `/v1/speech-to-text/realtime`: every committed transcript is a segment.

    Segments have no ids, and the session has no end of its own: the transcript that follows the last commit is
    the last. `committed_transcript_with_timestamps` repeats a segment and is not counted.
    """

    version = "elevenlabs-stt/1"

    def __init__(self, target: Target, item: Item, access: Access) -> None:
        super().__init__(target, item, access)
        self._ended = False
        self._committed = False
        self._pending = False

    def open(self) -> WebsocketRequest:
        """Ask with the settings as query parameters."""
        parameters = self.query(
            "language_code",
            "commit_strategy",
            "vad_silence_threshold_secs",
            "vad_threshold",
            "min_speech_duration_ms",
            "min_silence_duration_ms",
            "include_timestamps",
            "no_verbatim",
            "filter_background_audio",
            "enable_logging",
        )
        audio_format = self._format(self.audio_format.rate)
        return self._open(
            "/v1/speech-to-text/realtime",
            {"model_id": self.model, "audio_format": audio_format, **parameters},
        )

    def audio(self, pcm: bytes) -> Iterable[WebsocketFrame]:
        """Yield the audio as base64."""
        return (self._chunk(pcm, commit=False),)

    def end(self) -> Iterable[WebsocketFrame]:
        """Commit what was heard, with an empty chunk."""
        self._ended = True
        return (self._chunk(b"", commit=True),)

    def message(self, message: dict[str, Any]) -> Iterator[Signal]:
        """Read the name of the model, transcripts and errors."""
        match message["message_type"]:
            case "session_started":
                yield from self.model_named(within(message, "config", "model_id"))
            case "partial_transcript":
                if text := text_at(message, "text"):
                    self._pending = True
                    yield Partial(text)
            case "committed_transcript":
                yield Final(text_at(message, "text"))
                self._committed, self._pending = True, False
                if self._ended:
                    yield Done()
            case kind if "error" in message:
                yield from self._error(kind, message)

    def _error(self, kind: object, message: dict[str, Any]) -> Iterator[Signal]:
        """Read an error; too little audio for the last commit is the end when the rest was committed before."""
        if kind != "commit_throttled" or not (self._ended and self._committed):
            yield self.refused(kind, said(message, "error"))
        elif not self._pending:
            yield Done()

    def _chunk(self, pcm: bytes, *, commit: bool) -> str:
        return compact(
            message_type="input_audio_chunk",
            audio_base_64=encode_base64(pcm),
            commit=commit,
            sample_rate=self.audio_format.rate,
        )


class ElevenLabsTts(_ElevenLabs, WebsocketTts):
    """Text to speech, `/v1/text-to-speech/{voice}/stream-input`: base64 audio until `isFinal`."""

    version = "elevenlabs-tts/1"

    def open(self) -> WebsocketRequest:
        """Ask for a voice with the settings as query parameters."""
        parameters = self.query(
            "language_code", "apply_text_normalization", "auto_mode", "enable_logging", "inactivity_timeout"
        )
        output_format = self._format(self.audio_format.rate)
        return self._open(
            f"/v1/text-to-speech/{quote(str(self.settings['voice']), safe='')}/stream-input",
            {"model_id": self.model, "output_format": output_format, **parameters},
        )

    def text(self, text: str) -> Iterable[WebsocketFrame]:
        """Send the settings of the voice with the blank that has to come first, the text, and its end."""
        voice = self.query("stability", "similarity_boost", "style", "use_speaker_boost", "speed")
        return (compact(text=" ", voice_settings=voice or None), compact(text=f"{text} "), compact(text=""))

    def message(self, message: dict[str, Any]) -> Iterator[Signal]:
        """Read audio, the end and errors; the code of an error may be that of the close that follows."""
        if "error" in message:
            otherwise = FailureKind.BAD_REQUEST if message.get("code") == 1008 else FailureKind.SERVER_ERROR
            code = plain_code(message["error"]) or message.get("code")
            yield self.refused(code, said(message, "message", "error"), otherwise=otherwise)
            return
        if message.get("audio") is not None:
            yield from self.base64_pcm(text_at(message, "audio"))
        if message.get("isFinal"):
            yield from self.finished()
