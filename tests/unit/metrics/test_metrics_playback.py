"""The playback model: exact on hand-made arrivals, and equal to a player that moves frame by frame."""

from fractions import Fraction
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sayagain.metrics.playback import play
from sayagain.records import AudioFormat

Chunks = list[tuple[int, int]]

MS = 1_000_000
MONO_16K = AudioFormat(rate=16_000)
BYTES_PER_MS = 32

FORMATS = st.builds(
    AudioFormat,
    rate=st.sampled_from([8_000, 11_025, 16_000, 22_050, 24_000, 44_100, 48_000]),
    width=st.just(2),
    channels=st.sampled_from([1, 2]),
)
CHUNKS = st.lists(
    st.tuples(st.integers(min_value=0, max_value=400_000), st.integers(min_value=1, max_value=33)),
    min_size=1,
    max_size=12,
).map(lambda gaps: [(sum(gap for gap, _ in gaps[: index + 1]), size) for index, (_, size) in enumerate(gaps)])


def by_frames(chunks: Chunks, audio_format: AudioFormat) -> list[Fraction]:
    """Play one frame after the other; return when each is heard, in exact nanoseconds."""
    arrivals = [t_ns for t_ns, size in chunks for _ in range(size)]
    frame_bytes = audio_format.frame_bytes
    heard: list[Fraction] = []
    free: Fraction | None = None
    for frame in range(len(arrivals) // frame_bytes):
        there = Fraction(arrivals[(frame + 1) * frame_bytes - 1])
        start = there if free is None else max(there, free)
        heard.append(start)
        free = start + Fraction(10**9, audio_format.rate)
    return heard


def test_audio_that_is_always_ahead_never_stalls() -> None:
    playback = play([(0, 100 * BYTES_PER_MS), (50 * MS, 100 * BYTES_PER_MS)], MONO_16K)
    assert (playback.stall_ns, playback.stalls) == (0, 0)
    assert playback.frames == 3200


def test_a_chunk_that_arrives_as_the_buffer_ends_is_in_time() -> None:
    playback = play([(0, 100 * BYTES_PER_MS), (100 * MS, 100 * BYTES_PER_MS)], MONO_16K)
    assert playback.stalls == 0


def test_stalls_are_the_waits_between_chunks_and_the_clock_moves_with_them() -> None:
    # 100 ms of audio each: ends at 100, waits to 150, ends at 250, waits to 280.
    playback = play([(t * MS, 100 * BYTES_PER_MS) for t in (0, 150, 280)], MONO_16K)
    assert playback.stall_ns == (50 + 30) * MS
    assert playback.stalls == 2
    assert playback.longest_stall_ns == 50 * MS


def test_a_buffer_that_was_filled_early_pays_for_a_late_chunk() -> None:
    playback = play([(0, 100 * BYTES_PER_MS), (10 * MS, 100 * BYTES_PER_MS), (190 * MS, 64)], MONO_16K)
    assert playback.stalls == 0


def test_half_a_sample_cannot_be_played() -> None:
    # One byte short of 100 ms: the last sample waits for the byte that comes at 150 ms.
    playback = play([(0, 3199), (150 * MS, 1)], MONO_16K)
    assert playback.frames == 1600
    assert playback.stall_ns == pytest.approx(150 * MS - 1599 / 16_000 * 1e9)
    assert playback.arrival_ns(1599) == 150 * MS


def test_playback_starts_with_the_first_whole_frame() -> None:
    playback = play([(0, 1), (40 * MS, 1)], MONO_16K)
    assert playback.heard_ns(0) == 40 * MS
    assert playback.stalls == 0


def test_both_samples_of_a_stereo_frame_must_be_there() -> None:
    stereo = AudioFormat(rate=8_000, channels=2)
    playback = play([(0, 4 * 80 + 2), (30 * MS, 2)], stereo)
    assert playback.frames == 81
    assert playback.stall_ns == 20 * MS


def test_no_audio_is_a_playback_without_frames() -> None:
    some: list[Chunks] = [[], [(0, 0)], [(5, 1)]]
    for chunks in some:
        playback = play(chunks, MONO_16K)
        assert (playback.frames, playback.stall_ns, playback.stalls) == (0, 0, 0)
        with pytest.raises(IndexError):
            playback.heard_ns(0)


@given(CHUNKS, FORMATS)
def test_it_hears_what_a_player_hears_that_moves_frame_by_frame(chunks: Chunks, audio_format: AudioFormat) -> None:
    playback = play(chunks, audio_format)
    heard = by_frames(chunks, audio_format)
    assert playback.frames == len(heard)
    for frame, moment in enumerate(heard):
        assert playback.heard_ns(frame) == float(moment)
    waits = [later - earlier - Fraction(10**9, audio_format.rate) for earlier, later in pairwise(heard)]
    assert playback.stall_ns == float(sum(waits, Fraction(0)))
    assert playback.stalls == sum(wait > 0 for wait in waits)
    assert playback.longest_stall_ns == float(max(waits, default=Fraction(0)))


@given(CHUNKS, FORMATS)
def test_nothing_is_heard_before_it_arrives(chunks: Chunks, audio_format: AudioFormat) -> None:
    playback = play(chunks, audio_format)
    assert playback.stall_ns >= 0
    for frame in range(playback.frames):
        assert playback.heard_ns(frame) >= playback.arrival_ns(frame)


@given(CHUNKS, FORMATS, st.data(), st.integers(min_value=0, max_value=1_000_000))
def test_delaying_a_chunk_never_lets_a_listener_hear_anything_earlier(
    chunks: Chunks, audio_format: AudioFormat, data: st.DataObject, delay_ns: int
) -> None:
    late = data.draw(st.integers(min_value=0, max_value=len(chunks) - 1))
    delayed = [*chunks[:late]]
    for t_ns, size in chunks[late:]:
        delayed.append((max(t_ns, chunks[late][0] + delay_ns), size))
    before, after = play(chunks, audio_format), play(delayed, audio_format)
    for frame in range(before.frames):
        assert after.heard_ns(frame) >= before.heard_ns(frame)
    if before.frames and after.heard_ns(0) == before.heard_ns(0):
        assert after.stall_ns >= before.stall_ns


@given(CHUNKS, FORMATS, st.data())
def test_how_a_moment_s_bytes_are_cut_into_chunks_changes_nothing(
    chunks: Chunks, audio_format: AudioFormat, data: st.DataObject
) -> None:
    index = data.draw(st.integers(min_value=0, max_value=len(chunks) - 1))
    t_ns, size = chunks[index]
    cut = data.draw(st.integers(min_value=0, max_value=size))
    pieces = [*chunks[:index], (t_ns, cut), (t_ns, size - cut), *chunks[index + 1 :]]
    whole, split = play(chunks, audio_format), play(pieces, audio_format)
    assert (whole.frames, whole.stall_ns, whole.stalls) == (split.frames, split.stall_ns, split.stalls)
    assert [whole.heard_ns(f) for f in range(whole.frames)] == [split.heard_ns(f) for f in range(split.frames)]
