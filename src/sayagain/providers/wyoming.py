"""Wyoming: the speech protocol of Home Assistant's services, and of sayagain's own engines.

Source: the message definitions of the `wyoming` package, version 1.10. An answer to speech is one `transcript`
(streaming servers send `transcript-start` and `transcript-chunk` before it, and `transcript-stop` after it);
an answer to `synthesize` is `audio-start`, `audio-chunk`…, `audio-stop`. `transcript-partial` is an extension
of sayagain's engines: the whole hypothesis so far, which may still change. Other clients ignore it.
"""

from collections.abc import Iterable, Iterator

from wyoming.asr import Transcribe, Transcript, TranscriptChunk, TranscriptStop
from wyoming.audio import AudioChunk as WireChunk
from wyoming.audio import AudioStart, AudioStop
from wyoming.error import Error
from wyoming.event import Event as WireEvent
from wyoming.tts import Synthesize, SynthesizeVoice

from sayagain.providers.codec import (
    AudioBegins,
    AudioChunk,
    Done,
    Final,
    Partial,
    Refused,
    Signal,
    SttCodec,
    TtsCodec,
)
from sayagain.records import AudioFormat, FailureKind, Item, Setting, Target

PARTIAL_TYPE = "transcript-partial"
"""The extension event with the whole hypothesis so far in `text`."""

ERROR_KINDS = {"audio-format": FailureKind.AUDIO_FORMAT, "bad-request": FailureKind.BAD_REQUEST}


class WyomingSttCodec(SttCodec[WireEvent]):
    """Speech to text over Wyoming; settings: `language`, `model` (asked for when the server has several)."""

    version = "wyoming-stt/1"

    def __init__(self, target: Target, item: Item) -> None:
        super().__init__(target, item)
        self._so_far = ""

    def opening(self) -> Iterator[WireEvent]:
        """Yield `transcribe` and `audio-start`."""
        settings = self.target.settings
        yield Transcribe(name=_text(settings.get("model")), language=_text(settings.get("language"))).event()
        yield AudioStart(**self._wire_format()).event()

    def audio(self, pcm: bytes) -> Iterator[WireEvent]:
        """Yield one `audio-chunk`."""
        yield WireChunk(audio=pcm, **self._wire_format()).event()

    def end(self) -> Iterator[WireEvent]:
        """Yield `audio-stop`."""
        yield AudioStop().event()

    def receive(self, frame: WireEvent) -> Iterable[Signal]:
        """Read chunks and partials as partials, and `transcript` as the final that ends the answer."""
        if Transcript.is_type(frame.type):
            return (Final(_required(frame, "text")), Done())
        if TranscriptChunk.is_type(frame.type):
            self._so_far += _required(frame, "text")
            return (Partial(self._so_far),)
        if frame.type == PARTIAL_TYPE:
            return (Partial(_required(frame, "text")),)
        if TranscriptStop.is_type(frame.type):
            return (Done(),)
        return _error(frame)

    def _wire_format(self) -> dict[str, int]:
        layout = self.audio_format
        return {"rate": layout.rate, "width": layout.width, "channels": layout.channels}


class WyomingTtsCodec(TtsCodec[WireEvent]):
    """Text to speech over Wyoming; settings: `voice`, `language` (asked for when they are set)."""

    version = "wyoming-tts/1"

    def text(self, text: str) -> Iterator[WireEvent]:
        """Yield `synthesize`, which carries the whole text."""
        settings = self.target.settings
        name, language = _text(settings.get("voice")), _text(settings.get("language"))
        yield Synthesize(text=text, voice=SynthesizeVoice(name=name, language=language)).event()

    def receive(self, frame: WireEvent) -> Iterable[Signal]:
        """Read the audio as it comes; `audio-stop` ends the answer."""
        if AudioStart.is_type(frame.type):
            return (AudioBegins(_layout(frame)),)
        if WireChunk.is_type(frame.type):
            return (AudioBegins(_layout(frame)), AudioChunk(frame.payload or b""))
        if AudioStop.is_type(frame.type):
            return (Done(),)
        return _error(frame)


def _error(frame: WireEvent) -> Iterable[Signal]:
    """Read an `error` event; every other type is somebody's extension and means nothing here."""
    if not Error.is_type(frame.type):
        return ()
    code = frame.data.get("code")
    kind = ERROR_KINDS.get(str(code), FailureKind.SERVER_ERROR)
    return (Refused(kind, str(frame.data.get("text", "")), code=None if code is None else str(code)),)


def _required(frame: WireEvent, name: str) -> str:
    value = frame.data[name]
    if not isinstance(value, str):
        raise TypeError(f"{frame.type}.{name} is not a text")
    return value


def _layout(frame: WireEvent) -> AudioFormat:
    rate, width, channels = (frame.data[name] for name in ("rate", "width", "channels"))
    if not all(type(value) is int and value > 0 for value in (rate, width, channels)):
        raise ValueError("an audio format has to be three positive whole numbers")
    return AudioFormat(rate=rate, width=width, channels=channels)


def _text(value: Setting) -> str | None:
    return None if value is None else str(value)
