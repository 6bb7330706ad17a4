"""What the judge of a run gets wrong in human speech: the floor of its verdict on synthesized speech."""

from collections.abc import Iterable, Iterator

from sayagain.metrics.intelligibility import METRIC
from sayagain.records import Record, ResultRow


class Floor(Record, frozen=True, kw_only=True):
    """Errors in words of human speech, made in the same run; `judge` says by whom: heard by such and such."""

    judge: str
    errors: int
    words: int


class FloorFinder:
    """Finds the floor among the rows that pass through it: every judged row of a run has the same."""

    def __init__(self) -> None:
        self.found: Floor | None = None

    def noted(self, rows: Iterable[ResultRow]) -> Iterator[ResultRow]:
        """Yield the rows as they are."""
        for row in rows:
            if self.found is None and row.metric == METRIC:
                self.found = _floor(row)
            yield row


def _floor(row: ResultRow) -> Floor | None:
    words = (row.detail or {}).get("floor_words", 0)
    if row.detail is None or words <= 0:
        return None
    return Floor(judge=row.reason or "", errors=int(row.detail.get("floor_errors", 0)), words=int(words))
