"""Where synthesized audio is audible.

A window of 10 ms is audible when, in any channel, its RMS is at least -50 dBFS, where 0 dBFS is an RMS of full
scale (a full-scale sine reads -3 dBFS). RMS over a window, not a peak, so that a single faint click is not taken
for speech. A last, shorter window is judged as if silence filled it up. docs/methodology.md says why -50.
"""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from sayagain.records import AudioFormat

WINDOW_S = 0.01
THRESHOLD_DBFS = -50.0
FULL_SCALE = 32_768
_THRESHOLD_SQUARED = (FULL_SCALE * 10 ** (THRESHOLD_DBFS / 20)) ** 2

Samples = NDArray[np.int16]
"""Samples of shape (frames, channels)."""


def samples_of(pcm: bytes, audio_format: AudioFormat) -> Samples:
    """Return 16-bit little-endian, interleaved PCM as samples; bytes after the last whole frame are ignored.

    Raises ValueError for any other width, or a format without a rate or channels.
    """
    if audio_format.width != 2 or audio_format.rate <= 0 or audio_format.channels <= 0:
        raise ValueError("only 16-bit PCM with a rate and channels can be judged audible or silent")
    frames = len(pcm) // audio_format.frame_bytes
    samples: Samples = np.frombuffer(pcm, dtype="<i2", count=frames * audio_format.channels)
    return samples.reshape(frames, audio_format.channels)


def first_audible_frame(pcm: bytes, audio_format: AudioFormat) -> int | None:
    """Return the index of the first audible frame (one sample of every channel), or None in all-silent audio.

    It is the first sample of the first audible window whose own size reaches the threshold. Raises as
    `samples_of`.
    """
    span = next(_audible_spans(samples_of(pcm, audio_format), audio_format.rate), None)
    return None if span is None else span[0]


def last_audible_frame(pcm: bytes, audio_format: AudioFormat) -> int | None:
    """Return the index of the last audible frame, the counterpart of `first_audible_frame`."""
    span = next(_audible_spans(samples_of(pcm, audio_format), audio_format.rate, backwards=True), None)
    return None if span is None else span[1]


def is_silent(pcm: bytes, audio_format: AudioFormat) -> bool:
    """Tell whether nothing in the audio is audible; no audio at all is silent. Raises as `samples_of`."""
    return first_audible_frame(pcm, audio_format) is None


def _audible_spans(samples: Samples, rate: int, *, backwards: bool = False) -> Iterator[tuple[int, int]]:
    """Yield the first and last frame at the threshold of each audible window, in order or from the end."""
    window = max(1, round(rate * WINDOW_S))
    begins = range(0, len(samples), window)
    for begin in reversed(begins) if backwards else begins:
        squares = np.square(samples[begin : begin + window].astype(np.float64))
        if (squares.sum(axis=0) / window >= _THRESHOLD_SQUARED).any():
            loud = np.flatnonzero((squares >= _THRESHOLD_SQUARED).any(axis=1))
            yield begin + int(loud[0]), begin + int(loud[-1])
