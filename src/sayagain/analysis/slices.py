"""Parts of a run: its cases by tag, speaker or duration of their items."""

from collections.abc import Mapping
from enum import StrEnum
from typing import NamedTuple

from sayagain.analysis.cases import GatheredCase, GatheredRun, Slot
from sayagain.records import Item

DURATION_EDGES_S = (2, 5, 10, 20, 60)
"""Where slices by duration end, in seconds; fixed, so that the slices of two runs are the same ones."""


class By(StrEnum):
    """What a run can be split by."""

    TAG = "tag"
    SPEAKER = "speaker"
    DURATION = "duration"


class SliceName(NamedTuple):
    """The name of a slice, and its place among the others."""

    place: float
    name: str


_NOT_HERE = SliceName(float("inf"), "items whose dataset is not here")


def split(run: GatheredRun, items: Mapping[str, Item], by: By | None) -> dict[str, GatheredRun]:
    """Return the parts of a run in order; the whole of it, under the name `all`, when it is not to be split.

    An item with several tags is in the slice of each. Items are found by their digests; those whose dataset is not
    on this machine, and those that do not say what they are split by, are slices of their own.
    """
    if by is None:
        return {"all": run}
    parts: dict[SliceName, dict[Slot, GatheredCase]] = {}
    for slot, case in run.cases.items():
        for name in slices_of(items.get(slot.item_digest), by):
            parts.setdefault(name, {})[slot] = case
    return {name.name: GatheredRun(parts[name], run.meanings) for name in sorted(parts)}


def slices_of(item: Item | None, by: By) -> tuple[SliceName, ...]:
    """Return the slices an item is in."""
    if item is None:
        return (_NOT_HERE,)
    if by is By.TAG:
        return tuple(SliceName(0, f"tag {tag}") for tag in dict.fromkeys(item.tags)) or (SliceName(1, "no tag"),)
    if by is By.SPEAKER:
        return (SliceName(1, "no speaker") if item.speaker is None else SliceName(0, f"speaker {item.speaker}"),)
    return (_by_duration(item.duration_s),)


def _by_duration(seconds: float | None) -> SliceName:
    if seconds is None:
        return SliceName(float("inf"), "no duration")
    below = next((edge for edge in DURATION_EDGES_S if seconds < edge), None)
    if below is None:
        return SliceName(DURATION_EDGES_S[-1], f"{DURATION_EDGES_S[-1]} s or more")
    above = max((edge for edge in DURATION_EDGES_S if edge < below), default=0)
    return SliceName(above, f"{above} s to below {below} s")
