"""The synthesized audio: a plain tone, so that what is audible and what is silent is known to the sample."""

from functools import cache

import numpy as np

HERTZ = 220.0
AMPLITUDE = 0.3


def speech(characters: int, rate: int, ms_per_character: float, leading_silence_ms: float) -> bytes:
    """Return 16-bit mono PCM: digital silence, then a tone whose first sample is already audible."""
    silence = round(rate * leading_silence_ms / 1000)
    samples = max(round(rate * characters * ms_per_character / 1000), 1)
    second = _second(rate)
    tone = second * (samples // rate) + second[: 2 * (samples % rate)]
    return bytes(2 * silence) + tone


@cache
def _second(rate: int) -> bytes:
    """A second of cosine, which begins at its peak and, at a whole frequency, continues into the next second."""
    phase = 2 * np.pi * HERTZ * np.arange(rate) / rate
    return (np.cos(phase) * AMPLITUDE * 32767).astype("<i2").tobytes()
