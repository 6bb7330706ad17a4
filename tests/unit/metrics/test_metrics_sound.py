"""Silence around speech, clipping and loudness, on audio whose figures can be worked out by hand."""

import math
from collections.abc import Callable, Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sayagain import metrics
from sayagain.metrics.landmarks import Landmarks
from sayagain.metrics.sound import clipping, loudness
from sayagain.records import AudioFormat, FinishedCase, Item, Result, Trace

Build = Callable[..., FinishedCase]

ITEM = Item(id="i", text="t", sha256="0")


def square(level: int, ms: int) -> list[int]:
    """A square wave, whose RMS is its level."""
    return [level if index % 2 else -level for index in range(16 * ms)]


def trace(samples: Sequence[int], channels: int = 1) -> Trace:
    audio = np.array(samples, dtype="<i2").tobytes()
    return Trace(started="", audio=audio, audio_format=AudioFormat(rate=16_000, channels=channels))


def scored(build: Build, samples: Sequence[int]) -> dict[str, Result]:
    audio = np.array(samples, dtype="<i2").tobytes()
    return {result.metric: result for result in metrics.score(build(audio, [(200, len(audio))]))}


def test_silence_before_and_after_speech_is_told_apart(tts_case: Build) -> None:
    results = scored(tts_case, [0] * 16 * 80 + square(8_000, 200) + [0] * 16 * 130)
    assert results["leading_silence"].value == pytest.approx(80)
    assert results["trailing_silence"].value == pytest.approx(130)


def test_a_pause_inside_speech_is_neither_and_speech_to_the_edges_has_none(tts_case: Build) -> None:
    results = scored(tts_case, square(8_000, 50) + [0] * 16 * 500 + square(8_000, 50))
    assert results["leading_silence"].value == 0
    assert results["trailing_silence"].value == 0


def test_loudness_is_the_rms_of_what_lies_between_the_silences(tts_case: Build) -> None:
    spoken = square(3_277, 200)
    alone, padded = scored(tts_case, spoken), scored(tts_case, [0] * 16_000 + spoken + [0] * 16_000)
    assert alone["loudness"].value == pytest.approx(20 * math.log10(3_277 / 32_768))
    assert padded["loudness"].value == pytest.approx(alone["loudness"].value)


def test_a_full_scale_sine_is_three_decibels_below_full_scale() -> None:
    time = np.arange(16_000) / 16_000
    sine = np.round(32_767 * np.sin(2 * np.pi * 400 * time)).astype(int)
    assert loudness(ITEM, trace(list(sine)), Landmarks()).value == pytest.approx(-3.01, abs=0.01)


def test_three_samples_in_a_row_at_full_scale_are_clipping_and_fewer_are_a_peak() -> None:
    samples = [0, 32_767, 32_767, 0, -32_768, -32_768, -32_768, -32_768, 0, 32_767, 32_767, 32_767]
    measured = clipping(ITEM, trace(samples), Landmarks())
    assert measured.value == pytest.approx(100 * 7 / 12)
    assert measured.detail == {"runs": 2, "peak_dbfs": 0}


def test_opposite_ends_of_full_scale_are_no_run() -> None:
    assert clipping(ITEM, trace([32_767, -32_768] * 10), Landmarks()).value == 0


def test_channels_clip_apart() -> None:
    left, right = [32_767, 32_767, 32_767, 0], [0, 0, 0, 32_767]
    interleaved = [sample for pair in zip(left, right, strict=True) for sample in pair]
    measured = clipping(ITEM, trace(interleaved, channels=2), Landmarks())
    assert measured.value == pytest.approx(100 * 3 / 8)


def test_the_peak_is_kept_where_nothing_clips(tts_case: Build) -> None:
    result = scored(tts_case, square(16_384, 50))["clipping"]
    assert result.value == 0
    assert result.detail == {"runs": 0, "peak_dbfs": pytest.approx(20 * math.log10(0.5))}


@given(st.lists(st.sampled_from([0, 32_767, -32_768, 900]), min_size=1, max_size=60))
def test_clipping_counts_what_a_walk_through_the_samples_counts(samples: list[int]) -> None:
    clipped = runs = 0
    begin = 0
    for end in range(1, len(samples) + 1):
        if end == len(samples) or samples[end] != samples[begin]:
            if samples[begin] in (32_767, -32_768) and end - begin >= 3:
                clipped, runs = clipped + end - begin, runs + 1
            begin = end
    measured = clipping(ITEM, trace(samples), Landmarks())
    assert measured.value == pytest.approx(100 * clipped / len(samples))
    assert measured.detail is not None
    assert measured.detail["runs"] == runs
