"""What an engine is to the server: the few methods that each engine's file implements.

Everything here is synchronous and is called from one thread, one utterance at a time.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass

from sayagain.records import AudioFormat

SPEECH_FORMAT = AudioFormat(rate=16_000)
"""The only audio that the recognizers take: 16 kHz, 16-bit signed little-endian, mono."""

Emit = Callable[[bytes], bool]
"""Takes the next PCM as soon as it exists, any number of whole samples; False means: stop, nobody listens."""


class EngineError(Exception):
    """An engine could not do what was asked. Its text is shown to users, so it never holds speech or a prompt."""


@dataclass(frozen=True)
class Progress:
    """What a recognizer knows of an utterance.

    `segments` are the pieces completed since the last answer, which will not change; `hypothesis` is the whole
    text so far, completed or not.
    """

    segments: tuple[str, ...] = ()
    hypothesis: str = ""


class Utterance(ABC):
    """One stream of speech. No state of it may reach the next one."""

    @abstractmethod
    def accept(self, pcm: bytes) -> Progress:
        """Take the next audio in `SPEECH_FORMAT` and return what is known now; raises EngineError."""

    @abstractmethod
    def finish(self) -> Progress:
        """Use all audio that is still waiting and return the last segments; raises EngineError."""

    @abstractmethod
    def close(self) -> None:
        """Release the utterance, finished or not; is called exactly once."""


class SttEngine(ABC):
    """A loaded speech recognizer. Its constructor takes the settings of its `EngineInfo` and loads the model."""

    version: str

    @abstractmethod
    def warm_up(self) -> None:
        """Run one inference, so that the first utterance is not slower than the others."""

    @abstractmethod
    def begin(self) -> Utterance:
        """Start an utterance."""


class TtsEngine(ABC):
    """A loaded synthesizer. Its constructor takes the settings of its `EngineInfo` and loads the voice."""

    version: str
    audio_format: AudioFormat

    @abstractmethod
    def warm_up(self) -> None:
        """Run one inference, so that the first text is not slower than the others."""

    @abstractmethod
    def synthesize(self, text: str, emit: Emit) -> None:
        """Speak a text, handing over PCM in `audio_format` as it is produced; raises EngineError."""
