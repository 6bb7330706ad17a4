"""The closed set of faults a scenario can inject, and the rule that says which connections a fault strikes.

One class a fault: its fields are the only settings that the scenario may give it. A connection suffers at most one
fault: the first rule of its endpoint that strikes.
"""

from collections.abc import Iterable
from enum import StrEnum
from random import Random
from typing import Annotated, ClassVar

import msgspec


class Shape(StrEnum):
    """What kind of exchange a protocol is."""

    STT_STREAM = "stt_stream"
    STT_BATCH = "stt_batch"
    TTS_STREAM = "tts_stream"
    TTS_BATCH = "tts_batch"


class Moment(StrEnum):
    """When in a conversation a fault strikes."""

    OPENING = "opening"
    """In place of the upgrade; what needs an open connection: in place of the server's first message."""
    AUDIO = "audio"
    """STT: when `after_ms` of audio have been received. TTS: in place of the second chunk of audio."""
    END = "end"
    """STT: in place of the finals. TTS: in place of the message that says that the audio is complete."""


class ErrorKind(StrEnum):
    """What a provider can complain about; each protocol says it in its own words."""

    AUTH = "auth"
    QUOTA = "quota"
    RATE_LIMITED = "rate_limited"
    CONCURRENCY = "concurrency"
    BAD_REQUEST = "bad_request"
    SESSION_EXPIRED = "session_expired"
    SERVER_ERROR = "server_error"


EVERYWHERE = frozenset(Shape)
STREAMS = frozenset({Shape.STT_STREAM, Shape.TTS_STREAM})
STT = frozenset({Shape.STT_STREAM, Shape.STT_BATCH})
TTS = frozenset({Shape.TTS_STREAM, Shape.TTS_BATCH})

Seconds = Annotated[float, msgspec.Meta(ge=0, le=3600)]


class Fault(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, tag_field="kind"):
    """Base of every fault: whom it strikes.

    `cases` are connections of the endpoint, counted from 0 in the order of their arrival; `probability` is drawn
    for each connection from the scenario's seed. With neither, every connection is struck.
    """

    shapes: ClassVar[frozenset[Shape]] = EVERYWHERE
    whole_endpoint: ClassVar[bool] = False

    cases: tuple[Annotated[int, msgspec.Meta(ge=0)], ...] | None = None
    probability: Annotated[float, msgspec.Meta(ge=0, le=1)] | None = None

    def __post_init__(self) -> None:
        """Refuse two ways of choosing at once, and choosing where there is no choice."""
        if self.cases is not None and self.probability is not None:
            raise ValueError("give `cases` or `probability`, not both")
        if self.whole_endpoint and (self.cases is not None or self.probability is not None):
            raise ValueError("this fault is of the whole endpoint: give neither `cases` nor `probability`")

    def strikes(self, ordinal: int, random: Random) -> bool:
        """Say whether connection number `ordinal` is struck."""
        if self.cases is not None:
            return ordinal in self.cases
        return self.probability is None or random.random() < self.probability


class Refused(Fault, frozen=True, kw_only=True, tag="refused"):
    """The endpoint's port is closed: the kernel refuses every connection."""

    whole_endpoint: ClassVar[bool] = True


class TlsFailure(Fault, frozen=True, kw_only=True, tag="tls_failure"):
    """The endpoint's port answers every TLS hello with a fatal handshake_failure alert."""

    whole_endpoint: ClassVar[bool] = True


class SlowHandshake(Fault, frozen=True, kw_only=True, tag="slow_handshake"):
    """The answer to the request or the upgrade comes `seconds` late."""

    seconds: Seconds = 30.0


class HttpError(Fault, frozen=True, kw_only=True, tag="http_error"):
    """An HTTP status in place of the upgrade or the answer, with the body and headers of the provider."""

    status: Annotated[int, msgspec.Meta(ge=400, le=599)]
    retry_after: Seconds | None = None


class Reset(Fault, frozen=True, kw_only=True, tag="reset"):
    """The connection is reset (TCP RST)."""

    at: Moment = Moment.OPENING
    after_ms: Annotated[float, msgspec.Meta(ge=0)] = 0.0


class Silence(Fault, frozen=True, kw_only=True, tag="silence"):
    """The connection opens, everything is read, nothing is ever said."""


class HalfOpen(Fault, frozen=True, kw_only=True, tag="half_open"):
    """The peer is gone without a word: nothing is read or sent any more, the connection stays open `seconds`."""

    shapes: ClassVar[frozenset[Shape]] = STREAMS
    at: Moment = Moment.AUDIO
    after_ms: Annotated[float, msgspec.Meta(ge=0)] = 0.0
    seconds: Seconds = 600.0


class Close(Fault, frozen=True, kw_only=True, tag="close"):
    """The websocket is closed with a code and a reason, without any message before."""

    shapes: ClassVar[frozenset[Shape]] = STREAMS
    code: Annotated[int, msgspec.Meta(ge=1000, le=4999)] = 1011
    reason: Annotated[str, msgspec.Meta(max_length=123)] = ""
    at: Moment = Moment.AUDIO
    after_ms: Annotated[float, msgspec.Meta(ge=0)] = 0.0


class ReportedError(Fault, frozen=True, kw_only=True, tag="reported_error"):
    """The provider reports an error inside the open connection, in its own form, and closes as it does."""

    shapes: ClassVar[frozenset[Shape]] = STREAMS
    error: ErrorKind
    at: Moment = Moment.OPENING
    after_ms: Annotated[float, msgspec.Meta(ge=0)] = 0.0


class Cut(Fault, frozen=True, kw_only=True, tag="cut"):
    """The connection ends in the middle of a frame or body: of the first final, or of the second audio chunk."""


class Malformed(Fault, frozen=True, kw_only=True, tag="malformed"):
    """A message that is not JSON, in place of the first final or the second audio chunk."""

    shapes: ClassVar[frozenset[Shape]] = STREAMS | {Shape.STT_BATCH}


class Oversized(Fault, frozen=True, kw_only=True, tag="oversized"):
    """A valid message of `bytes` bytes: the first final, or the first chunk of audio."""

    shapes: ClassVar[frozenset[Shape]] = STREAMS | {Shape.STT_BATCH}
    bytes: Annotated[int, msgspec.Meta(ge=1, le=64 << 20)] = 3 << 19


class WrongModel(Fault, frozen=True, kw_only=True, tag="wrong_model"):
    """The model that was asked for is ignored, and another named where the provider names one."""

    model: str = "another-model"


class Truncated(Fault, frozen=True, kw_only=True, tag="truncated"):
    """STT: the second half of the words is missing. TTS: the second half of the audio; all else is as usual."""


class NoFinal(Fault, frozen=True, kw_only=True, tag="no_final"):
    """After the end of the audio nothing comes, and the connection stays open."""

    shapes: ClassVar[frozenset[Shape]] = frozenset({Shape.STT_STREAM})


class EmptyFinal(Fault, frozen=True, kw_only=True, tag="empty_final"):
    """The one final has no words."""

    shapes: ClassVar[frozenset[Shape]] = STT


class EmptyDone(Fault, frozen=True, kw_only=True, tag="empty_done"):
    """The provider says that it is done and sent no final."""

    shapes: ClassVar[frozenset[Shape]] = frozenset({Shape.STT_STREAM})


class OnlyPartials(Fault, frozen=True, kw_only=True, tag="only_partials"):
    """Partials come, then a normal close in place of the finals."""

    shapes: ClassVar[frozenset[Shape]] = frozenset({Shape.STT_STREAM})


class DuplicatedFinals(Fault, frozen=True, kw_only=True, tag="duplicated_finals"):
    """Each final comes twice, with the same segment id."""

    shapes: ClassVar[frozenset[Shape]] = frozenset({Shape.STT_STREAM})


class DoneRepeats(Fault, frozen=True, kw_only=True, tag="done_repeats"):
    """The message that says that all is done repeats the finals already sent."""

    shapes: ClassVar[frozenset[Shape]] = frozenset({Shape.STT_STREAM})


class Stall(Fault, frozen=True, kw_only=True, tag="stall"):
    """The audio stops after some chunks, without an end, and the connection stays open."""

    shapes: ClassVar[frozenset[Shape]] = TTS
    after_chunks: Annotated[int, msgspec.Meta(ge=0)] = 2


class NoAudio(Fault, frozen=True, kw_only=True, tag="no_audio"):
    """The provider says that it is done and sent no audio."""

    shapes: ClassVar[frozenset[Shape]] = TTS


class OddChunks(Fault, frozen=True, kw_only=True, tag="odd_chunks"):
    """The audio is cut into chunks of an odd number of bytes, so that samples straddle them."""

    shapes: ClassVar[frozenset[Shape]] = TTS


class StrayWavHeader(Fault, frozen=True, kw_only=True, tag="stray_wav_header"):
    """A WAV header of unknown size stands before the raw PCM that was asked for."""

    shapes: ClassVar[frozenset[Shape]] = TTS


AnyFault = (
    Refused
    | TlsFailure
    | SlowHandshake
    | HttpError
    | Reset
    | Silence
    | HalfOpen
    | Close
    | ReportedError
    | Cut
    | Malformed
    | Oversized
    | WrongModel
    | Truncated
    | NoFinal
    | EmptyFinal
    | EmptyDone
    | OnlyPartials
    | DuplicatedFinals
    | DoneRepeats
    | Stall
    | NoAudio
    | OddChunks
    | StrayWavHeader
)

Timed = Reset | HalfOpen | Close | ReportedError
"""The faults that strike at a stated moment."""


def chosen(faults: Iterable[Fault], ordinal: int, seed: str) -> Fault | None:
    """Return the first fault that strikes a connection; the same seed and ordinal always give the same answer."""
    for index, fault in enumerate(faults):
        if fault.strikes(ordinal, Random(f"{seed}/fault/{index}/{ordinal}")):  # noqa: S311 - a script, no secret
            return fault
    return None


def name(fault: Fault) -> str:
    """Return what the scenario calls a fault."""
    return str(type(fault).__struct_config__.tag)
