"""What a dialect is: one provider's side of a conversation, as data in and frames out, without I/O."""

import uuid
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import msgspec

from sayagain.simulator.faults import ErrorKind, Shape
from sayagain.simulator.texts import EMPTY, Ear

Frame = str | bytes
"""A text or a binary message."""

Frames = Sequence[Frame]

MESSAGES = {
    ErrorKind.AUTH: "The credentials are not valid.",
    ErrorKind.QUOTA: "The account has no credit left.",
    ErrorKind.RATE_LIMITED: "Too many requests; slow down.",
    ErrorKind.CONCURRENCY: "Too many concurrent sessions.",
    ErrorKind.BAD_REQUEST: "The request makes no sense.",
    ErrorKind.SESSION_EXPIRED: "The session has expired.",
    ErrorKind.SERVER_ERROR: "Internal error; try again.",
}
"""What the stand-in says when it complains; the codes are the providers', the words are not."""


@dataclass(frozen=True)
class Opening:
    """What a client said when it connected; `model` overrides the model it asked for wherever one is named."""

    query: Mapping[str, str]
    headers: Mapping[str, str]
    parts: Mapping[str, str] = field(default_factory=dict)
    body: Mapping[str, Any] = field(default_factory=dict)
    model: str | None = None


@dataclass(frozen=True, slots=True)
class Report:
    """An error in the provider's own form: messages, then a close."""

    frames: Frames
    code: int
    reason: str = ""


class ClientError(Exception):
    """The client said something that the provider would refuse."""

    def __init__(self, kind: ErrorKind, message: str) -> None:
        super().__init__(message)
        self.kind = kind


@dataclass(frozen=True, slots=True)
class Segment:
    """A stretch of the transcript: its number, its words, and where it lies in the audio, in seconds.

    `flushed` says that a message of the client brought it out.
    """

    index: int
    text: str
    start_s: float
    end_s: float
    flushed: bool = False


class Dialect(ABC):
    """Base of every protocol.

    `path` is the route; `key_headers` and `key_query` say where the provider takes its key; `impossible` names
    the faults that this protocol cannot have, and why.
    """

    shape: ClassVar[Shape]
    path: ClassVar[str]
    key_headers: ClassVar[tuple[str, ...]] = ("Authorization",)
    key_query: ClassVar[tuple[str, ...]] = ()
    impossible: ClassVar[Mapping[str, str]] = {}

    def __init__(self, opening: Opening) -> None:
        self.opening = opening
        self.id = str(uuid.uuid4())

    @classmethod
    def has_key(cls, opening: Opening) -> bool:
        """Say whether the client gave a key where this provider expects it; any key will do."""
        return any(opening.headers.get(name, "").strip() for name in cls.key_headers) or any(
            opening.query.get(name) for name in cls.key_query
        )

    @classmethod
    def refusal(cls, status: int, message: str) -> tuple[Mapping[str, str], Any]:
        """Return the headers and the JSON body of an HTTP error."""
        return {}, {"error": {"message": message, "type": "error", "code": str(status)}}


class StreamDialect(Dialect):
    """A protocol over a websocket.

    `closes` says whether the server closes after it is done, `client_first` whether the client speaks first.
    """

    closes: ClassVar[bool] = True
    client_first: ClassVar[bool] = False

    def greeting(self) -> Frames:
        """Return what the server says first."""
        return ()

    def done(self) -> Frames:
        """Return what the server says when all is said."""
        return ()

    @abstractmethod
    def report(self, error: ErrorKind, message: str) -> Report:
        """Return an error in the provider's own form."""


@dataclass(frozen=True, slots=True)
class Heard:
    """What a message of an STT client meant: audio, a request to finish what is pending (`flush`), or the end."""

    pcm: bytes = b""
    flush: bool = False
    end: bool = False
    replies: Frames = ()


NOTHING = Heard()
FLUSH = Heard(flush=True)
END = Heard(end=True)


class SttDialect(StreamDialect):
    """Speech to text over a websocket. `ear` is what has been heard so far; the conversation replaces it."""

    shape = Shape.STT_STREAM

    def __init__(self, opening: Opening) -> None:
        super().__init__(opening)
        self.ear = Ear(EMPTY)

    @property
    def rate(self) -> int:
        """Samples per second of the audio, as the client declared it."""
        return number(self.opening.query.get("sample_rate"), 16_000)

    @property
    def heard_s(self) -> float:
        """Seconds of audio heard so far."""
        return self.ear.size / (2 * self.rate)

    @abstractmethod
    def hear(self, message: Frame) -> Heard:
        """Say what a message means.

        Raises:
            ClientError: The provider would refuse it.
        """

    def overheard(self, pcm: bytes) -> bool:
        """Say whether the provider takes what it just heard for the end of a turn."""
        return False

    @abstractmethod
    def partial(self, segment: Segment) -> Frames:
        """Return a transcript so far."""

    @abstractmethod
    def final(self, segment: Segment) -> Frames:
        """Return a segment that will not change."""

    def flushed(self) -> Frames:
        """Return what follows the finals that a flush brought out."""
        return ()

    def repeated(self, segments: Sequence[Segment]) -> Frames:
        """Return messages that repeat all finals when all is done."""
        raise NotImplementedError


@dataclass(frozen=True, slots=True)
class Said:
    """What a message of a TTS client meant: some text, a request to speak it, or the end of the session."""

    text: str = ""
    speak: bool = False
    end: bool = False
    replies: Frames = ()


class TtsDialect(StreamDialect):
    """Text to speech over a websocket."""

    shape = Shape.TTS_STREAM
    client_first = True

    @property
    @abstractmethod
    def rate(self) -> int:
        """Samples per second of the audio to send."""

    @abstractmethod
    def hear(self, message: Frame) -> Said:
        """Say what a message means.

        Raises:
            ClientError: The provider would refuse it.
        """

    @abstractmethod
    def audio(self, pcm: bytes, index: int, last: bool) -> Frames:
        """Return one chunk of audio."""

    def spoken(self) -> Frames:
        """Return what follows the last chunk of a text."""
        return ()


def encode(value: Any) -> str:
    """Return a value as the JSON of a text message."""
    return msgspec.json.encode(value).decode()


def decode(message: Frame) -> dict[str, Any]:
    """Read a text message.

    Raises:
        ClientError: It is binary, no JSON, or no object.
    """
    if isinstance(message, str):
        try:
            value = msgspec.json.decode(message)
        except (msgspec.MsgspecError, ValueError):
            value = None
        if isinstance(value, dict):
            return value
    raise ClientError(ErrorKind.BAD_REQUEST, "a JSON object was expected")


def number(text: str | None, default: int) -> int:
    """Return a query parameter as a whole number, or the default when it is absent or none."""
    return int(text) if text is not None and text.isdecimal() and int(text) > 0 else default


def words(segment: Segment) -> list[tuple[str, float, float]]:
    """Return a segment's words, evenly spread over its time, each with its start and end in seconds."""
    said = segment.text.split()
    step = (segment.end_s - segment.start_s) / max(len(said), 1)
    return [
        (word, segment.start_s + index * step, segment.start_s + (index + 1) * step)
        for index, word in enumerate(said)
    ]
