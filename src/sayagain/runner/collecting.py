"""Keeping the garbage collector's longest pauses out of what is measured.

A full collection walks every object that lives: with 256 streams it holds up the loop for 50 to 100 ms, and by
default one comes every few seconds. Young objects are collected as ever, in well under a millisecond.
"""

import gc
from collections.abc import Iterator
from contextlib import contextmanager

RARELY = 1000
"""Collections of the middle generation, by default ten, after which a full one may come."""


@contextmanager
def rare_full_collections() -> Iterator[None]:
    """Collect all garbage now, and inside the with block leave alone what was there before, and most of the rest.

    A full collection that comes after all shows in the loop lag of the attempts it held up.
    """
    young, middle, full = gc.get_threshold()
    gc.collect()
    gc.freeze()
    gc.set_threshold(young, middle, RARELY)
    try:
        yield
    finally:
        gc.set_threshold(young, middle, full)
        gc.unfreeze()
