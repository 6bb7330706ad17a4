"""What one connection will do: its number, its fault, and its draws, all decided by the scenario's seed."""

from random import Random

from sayagain.simulator import faults
from sayagain.simulator.faults import Fault, Moment
from sayagain.simulator.scenario import Endpoint, Scenario


class Plan:
    """The script of connection number `ordinal` (from 0) of an endpoint: the same seed gives the same script."""

    def __init__(self, scenario: Scenario, endpoint: Endpoint, ordinal: int) -> None:
        self.endpoint = endpoint
        self.library = scenario.library
        self.ordinal = ordinal
        self.seed = f"{scenario.seed}/{endpoint.name}"
        self.fault: Fault | None = faults.chosen(endpoint.faults, ordinal, self.seed)

    def random(self, purpose: str) -> Random:
        """Return the generator of one kind of draw; kinds do not disturb each other."""
        return Random(f"{self.seed}/{self.ordinal}/{purpose}")  # noqa: S311 - a script, no secret

    @property
    def model(self) -> str | None:
        """The model to name instead of the one that was asked for, or None."""
        return self.fault.model if isinstance(self.fault, faults.WrongModel) else None

    def strikes_at(self, moment: Moment) -> bool:
        """Say whether the fault is one that strikes at a moment, and this is the moment."""
        return isinstance(self.fault, faults.Timed) and self.fault.at is moment

    def suffers(self, *kinds: type[Fault]) -> bool:
        """Say whether the fault is of one of these kinds."""
        return isinstance(self.fault, kinds)
