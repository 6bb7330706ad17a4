"""What counts as audible, sample by sample."""

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sayagain.metrics.audibility import THRESHOLD_DBFS, first_audible_frame, last_audible_frame
from sayagain.metrics.synthesis import is_silent
from sayagain.records import AudioFormat

RATES = [8_000, 11_025, 16_000, 22_050, 24_000, 44_100, 48_000]
Samples = npt.NDArray[np.int16]
MONO_16K = AudioFormat(rate=16_000)


def tone(rate: int, seconds: float, dbfs: float) -> Samples:
    """A 400 Hz sine whose RMS is `dbfs`, starting at its steepest."""
    time = np.arange(round(rate * seconds)) / rate
    amplitude = 32_768 * 10 ** (dbfs / 20) * np.sqrt(2)
    return np.asarray(np.round(amplitude * np.cos(2 * np.pi * 400 * time)), dtype="<i2")


def silence(rate: int, seconds: float) -> Samples:
    return np.zeros(round(rate * seconds), dtype="<i2")


@pytest.mark.parametrize("rate", RATES)
def test_sound_after_silence_is_found_at_its_first_sample(rate: int) -> None:
    lead = silence(rate, 0.2345)
    pcm = np.concatenate([lead, tone(rate, 0.1, -20)]).tobytes()
    assert first_audible_frame(pcm, AudioFormat(rate=rate)) == len(lead)


@pytest.mark.parametrize("rate", RATES)
def test_the_threshold_parts_what_is_louder_from_what_is_quieter(rate: int) -> None:
    audio_format = AudioFormat(rate=rate)
    assert is_silent(tone(rate, 0.5, THRESHOLD_DBFS - 1).tobytes(), audio_format)
    assert not is_silent(tone(rate, 0.5, THRESHOLD_DBFS + 1).tobytes(), audio_format)


@pytest.mark.parametrize("channel", [0, 1])
def test_sound_in_either_channel_of_stereo_is_heard(channel: int) -> None:
    stereo = np.zeros((1600, 2), dtype="<i2")
    stereo[800:, channel] = tone(16_000, 0.05, -20)
    assert first_audible_frame(stereo.tobytes(), AudioFormat(rate=16_000, channels=2)) == 800


def test_a_single_faint_click_is_not_speech() -> None:
    pcm = silence(16_000, 0.5)
    pcm[4_000] = 1_000
    assert is_silent(pcm.tobytes(), MONO_16K)


def test_no_audio_is_silent() -> None:
    assert is_silent(b"", MONO_16K)
    assert is_silent(b"\x7f", MONO_16K)


def test_a_byte_after_the_last_whole_frame_is_ignored() -> None:
    pcm = np.concatenate([silence(16_000, 0.1), tone(16_000, 0.1, -20)]).tobytes()
    assert first_audible_frame(pcm + b"\x7f", MONO_16K) == first_audible_frame(pcm, MONO_16K) == 1600


@pytest.mark.parametrize(
    "audio_format",
    [AudioFormat(rate=16_000, width=1), AudioFormat(rate=16_000, width=4), AudioFormat(rate=0)],
)
def test_a_format_that_cannot_be_judged_is_refused(audio_format: AudioFormat) -> None:
    with pytest.raises(ValueError, match="16-bit"):
        is_silent(b"\0" * 64, audio_format)


@given(st.integers(min_value=0, max_value=3_000), st.sampled_from(RATES))
def test_more_silence_in_front_moves_the_first_audible_sample_by_at_most_one_window(lead: int, rate: int) -> None:
    audio_format = AudioFormat(rate=rate)
    pcm = np.concatenate([np.zeros(lead, dtype="<i2"), tone(rate, 0.05, -20)]).tobytes()
    found = first_audible_frame(pcm, audio_format)
    assert found is not None
    assert lead <= found <= lead + rate // 100 + 1


@pytest.mark.parametrize("rate", RATES)
def test_sound_before_silence_is_found_to_its_last_sample(rate: int) -> None:
    sound = tone(rate, 0.1, -20)
    pcm = np.concatenate([sound, silence(rate, 0.2345)]).tobytes()
    last = last_audible_frame(pcm, AudioFormat(rate=rate))
    assert last is not None
    assert last == np.flatnonzero(np.abs(sound.astype(int)) >= 32_768 * 10 ** (THRESHOLD_DBFS / 20))[-1]


@given(st.lists(st.sampled_from([0, 0, 0, 50, 200, 20_000, -32_768]), max_size=40), st.integers(0, 200))
def test_the_last_audible_sample_is_that_of_a_search_through_every_window(levels: list[int], tail: int) -> None:
    audio = np.concatenate([np.repeat(np.array(levels, dtype="<i2"), 60), np.zeros(tail, dtype="<i2")])
    limit = 32_768 * 10 ** (THRESHOLD_DBFS / 20)
    expected = None
    for begin in range(0, len(audio), 160):
        window = audio[begin : begin + 160].astype(float)
        if np.sqrt(np.sum(window**2) / 160) >= limit:
            expected = begin + int(np.flatnonzero(np.abs(window) >= limit)[-1])
    assert last_audible_frame(audio.tobytes(), MONO_16K) == expected
