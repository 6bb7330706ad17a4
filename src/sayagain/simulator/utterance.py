"""The audio that answers one text, cut into chunks: the same for websockets and HTTP."""

import hashlib
import struct
from collections.abc import Iterator
from dataclasses import dataclass

from sayagain.simulator import faults, tone
from sayagain.simulator.plan import Plan
from sayagain.simulator.scenario import Tts

UNKNOWN = 0xFFFFFFFF
"""The size that a WAV header states when its writer cannot know it."""


@dataclass(frozen=True)
class Audio:
    """Bytes to send and how they are cut."""

    content: bytes
    chunk: int

    @property
    def sha256(self) -> str:
        """SHA-256 of all the bytes (64 hex digits)."""
        return hashlib.sha256(self.content).hexdigest()

    @property
    def chunks(self) -> int:
        """How many chunks there are."""
        return -(-len(self.content) // self.chunk)

    def __iter__(self) -> Iterator[bytes]:
        return (self.content[start : start + self.chunk] for start in range(0, len(self.content), self.chunk))


def audio_for(text: str, rate: int, behaviour: Tts, plan: Plan, wav: bool = False) -> Audio:
    """Return the audio of a text: 16-bit mono PCM, after a WAV header when it was asked for or is the fault."""
    pcm = tone.speech(len(text), rate, behaviour.ms_per_character, behaviour.leading_silence_ms)
    if plan.suffers(faults.NoAudio):
        return Audio(b"", 1)
    if plan.suffers(faults.Truncated):
        pcm = pcm[: len(pcm) // 4 * 2]
    if wav or plan.suffers(faults.StrayWavHeader):
        pcm = wav_header(rate) + pcm
    chunk = max(2 * round(rate * behaviour.chunk_ms / 1000), 2)
    return Audio(pcm, chunk - 1 if plan.suffers(faults.OddChunks) else chunk)


def wav_header(rate: int) -> bytes:
    """Return the header of a mono 16-bit WAV whose length is unknown."""
    return struct.pack(
        "<4sI4s4sIHHIIHH4sI", b"RIFF", UNKNOWN, b"WAVE", b"fmt ", 16, 1, 1, rate, 2 * rate, 2, 16, b"data", UNKNOWN
    )
