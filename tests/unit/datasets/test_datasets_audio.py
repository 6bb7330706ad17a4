import contextlib
import io
import struct
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import soundfile
from hypothesis import assume, given
from hypothesis import strategies as st

from sayagain.datasets.audio import Audio, AudioError, decode, to_pcm, wav_file

FORMATS = [
    ("WAV", "PCM_U8", 0.01),
    ("WAV", "PCM_16", 1e-4),
    ("WAV", "PCM_24", 1e-6),
    ("WAV", "PCM_32", 1e-6),
    ("WAV", "FLOAT", 1e-6),
    ("WAV", "DOUBLE", 1e-6),
    ("WAV", "ULAW", 0.02),
    ("WAV", "GSM610", 0.1),
    ("WAVEX", "PCM_16", 1e-4),
    ("WAVEX", "PCM_24", 1e-6),
    ("RF64", "PCM_16", 1e-4),
    ("AIFF", "PCM_16", 1e-4),
    ("FLAC", "PCM_16", 1e-4),
    ("FLAC", "PCM_24", 1e-6),
    ("OGG", "VORBIS", 0.05),
    ("OGG", "OPUS", 0.05),
]
RATES = [8_000, 11_025, 16_000, 22_050, 32_000, 44_100, 48_000, 96_000]


def tone(rate: int, seconds: float = 1.0, frequency: float = 440.0) -> npt.NDArray[np.float64]:
    return 0.5 * np.sin(2 * np.pi * frequency * np.arange(round(rate * seconds)) / rate)


def encoded(samples: npt.NDArray[Any], rate: int, file_format: str = "WAV", subtype: str = "PCM_16") -> bytes:
    file = io.BytesIO()
    soundfile.write(file, samples, rate, format=file_format, subtype=subtype)
    return file.getvalue()


def strongest_frequency(pcm: bytes, rate: int) -> float:
    samples = np.frombuffer(pcm, "<i2").astype(float)
    spectrum = np.abs(np.fft.rfft(samples * np.hanning(len(samples))))
    return float(np.argmax(spectrum) * rate / len(samples))


@pytest.mark.parametrize(("file_format", "subtype", "tolerance"), FORMATS)
def test_every_form_of_file_decodes_to_what_was_recorded(file_format: str, subtype: str, tolerance: float) -> None:
    samples = tone(16_000)
    audio = decode(encoded(samples, 16_000, file_format, subtype))
    middle = slice(1_600, 14_400)  # lossy codecs take a moment to settle, and blur the end
    assert audio.rate == 16_000
    assert audio.duration_s == pytest.approx(1.0, abs=0.03)
    assert np.abs(audio.samples[middle, 0] - samples[middle]).max() < tolerance


@pytest.mark.parametrize("rate_in", RATES)
@pytest.mark.parametrize("rate_out", [8_000, 16_000, 24_000, 48_000])
def test_a_tone_stays_the_same_tone_of_the_same_length_at_every_rate(rate_in: int, rate_out: int) -> None:
    samples = tone(rate_in, seconds=1.2345)
    pcm = to_pcm(decode(encoded(samples, rate_in)), rate_out)
    assert abs(len(pcm) / 2 - len(samples) * rate_out / rate_in) <= 1
    assert strongest_frequency(pcm, rate_out) == pytest.approx(440, abs=1)
    middle = np.frombuffer(pcm, "<i2").astype(float)[len(pcm) // 8 : -len(pcm) // 8]
    assert np.sqrt(2 * np.mean(middle**2)) / 32768 == pytest.approx(0.5, rel=0.01)


def test_what_a_lower_rate_cannot_hold_is_filtered_out_and_not_folded_back() -> None:
    pcm = to_pcm(decode(encoded(tone(48_000, frequency=11_000), 48_000)), 16_000)
    assert np.abs(np.frombuffer(pcm, "<i2")[800:-800]).max() <= 2


@given(st.binary(min_size=2, max_size=2000).map(lambda raw: raw[: len(raw) // 2 * 2]))
def test_16_bit_mono_at_the_asked_rate_passes_bit_for_bit(pcm: bytes) -> None:
    assert to_pcm(decode(wav_file(pcm, 16_000)), 16_000) == pcm


def test_channels_are_averaged() -> None:
    left, right = tone(16_000, frequency=300), tone(16_000, frequency=700)
    pcm = to_pcm(decode(encoded(np.column_stack([left, right]), 16_000, subtype="FLOAT")), 16_000)
    assert np.abs(np.frombuffer(pcm, "<i2") / 32768 - (left + right) / 2).max() < 1 / 32768


def test_samples_are_rounded_to_the_nearest_step_and_clipped_at_full_scale() -> None:
    samples = np.array([[0.6], [-0.6], [1.4], [40000], [-40000], [32767.4], [-32768]], np.float32) / np.float32(
        32768
    )
    assert np.frombuffer(to_pcm(Audio(samples, 16_000), 16_000), "<i2").tolist() == [
        1,
        -1,
        1,
        32767,
        -32768,
        32767,
        -32768,
    ]


@pytest.mark.parametrize("subtype", ["PCM_U8", "PCM_16", "PCM_24", "FLOAT"])
@pytest.mark.parametrize("size", [0, 0xFFFFFFFF, 0x7FFFF000, 0x7FFFFFFF, 0x80000000])
def test_a_header_of_unknown_length_is_read_to_the_end_of_the_file(subtype: str, size: int) -> None:
    content = bytearray(encoded(tone(16_000), 16_000, subtype=subtype))
    struct.pack_into("<I", content, content.index(b"data") + 4, size)
    for riff in (0, 0xFFFFFFFF, size):
        struct.pack_into("<I", content, 4, riff)
        assert len(decode(bytes(content)).samples) == 16_000


def test_an_extensible_header_of_unknown_length_is_read_to_the_end_of_the_file() -> None:
    content = bytearray(encoded(np.column_stack([tone(44_100)] * 2), 44_100, "WAVEX", "PCM_24"))
    struct.pack_into("<I", content, content.index(b"data") + 4, 0)
    assert decode(bytes(content)).samples.shape == (44_100, 2)


def test_a_flac_stream_of_unknown_length_is_read_to_the_end() -> None:
    content = bytearray(encoded(np.random.default_rng(1).uniform(-0.5, 0.5, 150_000), 16_000, "FLAC"))
    stream_info = content.index(b"fLaC") + 8
    content[stream_info + 13] &= 0xF0
    content[stream_info + 14 : stream_info + 18] = bytes(4)
    assert len(decode(bytes(content)).samples) == 150_000


def test_an_empty_recording_followed_by_notes_is_empty_and_not_of_unknown_length() -> None:
    notes = b"LIST" + struct.pack("<I", 10) + b"INFOISFT\x02\x00"
    content = encoded(np.zeros(0), 16_000)[:44] + notes
    with pytest.raises(AudioError, match="holds no samples"):
        decode(content)


@pytest.mark.parametrize(("file_format", "subtype"), [("WAV", "PCM_16"), ("WAV", "FLOAT"), ("FLAC", "PCM_16")])
def test_a_file_that_was_cut_short_is_refused(file_format: str, subtype: str) -> None:
    content = encoded(tone(16_000), 16_000, file_format, subtype)
    with pytest.raises(AudioError, match=r"cut short|cannot be decoded"):
        decode(content[: len(content) // 2])


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("subtype", ["FLOAT", "DOUBLE"])
def test_samples_that_are_not_numbers_are_refused(bad: float, subtype: str) -> None:
    samples = tone(16_000)
    samples[100] = bad
    with pytest.raises(AudioError, match="not numbers"):
        decode(encoded(samples, 16_000, subtype=subtype))


def test_a_file_without_samples_is_refused() -> None:
    with pytest.raises(AudioError, match="holds no samples"):
        decode(encoded(np.zeros(0), 16_000))


@given(st.binary(max_size=300).map(lambda body: b"RIFF\xff\xff\xff\xffWAVE" + body) | st.binary(max_size=300))
def test_any_bytes_are_refused_in_words_without_an_address(content: bytes) -> None:
    assume(b"data" not in content)
    with pytest.raises(AudioError, match=r"^(?!.*0x).+$"):
        decode(content)


@given(st.integers(0, 2**32 - 1), st.integers(0, 400), st.integers(0, 2**32 - 1))
def test_any_size_in_a_header_is_believed_repaired_or_refused(riff: int, position: int, size: int) -> None:
    content = bytearray(encoded(tone(16_000, seconds=0.01), 16_000))
    struct.pack_into("<I", content, 4, riff)
    struct.pack_into("<I", content, min(position, len(content) - 4), size)
    with contextlib.suppress(AudioError):
        assert 0 < len(decode(bytes(content)).samples) <= 364
