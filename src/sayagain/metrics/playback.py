"""What a listener hears when playback starts with the first chunk of audio and takes more as it arrives.

There is no jitter buffer: the first frame (one sample of every channel) plays the moment it is there, and a player
that has played all it has waits for the next whole frame. Chunks are bytes: one may end inside a sample.

The arithmetic is exact. Time is kept in nanoseconds multiplied by the sample rate, so that a frame lasts a whole
number (10⁹) of these ticks at any rate.
"""

from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass

from sayagain.records import AudioFormat

_NS_PER_S = 1_000_000_000


@dataclass(frozen=True, slots=True)
class Playback:
    """A simulated playback: `frames` in all; waits in nanoseconds, `stalls` their number.

    The three tuples have one entry for each chunk that completed at least one frame: its arrival, the first frame
    it completed, and when that frame starts to play, in ticks.
    """

    rate: int
    frames: int
    stall_ns: float
    stalls: int
    longest_stall_ns: float
    arrivals_ns: tuple[int, ...]
    first_frames: tuple[int, ...]
    starts_ticks: tuple[int, ...]

    def arrival_ns(self, frame: int) -> int:
        """Return when the last byte of a frame arrived."""
        return self.arrivals_ns[self._chunk(frame)]

    def heard_ns(self, frame: int) -> float:
        """Return when a frame starts to play."""
        chunk = self._chunk(frame)
        ticks = self.starts_ticks[chunk] + (frame - self.first_frames[chunk]) * _NS_PER_S
        return ticks / self.rate

    def _chunk(self, frame: int) -> int:
        if not 0 <= frame < self.frames:
            raise IndexError(frame)
        return bisect_right(self.first_frames, frame) - 1


def play(chunks: Iterable[tuple[int, int]], audio_format: AudioFormat) -> Playback:
    """Simulate the playback of chunks, each an arrival in nanoseconds and a size in bytes, in order of arrival."""
    rate, frame_bytes = audio_format.rate, audio_format.frame_bytes
    arrivals: list[int] = []
    first_frames: list[int] = []
    starts: list[int] = []
    received = frames = ends = stall = stalls = longest = 0
    for t_ns, size in chunks:
        received += size
        complete = received // frame_bytes
        if complete == frames:
            continue
        arrived = t_ns * rate
        waited = arrived - ends if starts else 0
        if waited > 0:
            stall += waited
            stalls += 1
            longest = max(longest, waited)
        start = arrived if waited > 0 or not starts else ends
        arrivals.append(t_ns)
        first_frames.append(frames)
        starts.append(start)
        ends = start + (complete - frames) * _NS_PER_S
        frames = complete
    return Playback(
        rate=rate,
        frames=frames,
        stall_ns=stall / rate,
        stalls=stalls,
        longest_stall_ns=longest / rate,
        arrivals_ns=tuple(arrivals),
        first_frames=tuple(first_frames),
        starts_ticks=tuple(starts),
    )
