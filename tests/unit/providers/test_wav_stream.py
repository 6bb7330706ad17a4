"""PCM out of a stream of pieces, however it is cut and wherever headers stand in it."""

import struct
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sayagain.providers.wav_stream import MAX_HEADER, WavStream
from sayagain.records import AudioFormat

LENGTHS = st.sampled_from([0, 0xFFFFFFFF, 0x7FFFFFFF, 0x7FFF0000])


def header(length: int, rate: int = 24_000, *, extra: bytes = b"", tag: int = 1, bits: int = 16) -> bytes:
    form = struct.pack("<4sIHHIIHH", b"fmt ", 16, tag, 1, rate, rate * 2, 2, bits)
    return (
        b"RIFF"
        + struct.pack("<I", (length + 36) & 0xFFFFFFFF)
        + b"WAVE"
        + extra
        + form
        + struct.pack("<4sI", b"data", length)
    )


def samples(min_size: int = 0) -> st.SearchStrategy[bytes]:
    """PCM in which nothing looks like the beginning of a header by chance."""
    return (
        st.binary(min_size=min_size, max_size=200)
        .map(lambda data: data[: len(data) // 2 * 2])
        .filter(lambda data: b"RIFF" not in data)
    )


def cut(data: bytes, places: list[int]) -> list[bytes]:
    edges = sorted({0, len(data), *(place % (len(data) + 1) for place in places)})
    return [data[start:end] for start, end in pairwise(edges)]


def read(stream: WavStream, pieces: list[bytes]) -> bytes:
    out = []
    for piece in pieces:
        pcm = stream.feed(piece)
        assert len(pcm) % 2 == 0
        out.append(pcm)
    return b"".join([*out, stream.finish()])


@given(samples(), st.lists(st.integers(0, 500)))
def test_raw_audio_comes_out_as_it_went_in_wherever_it_is_cut(pcm: bytes, places: list[int]) -> None:
    assert read(WavStream(), cut(pcm, places)) == pcm


@given(st.lists(st.tuples(LENGTHS, samples(2)), min_size=1, max_size=4), st.lists(st.integers(0, 2000)))
def test_headers_of_unknown_length_vanish_wherever_they_are_and_wherever_they_are_cut(
    parts: list[tuple[int, bytes]], places: list[int]
) -> None:
    data = b"".join(header(length) + pcm for length, pcm in parts)
    stream = WavStream()
    assert read(stream, cut(data, places)) == b"".join(pcm for _, pcm in parts)
    assert stream.format == AudioFormat(rate=24_000)


@given(samples(2), samples(), st.lists(st.integers(0, 1000)), st.sampled_from([b"LIST", b"id3 ", b"bext"]))
def test_what_follows_data_of_a_known_length_is_dropped_when_it_is_a_chunk(
    pcm: bytes, chunk: bytes, places: list[int], kind: bytes
) -> None:
    data = header(len(pcm)) + pcm + kind + struct.pack("<I", len(chunk)) + chunk
    assert read(WavStream(), cut(data, places)) == pcm


@given(
    samples(2),
    st.binary(min_size=8, max_size=50).map(lambda tail: b"\x01\x02" + tail),
    st.lists(st.integers(0, 500)),
)
def test_audio_beyond_a_length_that_was_wrong_is_kept(pcm: bytes, more: bytes, places: list[int]) -> None:
    more = more[: len(more) // 2 * 2]
    if b"RIFF" not in pcm + more:
        assert read(WavStream(), cut(header(len(pcm)) + pcm + more, places)) == pcm + more


@given(st.integers(1, 60).map(lambda size: size * 2 + 1))
def test_half_a_sample_at_the_very_end_is_no_audio(size: int) -> None:
    assert read(WavStream(), [b"\x01" * size]) == b"\x01" * (size - 1)


@given(st.integers(1, 43))
def test_a_header_that_is_cut_off_is_no_audio(size: int) -> None:
    pcm = read(WavStream(), [b"\x01\x02", header(0)[:size]])
    assert pcm[:2] == b"\x01\x02"
    assert len(pcm) < 2 + 12 or size < 12


def test_the_header_says_the_rate_and_chunks_before_the_format_are_skipped() -> None:
    stream = WavStream()
    assert stream.feed(header(0, rate=48_000, extra=b"JUNK\x03\0\0\0abc\0") + b"\x01\x02") == b"\x01\x02"
    assert stream.format == AudioFormat(rate=48_000)


@pytest.mark.parametrize(
    "data",
    [
        header(0, tag=3, bits=32),
        header(0, tag=7, bits=8),
        header(0, bits=0),
        b"RIFF\0\0\0\0WAVEdata\0\0\0\0",
        b"RIFF\0\0\0\0WAVEfmt \x02\0\0\0\x01\0data\0\0\0\0",
        b"RIFF\0\0\0\0WAVEJUNK" + struct.pack("<I", MAX_HEADER) + bytes(8),
    ],
)
def test_audio_that_is_not_pcm_is_refused(data: bytes) -> None:
    with pytest.raises(ValueError, match=r"PCM|header"):
        WavStream().feed(data)


@given(st.binary(max_size=300), st.lists(st.integers(0, 300)))
def test_no_stream_of_bytes_does_anything_but_give_audio_or_say_that_it_is_wrong(
    data: bytes, places: list[int]
) -> None:
    try:
        read(WavStream(), cut(b"RIFF" + data, places))
    except ValueError as error:
        assert str(error)  # noqa: PT017 - either outcome is right
