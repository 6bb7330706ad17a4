"""What a metric is: its name, version, unit and definition, and the shape of the function that computes it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal

from sayagain.metrics.landmarks import Landmarks
from sayagain.records import Benchmark, FailureKind, Item, Trace


@dataclass(frozen=True)
class MetricInfo:
    """What gives a metric's number its meaning.

    `version` rises with every change that can change a value. `better` says which way a reader should wish it.
    """

    name: str
    version: int
    unit: str
    benchmark: Benchmark
    definition: str
    better: Literal["lower", "higher", "none"] = "lower"


@dataclass(frozen=True, slots=True)
class Measurement:
    """What a metric found: a value in the metric's unit with its parts, or no value and the reason."""

    value: float | None
    reason: str | None = None
    detail: Mapping[str, float] | None = None


Computation = Callable[[Item, Trace, Landmarks], Measurement]
"""How a metric is computed; raises CannotMeasureError when its inputs are missing."""


class CannotMeasureError(Exception):
    """A metric's inputs are missing or contradict each other; the message quotes no text of the case."""


UNCHARGED = frozenset(
    {
        FailureKind.MISSING_KEY,
        FailureKind.AUTH,
        FailureKind.QUOTA,
        FailureKind.DATASET,
        FailureKind.SCORING,
        FailureKind.CANCELLED,
        FailureKind.INTERNAL,
    }
)
"""Failures that say nothing about a target: it was never asked, we gave up on it, or the fault was ours.

Where failures are counted as deletions, these are not.
"""

_STT, _TTS = Benchmark.STT, Benchmark.TTS

DEFINITIONS = (
    MetricInfo("ttft", 1, "ms", _STT, "first transcript event with text - start of speech in the live audio"),
    MetricInfo("ttfs", 1, "ms", _STT, "last final segment - end of speech in the live audio; signed"),
    MetricInfo("finalization", 1, "ms", _STT, "last final segment - end-of-stream message sent; signed"),
    MetricInfo("audio_to_final", 1, "ms", _STT, "last final segment - start of the audio stream"),
    MetricInfo(
        "rtfx", 1, "x", _STT, "audio duration ÷ (last final segment - start of upload); batch only", "higher"
    ),
    MetricInfo("wer", 2, "%", _STT, "word errors ÷ reference words, after normalization"),
    MetricInfo("cer", 2, "%", _STT, "character errors ÷ reference characters, after normalization"),
    MetricInfo("wer_whisper", 1, "%", _STT, "wer after the English rules of whisper-normalizer 0.1.15 instead"),
    MetricInfo("ttfa", 1, "ms", _TTS, "text fully sent → first audible sample is played; signed"),
    MetricInfo("synthesis", 1, "ms", _TTS, "text fully sent → last audio byte"),
    MetricInfo("rtf", 1, "x", _TTS, "synthesis ÷ audio duration"),
    MetricInfo("stall", 1, "ms", _TTS, "time a player that starts with the first chunk waits for more audio"),
    MetricInfo("leading_silence", 1, "ms", _TTS, "audio before the first audible sample"),
    MetricInfo("trailing_silence", 1, "ms", _TTS, "audio after the last audible sample"),
    MetricInfo("clipping", 1, "%", _TTS, "samples in runs of three or more at full scale ÷ all samples"),
    MetricInfo("intelligibility_wer", 1, "%", _TTS, "wer of what moonshine tiny-en 0.1.0 hears in the audio"),
    MetricInfo("loudness", 1, "dBFS", _TTS, "RMS from the first to the last audible sample", "none"),
)
"""Every metric in the order in which tables show them."""
