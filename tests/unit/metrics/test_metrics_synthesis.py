"""TTS metrics on traces that can be worked out by hand: the text is sent at 100 ms, audio is 16 kHz mono."""

from collections.abc import Callable

import numpy as np
import pytest

from sayagain import metrics
from sayagain.records import AudioFormat, FailureKind, FinishedCase, Result, Status

Build = Callable[..., FinishedCase]

BYTES_PER_MS = 32


OF_AUDIBLE = {"ttfa", "leading_silence", "trailing_silence", "loudness"}
OF_SAMPLES = OF_AUDIBLE | {"clipping"}


def names(results: dict[str, Result], status: Status) -> set[str]:
    return {name for name, result in results.items() if result.status is status}


def pcm(silent_ms: int, loud_ms: int, channels: int = 1) -> bytes:
    loud = np.where(np.arange(loud_ms * 16) % 2, 8_000, -8_000)
    mono = np.concatenate([np.zeros(silent_ms * 16), loud]).astype("<i2")
    return np.repeat(mono, channels).tobytes()


def scored(finished: FinishedCase) -> dict[str, Result]:
    return {result.metric: result for result in metrics.score(finished)}


def test_ttfa_of_one_chunk_is_its_arrival_and_the_silence_it_begins_with(tts_case: Build) -> None:
    results = scored(tts_case(pcm(80, 20), [(350, 100 * BYTES_PER_MS)]))
    assert results["ttfa"].value == pytest.approx(250 + 80)
    assert results["ttfa"].detail == {
        "arrival_ms": 250.0,
        "first_chunk_ms": 250.0,
        "leading_silence_ms": 80.0,
    }


def test_silence_that_was_played_while_the_audible_chunk_was_on_its_way_is_not_counted_twice(
    tts_case: Build,
) -> None:
    # 300 ms of silence play from 200 ms; the sound that arrives at 450 ms is heard at 500 ms.
    chunks = [(200, 300 * BYTES_PER_MS), (450, 100 * BYTES_PER_MS)]
    ttfa = scored(tts_case(pcm(300, 100), chunks))["ttfa"]
    assert ttfa.value == pytest.approx(500 - 100)
    assert ttfa.detail is not None
    literal = ttfa.detail["arrival_ms"] + ttfa.detail["leading_silence_ms"]
    assert literal == pytest.approx(350 + 300)


def test_a_stall_in_the_leading_silence_delays_the_first_sound(tts_case: Build) -> None:
    # 100 ms of silence play from 200 ms and end at 300 ms; the sound comes at 450 ms.
    chunks = [(200, 100 * BYTES_PER_MS), (450, 100 * BYTES_PER_MS)]
    results = scored(tts_case(pcm(100, 100), chunks))
    assert results["ttfa"].value == pytest.approx(450 - 100)
    assert results["stall"].value == pytest.approx(150)
    assert results["stall"].detail == {"count": 1.0, "longest_ms": 150.0}


def test_synthesis_ends_with_the_last_byte_and_rtf_divides_it_by_the_duration(tts_case: Build) -> None:
    chunks = [(200, 100 * BYTES_PER_MS), (260, 300 * BYTES_PER_MS)]
    results = scored(tts_case(pcm(0, 400), chunks))
    assert results["synthesis"].value == pytest.approx(160)
    assert results["rtf"].value == pytest.approx(160 / 400)
    assert results["rtf"].detail == {"audio_ms": 400.0}
    assert results["stall"].value == 0


def test_stereo_lasts_half_as_long_as_its_bytes_would_in_mono(tts_case: Build) -> None:
    stereo = AudioFormat(rate=16_000, channels=2)
    results = scored(tts_case(pcm(50, 50, channels=2), [(200, 200 * BYTES_PER_MS)], audio_format=stereo))
    assert results["rtf"].detail == {"audio_ms": 100.0}
    assert results["ttfa"].value == pytest.approx(100 + 50)


def test_chunks_that_end_inside_a_sample_add_up_exactly(tts_case: Build) -> None:
    audio = pcm(30, 30)
    sizes = [7] * (len(audio) // 7) + [len(audio) % 7]
    chunks = [(200 + index * 0.01, size) for index, size in enumerate(sizes)]
    results = scored(tts_case(audio, chunks))
    assert results["rtf"].detail == {"audio_ms": 60.0}
    assert results["ttfa"].detail is not None
    assert results["ttfa"].detail["leading_silence_ms"] == 30
    assert results["stall"].value == 0


def test_empty_chunks_are_no_audio(tts_case: Build) -> None:
    chunks = [(150, 0), (200, 100 * BYTES_PER_MS), (900, 0)]
    results = scored(tts_case(pcm(0, 100), chunks))
    assert results["synthesis"].value == pytest.approx(100)
    assert results["ttfa"].detail is not None
    assert results["ttfa"].detail["first_chunk_ms"] == pytest.approx(100)


def test_all_silent_audio_fails_what_is_counted_from_something_audible(tts_case: Build) -> None:
    results = scored(tts_case(pcm(100, 0), [(200, 100 * BYTES_PER_MS)]))
    assert names(results, Status.FAILED) == OF_AUDIBLE


def test_no_audio_at_all_fails_every_metric(tts_case: Build) -> None:
    results = scored(tts_case(b"", []))
    assert all(result.failure and result.failure.kind is FailureKind.SCORING for result in results.values())
    assert len({result.failure.fingerprint for result in results.values() if result.failure}) == 1


def test_less_than_one_sample_is_no_audio_to_divide_by(tts_case: Build) -> None:
    results = scored(tts_case(b"\x01", [(200, 1)]))
    assert names(results, Status.SUCCEEDED) == {"synthesis"}


def test_a_trace_that_does_not_say_when_the_text_was_sent_still_has_its_stalls(tts_case: Build) -> None:
    results = scored(tts_case(pcm(0, 100), [(200, 100 * BYTES_PER_MS)], text_sent_ms=None))
    assert names(results, Status.FAILED) == {"ttfa", "synthesis", "rtf"}


@pytest.mark.parametrize("audio_format", [None, AudioFormat(rate=0), AudioFormat(rate=16_000, channels=0)])
def test_audio_of_unknown_format_has_only_a_time_of_synthesis(
    tts_case: Build, audio_format: AudioFormat | None
) -> None:
    results = scored(tts_case(pcm(0, 100), [(200, 100 * BYTES_PER_MS)], audio_format=audio_format))
    assert names(results, Status.SUCCEEDED) == {"synthesis"}


def test_samples_of_another_width_fail_what_looks_at_samples(tts_case: Build) -> None:
    wide = AudioFormat(rate=16_000, width=4)
    results = scored(tts_case(pcm(0, 100), [(200, 100 * BYTES_PER_MS)], audio_format=wide))
    assert names(results, Status.FAILED) == OF_SAMPLES


def test_audio_and_chunks_that_contradict_each_other_fail_ttfa_alone(tts_case: Build) -> None:
    results = scored(tts_case(pcm(0, 100), [(200, 90 * BYTES_PER_MS)]))
    assert names(results, Status.FAILED) == {"ttfa"}


def test_audio_before_the_whole_text_was_sent_is_early_and_not_clamped(tts_case: Build) -> None:
    results = scored(tts_case(pcm(0, 100), [(60, 100 * BYTES_PER_MS)]))
    assert results["ttfa"].value == pytest.approx(-40)
