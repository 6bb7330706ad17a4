"""Audio files in, mono 16-bit PCM out: decoding, and the one conversion every provider's audio goes through.

Whole files are held in memory, one at a time: an utterance is short, and its hash and its samples must come
from the same bytes.
"""

import io
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import soundfile
import soxr

from sayagain.datasets.wav import with_known_length

RESAMPLER = "HQ"
"""soxr's quality: 20-bit precision, linear phase, so speech does not move in time."""

_FULL_SCALE = 32768.0
_BLOCK_FRAMES = 1 << 16

Samples = npt.NDArray[np.float32]


class AudioError(ValueError):
    """Audio that cannot be used. The message continues a sentence that begins with what the audio is of."""


@dataclass(frozen=True)
class Audio:
    """Decoded audio: float samples of shape (frames, channels), full scale at ±1, and frames per second."""

    samples: Samples
    rate: int

    @property
    def duration_s(self) -> float:
        """How long it plays, in seconds."""
        return len(self.samples) / self.rate


class _ForwardOnly(soundfile.SoundFile):  # type: ignore[misc]
    """Reads to the end without seeking: a FLAC stream of unknown length cannot be sought in to its end."""

    def seekable(self) -> bool:
        return False


def decode(content: bytes) -> Audio:
    """Decode the bytes of an audio file in any format that libsndfile reads.

    Raises:
        AudioError: It cannot be decoded, is cut short, holds no samples, or holds samples that are no numbers.
    """
    try:
        with _ForwardOnly(io.BytesIO(with_known_length(content))) as file:
            samples = _all_frames(file)
            rate = int(file.samplerate)
    except soundfile.LibsndfileError as error:
        raise AudioError(f"cannot be decoded: {error.error_string.rstrip('.')}") from error
    except (ValueError, TypeError, RuntimeError) as error:
        raise AudioError(str(error)) from error
    if not len(samples):
        raise AudioError("holds no samples")
    if not np.isfinite(samples).all():
        raise AudioError("holds samples that are not numbers (NaN or infinite)")
    return Audio(samples, rate)


def to_pcm(audio: Audio, rate: int) -> bytes:
    """Return audio as mono 16-bit little-endian PCM at a rate.

    Channels are averaged, then the rate is converted by soxr, then samples are rounded to the nearest step and
    clipped at full scale. No dither and no gain: 16-bit mono at the asked rate comes back bit for bit.
    """
    mono: Samples = audio.samples.mean(axis=1, dtype=np.float32)
    if audio.rate != rate:
        mono = soxr.resample(mono, audio.rate, rate, quality=RESAMPLER)
    steps: Samples = np.rint(mono * np.float32(_FULL_SCALE))
    return bytes(np.clip(steps, -_FULL_SCALE, _FULL_SCALE - 1).astype("<i2").tobytes())


def wav_file(pcm: bytes, rate: int) -> bytes:
    """Return a WAV file of mono 16-bit PCM."""
    file = io.BytesIO()
    soundfile.write(file, np.frombuffer(pcm, dtype="<i2"), rate, format="WAV", subtype="PCM_16")
    return file.getvalue()


def _all_frames(file: soundfile.SoundFile) -> Samples:
    blocks: list[Samples] = []
    while len(block := file.read(_BLOCK_FRAMES, dtype="float32", always_2d=True)):
        blocks.append(block)
    return np.concatenate(blocks) if blocks else np.empty((0, file.channels), dtype=np.float32)
