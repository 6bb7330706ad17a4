"""What the machine itself did while something was measured on it: when its processors ran slower than usual.

A virtual machine may be held up by its host for some 100 ms at a time, and no counter inside says so: every step
simply takes several times as long. A third process therefore does the same small piece of work again and again and
notes the processor time it took. How busy the machine is hardly changes that; how fast its processors are does.
"""

import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise

import msgspec

EVERY_S = 0.004
"""How often the piece of work is done."""

STEPS = 600
"""What it consists of: some 40 us."""

SLOW = 2.0
"""How many times the median a piece takes while the machine is slow."""

BEFORE_NS, AFTER_NS = 10_000_000, 50_000_000
"""What else is left out around a slow piece: what came before it was noticed, and what had piled up."""

Span = tuple[int, int]


class SlowTimes:
    """When the machine was slow, in nanoseconds of `time.perf_counter_ns`; known once watching is over."""

    def __init__(self) -> None:
        self.spans: list[Span] = []
        self.share = 0.0

    def spare(self, instant_ns: int) -> bool:
        """Tell whether an instant lies outside all of them."""
        return not any(begin <= instant_ns <= end for begin, end in self.spans)


@contextmanager
def watching(slow: SlowTimes) -> Iterator[None]:
    """Watch the machine inside the with block."""
    process = subprocess.Popen([sys.executable, __file__], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    try:
        yield
    finally:
        said, _ = process.communicate()
        pieces = msgspec.json.decode(said, type=list[Span])
        slow.spans = spans_of(pieces)
        whole = pieces[-1][0] - pieces[0][0]
        slow.share = sum(end - begin for begin, end in slow.spans) / whole if whole else 0.0


def spans_of(pieces: list[Span]) -> list[Span]:
    """Return the spans around the slow ones of some pieces, each given as when it began and what it took."""
    usual = statistics.median(took for _, took in pieces)
    spans: list[Span] = []
    for (began, took), (following, _) in pairwise(pieces):
        if took < SLOW * usual:
            continue
        begin, end = began - BEFORE_NS, following + AFTER_NS
        if spans and begin <= spans[-1][1]:
            spans[-1] = (spans[-1][0], end)
        else:
            spans.append((begin, end))
    return spans


def watch() -> None:
    """Be the third process: work until the input ends, then print what each piece took."""
    import os
    import select

    pieces: list[Span] = []
    while not select.select((0,), (), (), EVERY_S)[0]:
        began, before = time.perf_counter_ns(), time.thread_time_ns()
        sum(step * step % 7 for step in range(STEPS))
        pieces.append((began, time.thread_time_ns() - before))
    os.write(1, msgspec.json.encode(pieces))


if __name__ == "__main__":
    watch()
