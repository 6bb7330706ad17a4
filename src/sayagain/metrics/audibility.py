"""Where synthesized audio becomes audible.

A window of 10 ms is audible when, in any channel, its RMS is at least -50 dBFS, where 0 dBFS is an RMS of full
scale (a full-scale sine reads -3 dBFS). RMS over a window, not a peak, so that a single faint click is not taken
for speech. A last, shorter window is judged as if silence filled it up. docs/methodology.md says why -50.
"""

import numpy as np

from sayagain.records import AudioFormat

WINDOW_S = 0.01
THRESHOLD_DBFS = -50.0
_THRESHOLD_SQUARED = (32_768 * 10 ** (THRESHOLD_DBFS / 20)) ** 2


def first_audible_frame(pcm: bytes, audio_format: AudioFormat) -> int | None:
    """Return the index of the first audible frame (one sample of every channel), or None in all-silent audio.

    It is the first sample of the first audible window whose own size reaches the threshold.
    `pcm` is 16-bit little-endian, interleaved; bytes after the last whole frame are ignored. Raises ValueError
    for any other width, or a format without a rate or channels.
    """
    if audio_format.width != 2 or audio_format.rate <= 0 or audio_format.channels <= 0:
        raise ValueError("only 16-bit PCM with a rate and channels can be judged audible or silent")
    channels = audio_format.channels
    frames = len(pcm) // audio_format.frame_bytes
    samples = np.frombuffer(pcm, dtype="<i2", count=frames * channels).reshape(frames, channels)
    window = max(1, round(audio_format.rate * WINDOW_S))
    for begin in range(0, frames, window):
        squares = np.square(samples[begin : begin + window].astype(np.float64))
        if (squares.sum(axis=0) / window >= _THRESHOLD_SQUARED).any():
            return begin + int((squares >= _THRESHOLD_SQUARED).any(axis=1).argmax())
    return None


def is_silent(pcm: bytes, audio_format: AudioFormat) -> bool:
    """Tell whether nothing in the audio is audible; no audio at all is silent. Raises as `first_audible_frame`."""
    return first_audible_frame(pcm, audio_format) is None
