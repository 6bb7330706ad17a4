"""A target that can be asked for, and how it is reached from here."""

from collections.abc import Callable
from dataclasses import dataclass

from sayagain.records import Limits, Target
from sayagain.transports.base import Transport


@dataclass(frozen=True)
class Candidate:
    """A target that can be asked for; `missing` says why it cannot run here, or is None."""

    target: Target
    connect: Callable[[Limits], Transport]
    missing: str | None = None
