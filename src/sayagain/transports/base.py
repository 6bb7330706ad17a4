"""What a transport is: it owns the socket, the clock and the timeouts, and leaves every meaning to the codec."""

from abc import ABC, abstractmethod
from contextlib import AbstractAsyncContextManager
from typing import Generic

from sayagain.providers.codec import Frame
from sayagain.records import AudioFormat, Case, Limits
from sayagain.transports.pacing import now_ns
from sayagain.transports.tracing import Tracer


class Channel(ABC, Generic[Frame]):
    """An open connection that carries a codec's frames.

    `opening_s` is how long its first frame may take beyond the idle timeout, because the connection is made for
    it, in seconds. `close_code` says how the other side closed, once it has.
    """

    opening_s = 0.0
    close_code: str | None = None

    def sent_at(self) -> int:
        """Return the instant (`now_ns`) at which the last frame sent had left: now, unless it is known better."""
        return now_ns()

    @abstractmethod
    async def send(self, frame: Frame) -> None:
        """Hand one frame to the operating system; raise OSError when the connection is gone."""

    @abstractmethod
    async def receive(self) -> tuple[int, Frame] | None:
        """Return the next frame with the instant (`now_ns`) its last byte arrived, or None at the end.

        The instant is taken before the frame is parsed. Raises EOFError when the connection ends inside a
        frame, and ValueError when what arrived is not a frame.
        """

    @abstractmethod
    async def close(self) -> None:
        """Close the connection; never raises."""


class Session(ABC):
    """Everything one attempt needs, ready before its clock starts."""

    @abstractmethod
    async def attempt(self, case: Case, pcm: bytes, tracer: Tracer, limits: Limits) -> None:
        """Run one attempt and note what is seen; return when the answer is complete.

        `pcm` is the item's audio in the transport's format, empty when it needs none. Any exception is the
        attempt's failure; what was noted until then stays in the tracer.
        """


class Transport(ABC):
    """How the cases of one target reach its provider."""

    joiner = " "
    """What stands between the final segments of a transcript."""

    audio_format: AudioFormat | None = None
    """The PCM its attempts are given of an item's recording; None when they need none."""

    local = False
    """Whether its provider's work is done by processes of this run, which may leave the machine no idle time."""

    @abstractmethod
    async def prepare(self) -> None:
        """Make ready whatever can be, before anything is timed; raise a SayagainError if it cannot be."""

    @abstractmethod
    def session(self) -> AbstractAsyncContextManager[Session]:
        """Return a context in which one attempt can run; entering it may wait, and is not timed."""

    @abstractmethod
    async def aclose(self) -> None:
        """Release everything; never raises."""
