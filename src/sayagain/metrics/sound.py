"""What synthesized audio is like to the ear, whatever it says: silence around it, clipping, loudness.

Levels are in dBFS, where 0 dBFS is an RMS of full scale. docs/methodology.md gives the definitions, and
docs/decisions/0006-loudness-without-lufs.md says why loudness is not in LUFS.
"""

import math
from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from sayagain.metrics.audibility import (
    FULL_SCALE,
    Samples,
    first_audible_frame,
    last_audible_frame,
    samples_of,
)
from sayagain.metrics.definitions import CannotMeasureError, Computation, Measurement
from sayagain.metrics.landmarks import Landmarks
from sayagain.metrics.synthesis import audio_format_of
from sayagain.records import AudioFormat, Item, Trace

_MS_PER_S = 1_000
_HIGHEST, _LOWEST = FULL_SCALE - 1, -FULL_SCALE

CLIPPED_RUN = 3
"""Fewest consecutive samples at full scale that are clipping: audio scaled to its peak touches it with one."""


def leading_silence(item: Item, trace: Trace, landmarks: Landmarks) -> Measurement:
    """Audio before the first audible sample, in ms."""
    first, _, audio_format = _audible(trace)
    return Measurement(first * _MS_PER_S / audio_format.rate)


def trailing_silence(item: Item, trace: Trace, landmarks: Landmarks) -> Measurement:
    """Audio after the last audible sample, in ms."""
    _, last, audio_format = _audible(trace)
    frames = len(trace.audio) // audio_format.frame_bytes
    return Measurement((frames - 1 - last) * _MS_PER_S / audio_format.rate)


def clipping(item: Item, trace: Trace, landmarks: Landmarks) -> Measurement:
    """Samples in runs of at least three at the same end of full scale, in percent of all samples.

    The detail has the number of such `runs`, over all channels, and the `peak_dbfs` of the loudest sample.
    """
    samples = _samples(trace)
    clipped = runs = 0
    for channel in samples.T:
        for end in (_HIGHEST, _LOWEST):
            lengths = _run_lengths(channel == end)
            clipped += int(lengths[lengths >= CLIPPED_RUN].sum())
            runs += int((lengths >= CLIPPED_RUN).sum())
    peak = int(np.abs(samples.astype(np.int32)).max(initial=0))
    detail: dict[str, float] = {"runs": runs}
    if peak:
        detail["peak_dbfs"] = _dbfs(peak)
    return Measurement(100 * clipped / samples.size, detail=detail)


def loudness(item: Item, trace: Trace, landmarks: Landmarks) -> Measurement:
    """RMS of the audio from its first to its last audible sample, over all channels, in dBFS."""
    first, last, _ = _audible(trace)
    spoken = _samples(trace)[first : last + 1].astype(np.float64)
    return Measurement(_dbfs(math.sqrt(float(np.mean(np.square(spoken))))))


def _audible(trace: Trace) -> tuple[int, int, AudioFormat]:
    _samples(trace)
    audio_format = audio_format_of(trace)
    first = first_audible_frame(trace.audio, audio_format)
    last = last_audible_frame(trace.audio, audio_format)
    if first is None or last is None:
        raise CannotMeasureError("nothing in the audio is audible")
    return first, last, audio_format


def _samples(trace: Trace) -> Samples:
    try:
        samples = samples_of(trace.audio, audio_format_of(trace))
    except ValueError as error:
        raise CannotMeasureError(str(error)) from error
    if not samples.size:
        raise CannotMeasureError("the answer holds no audio")
    return samples


def _run_lengths(flags: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Return the lengths of the runs of True."""
    edges = np.flatnonzero(np.diff(np.concatenate(([False], flags, [False]))))
    return np.asarray(edges[1::2] - edges[::2], dtype=np.int64)


def _dbfs(level: float) -> float:
    return 20 * math.log10(level / FULL_SCALE)


COMPUTATIONS: Mapping[str, Computation] = {
    "leading_silence": leading_silence,
    "trailing_silence": trailing_silence,
    "clipping": clipping,
    "loudness": loudness,
}
"""The metrics of this family by name."""
