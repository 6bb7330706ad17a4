"""The conversation of one connection, free of sockets: Wyoming events in, Wyoming events out.

A session lives on the engine's thread. `handle` raises MalformedEventError when an event makes no sense, which
ends the connection, and whatever `send` raises when the client is gone.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from wyoming.asr import Transcribe, Transcript, TranscriptChunk, TranscriptStart, TranscriptStop
from wyoming.audio import AudioChunk, AudioStart, AudioStop
from wyoming.error import Error
from wyoming.event import Event
from wyoming.info import Describe
from wyoming.tts import Synthesize

from sayagain.engines.description import why_not_served, wyoming_info
from sayagain.engines.interface import SPEECH_FORMAT, EngineError, Progress, SttEngine, TtsEngine, Utterance
from sayagain.engines.registry import EngineInfo
from sayagain.records import AudioFormat

PARTIAL_TYPE = "transcript-partial"
"""Our extension of Wyoming: `text` is the whole hypothesis so far, which may still change."""

MAX_CHUNK_BYTES = 4096
"""The most PCM in one `audio-chunk`, so that the first of it does not wait for the rest."""

Send = Callable[[Event], None]


class MalformedEventError(Exception):
    """What arrived is not an event of the protocol."""


class Session(ABC):
    """What both directions share: `describe`, errors, and the end."""

    def __init__(self, info: EngineInfo, version: str, send: Send) -> None:
        self._info = info
        self._version = version
        self._send = send

    def handle(self, event: Event) -> None:
        """Answer one event; what is not known is ignored, as the protocol asks."""
        if Describe.is_type(event.type):
            self._send(wyoming_info(self._info, self._version).event())
            return
        try:
            self._request(event)
        except EngineError as error:
            self._refuse("engine-error", str(error))

    @abstractmethod
    def _request(self, event: Event) -> None:
        """Answer a request of the session's direction."""

    @abstractmethod
    def close(self) -> None:
        """Let go of what was begun; is called exactly once."""

    def _refuse(self, code: str, text: str) -> None:
        self._send(Error(text=text, code=code).event())


class SttSession(Session):
    """Speech to text: `transcribe`, `audio-start`, `audio-chunk`…, `audio-stop`, any number of times.

    After an error the rest of the utterance is ignored, up to its `audio-stop` or the next `transcribe`.
    """

    def __init__(self, engine: SttEngine, info: EngineInfo, send: Send) -> None:
        super().__init__(info, engine.version, send)
        self._engine = engine
        self._utterance: Utterance | None = None
        self._told = Progress()
        self._refused = False

    def close(self) -> None:
        """Abandon an utterance that was not finished."""
        if self._utterance is not None:
            utterance, self._utterance = self._utterance, None
            utterance.close()

    def _request(self, event: Event) -> None:
        if Transcribe.is_type(event.type):
            self.close()
            self._refused = False
            with _parsing():
                request = Transcribe.from_event(event)
                reason = why_not_served(self._info, request.name, request.language)
            if reason is not None:
                self._refuse("bad-request", reason)
        elif AudioStart.is_type(event.type):
            self.close()
            self._take(event, b"")
        elif AudioChunk.is_type(event.type):
            self._take(event, event.payload or b"")
        elif AudioStop.is_type(event.type):
            if not self._refused:
                self._finish()
            self._refused = False

    def _refuse(self, code: str, text: str) -> None:
        self._refused = True
        self.close()
        super()._refuse(code, text)

    def _take(self, event: Event, pcm: bytes) -> None:
        with _parsing():
            layout = AudioFormat(
                rate=event.data["rate"], width=event.data["width"], channels=event.data["channels"]
            )
        if self._refused:
            return
        if layout != SPEECH_FORMAT:
            self._refuse("audio-format", f"{self._info.name} takes 16 kHz 16-bit mono, not {_named(layout)}")
        elif len(pcm) % SPEECH_FORMAT.frame_bytes:
            self._refuse("audio-format", f"a chunk of {len(pcm)} bytes is not a whole number of samples")
        else:
            utterance = self._utterance or self._begin()
            if pcm:
                with _engine_at_work():
                    progress = utterance.accept(pcm)
                self._tell(progress)

    def _begin(self) -> Utterance:
        with _engine_at_work():
            self._utterance = self._engine.begin()
        self._told = Progress()
        self._send(TranscriptStart(language=self._info.language).event())
        return self._utterance

    def _tell(self, progress: Progress) -> None:
        """Send what is new. A later segment begins with a space, because clients append one to the other."""
        segments = self._told.segments
        for text in progress.segments:
            self._send(TranscriptChunk(text=f" {text}" if segments else text).event())
            segments += (text,)
        if progress.hypothesis and progress.hypothesis != self._told.hypothesis:
            self._send(Event(PARTIAL_TYPE, {"text": progress.hypothesis}))
        self._told = Progress(segments=segments, hypothesis=progress.hypothesis)

    def _finish(self) -> None:
        utterance = self._utterance or self._begin()
        with _engine_at_work():
            progress = utterance.finish()
        text = " ".join(self._told.segments + progress.segments)
        self._tell(Progress(segments=progress.segments))
        self._send(Transcript(text=text, language=self._info.language).event())
        self._send(TranscriptStop().event())
        self.close()


class TtsSession(Session):
    """Text to speech: `synthesize` is answered with `audio-start`, `audio-chunk`…, `audio-stop`."""

    def __init__(self, engine: TtsEngine, info: EngineInfo, send: Send) -> None:
        super().__init__(info, engine.version, send)
        self._engine = engine
        layout = engine.audio_format
        self._layout = {"rate": layout.rate, "width": layout.width, "channels": layout.channels}

    def close(self) -> None:
        """Nothing is ever left over."""

    def _request(self, event: Event) -> None:
        if not Synthesize.is_type(event.type):
            return
        with _parsing():
            request = Synthesize.from_event(event)
            voice = request.voice
            name, language = (voice.name, voice.language) if voice else (None, None)
            reason = why_not_served(self._info, name, language)
            blank = not request.text.strip()
        if reason is not None:
            self._refuse("bad-request", reason)
            return
        self._send(AudioStart(**self._layout).event())
        if not blank:
            self._speak(request.text)
        self._send(AudioStop().event())

    def _speak(self, text: str) -> None:
        """Send the audio while it is produced; when the client has gone, stop producing and say so."""
        gone: list[OSError] = []

        def emit(pcm: bytes) -> bool:
            try:
                for start in range(0, len(pcm), MAX_CHUNK_BYTES):
                    self._send(AudioChunk(audio=pcm[start : start + MAX_CHUNK_BYTES], **self._layout).event())
            except OSError as error:
                gone.append(error)
            return not gone

        with _engine_at_work():
            self._engine.synthesize(text, emit)
        if gone:
            raise gone[0]


@contextmanager
def _parsing() -> Iterator[None]:
    try:
        yield
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise MalformedEventError from error


@contextmanager
def _engine_at_work() -> Iterator[None]:
    """Turn any fault of an engine into an EngineError without its text, which might quote what was said."""
    try:
        yield
    except EngineError:
        raise
    except Exception as error:
        raise EngineError(f"the engine failed with {type(error).__name__}") from error


def _named(layout: AudioFormat) -> str:
    return f"{layout.rate} Hz {8 * layout.width}-bit with {layout.channels} channel(s)"
