"""Keeping pauses of our own out of what is measured: collections, waits for the interpreter, a growing file table.

A full collection walks every object that lives: with 256 streams it holds up the loop for 50 to 100 ms. A young
one comes, by default, after 700 more objects were made than died. While streams begin and end all the time that
says nothing about garbage, and it walks all that is under way: up to 15,000 objects, for 2 to 20 ms, several times
a second. Nearly everything here dies without being collected: an attempt over a websocket leaves about twenty
small objects, and never its trace or its audio (a test says so).

A thread that computes lets the loop's thread continue only when it is asked to, by default after 5 ms.

When the 64th, 128th, 256th … file is opened, Linux makes the process's table of files larger, and in a process
with threads the call waits until every processor has let go of the old one: for 7 to 24 ms.
"""

import fcntl
import gc
import os
import resource
import sys
from collections.abc import Iterator
from contextlib import contextmanager

YOUNG = 100_000
"""Objects more than died, by default 700, after which young ones are collected: every few thousand attempts."""

RARELY = 1000
"""Collections of the middle generation, by default ten, after which a full one may come."""

SWITCH_S = 0.00005
"""How long the loop's thread waits for one that computes, in seconds."""

FILES = 4096
"""Files that can be open before their table grows, if as many may be open at all."""


@contextmanager
def stillness() -> Iterator[None]:
    """Collect all garbage now; inside the with block, collect seldom and never hold up the loop for a thread.

    A collection that comes after all shows in the loop lag of the attempts it held up.
    """
    young, middle, full = gc.get_threshold()
    switch_s = sys.getswitchinterval()
    _make_room_for_files()
    gc.collect()
    gc.freeze()
    gc.set_threshold(YOUNG, middle, RARELY)
    sys.setswitchinterval(SWITCH_S)
    try:
        yield
    finally:
        sys.setswitchinterval(switch_s)
        gc.set_threshold(young, middle, full)
        gc.unfreeze()


def _make_room_for_files() -> None:
    """Open a file under a high number, and close it: the table stays as large."""
    allowed, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    highest = FILES - 1 if allowed == resource.RLIM_INFINITY else min(FILES, allowed) - 1
    low = os.open(os.devnull, os.O_RDONLY)
    try:
        os.close(fcntl.fcntl(low, fcntl.F_DUPFD_CLOEXEC, highest))
    except OSError:
        return  # what is open already is as high as is allowed
    finally:
        os.close(low)
