"""Choosing some items of a dataset so that anybody who knows the seed chooses the same ones."""

import hashlib

from sayagain.records import Item


def sample(items: tuple[Item, ...], size: int | None, seed: int) -> tuple[Item, ...]:
    """Return `size` of the items, in their own order; all of them when there are no more, or size is None.

    Items are ranked by SHA-256 of the seed and their id, so the choice depends on nothing but these two: not on
    the machine, the Python version or the order of the manifest. A smaller sample is part of a larger one.

    Raises:
        ValueError: The size is negative.
    """
    if size is None:
        return items
    if size < 0:
        raise ValueError("a sample cannot have a negative size")
    ranked = sorted(range(len(items)), key=lambda index: (_rank(items[index].id, seed), index))
    return tuple(items[index] for index in sorted(ranked[:size]))


def _rank(item_id: str, seed: int) -> bytes:
    return hashlib.sha256(f"sample/1\0{seed}\0{item_id}".encode()).digest()
