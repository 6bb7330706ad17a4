"""What a provider is: a codec without I/O.

A codec says how to open, how to encode audio or text and how to say "that was all", and turns each frame that
arrives into signals. It never touches a socket, a clock, a retry or a metric, so every provider is timed by
the same code and tested by feeding it frames. A codec object lives for one attempt and may keep state.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Generic, TypeVar

from sayagain.records import AudioFormat, FailureKind, Item, Target

Frame = TypeVar("Frame")
"""What the codec's transport carries: a Wyoming event, a websocket message, a chunk of an HTTP body."""


@dataclass(frozen=True)
class Ready:
    """The provider is ready for audio; only codecs with `awaits_ready` need to say so."""


@dataclass(frozen=True)
class Partial:
    """A transcript so far, which the provider may still change."""

    text: str


@dataclass(frozen=True)
class Final:
    """A segment of the transcript that will not change.

    Segments are joined in order of arrival; one that repeats the `segment` id of an earlier one is dropped.
    """

    text: str
    segment: str | None = None


@dataclass(frozen=True)
class AudioBegins:
    """The format of the synthesized audio that follows."""

    format: AudioFormat


@dataclass(frozen=True)
class AudioChunk:
    """A piece of synthesized raw PCM, of any number of bytes."""

    pcm: bytes


@dataclass(frozen=True)
class Done:
    """The provider has said all it will say."""


@dataclass(frozen=True)
class Refused:
    """The provider reported an error; `retryable` None means: as the kind says.

    `retry_after_s` is how long the provider asked to be left alone, in seconds.
    """

    kind: FailureKind
    message: str
    code: str | None = None
    retryable: bool | None = None
    retry_after_s: float | None = None


Signal = Ready | Partial | Final | AudioBegins | AudioChunk | Done | Refused


class SttCodec(ABC, Generic[Frame]):
    """Speech to text: audio out, transcript in.

    `audio_format` is the PCM it wants; `joiner` stands between final segments. With `awaits_ready` no audio is
    sent before a `Ready` signal. With `silence_after_end` silence goes on being sent, at the pace of speech, after
    the audio is over and until `Done`. After `keepalive_s` seconds in which nothing was sent, `keepalive` is.
    """

    version: str
    audio_format = AudioFormat(rate=16_000)
    joiner = " "
    awaits_ready = False
    silence_after_end = False
    keepalive_s: float | None = None

    def __init__(self, target: Target, item: Item) -> None:
        self.target = target
        self.item = item

    @abstractmethod
    def opening(self) -> Iterable[Frame]:
        """Yield the frames to send before the first audio."""

    @abstractmethod
    def audio(self, pcm: bytes) -> Iterable[Frame]:
        """Yield the frames that carry one chunk of PCM in `audio_format`."""

    @abstractmethod
    def end(self) -> Iterable[Frame]:
        """Yield the frames that say that no more audio follows."""

    def keepalive(self) -> Iterable[Frame]:
        """Yield the frames that keep a silent connection open."""
        return ()

    @abstractmethod
    def receive(self, frame: Frame) -> Iterable[Signal]:
        """Yield what a received frame means; ValueError, KeyError or TypeError say it makes no sense."""


class TtsCodec(ABC, Generic[Frame]):
    """Text to speech: text out, audio in."""

    version: str

    def __init__(self, target: Target, item: Item) -> None:
        self.target = target
        self.item = item

    @abstractmethod
    def text(self, text: str) -> Iterable[Frame]:
        """Yield the frames that carry the whole text and say that it is complete."""

    @abstractmethod
    def receive(self, frame: Frame) -> Iterable[Signal]:
        """Yield what a received frame means; ValueError, KeyError or TypeError say it makes no sense."""
