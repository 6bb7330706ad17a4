"""Numbers that our own machine may have spoilt: values of time taken while the measuring loop was late.

A flag is derived from the row's loop lag whenever rows are shown: it hides nothing and changes no figure.
"""

from collections import Counter
from collections.abc import Iterable, Iterator

from sayagain.records import ResultRow

LAG_BOUND_MS = 10.0
"""Loop lag above which a value of time is flagged: a whole period of the watch, so one waking was missed."""

TIMED = frozenset({"ttft", "ttfs", "finalization", "audio_to_final", "rtfx", "ttfa", "synthesis", "rtf", "stall"})
"""The metrics whose values depend on when something happened."""


def is_flagged(row: ResultRow) -> bool:
    """Tell whether a row has a value of time and the loop woke later than the bound while it was taken."""
    if row.value is None or row.metric not in TIMED or row.loop_lag_ms is None:
        return False
    return row.loop_lag_ms > LAG_BOUND_MS


class FlagCounter:
    """Counts flagged rows by target while rows pass through."""

    def __init__(self) -> None:
        self.flagged: Counter[str] = Counter()

    def noted(self, rows: Iterable[ResultRow]) -> Iterator[ResultRow]:
        """Yield rows as they are, counting those that are flagged."""
        for row in rows:
            if is_flagged(row):
                self.flagged[row.target] += 1
            yield row
