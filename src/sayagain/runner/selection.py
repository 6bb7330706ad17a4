"""Which cases of an artifact are to be run again.

An artifact is a stranger's file: it names cases, and nothing here turns what it says into a path, a host or a
module. What is remembered of it is bounded, however many cases it claims.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from sayagain.artifact.plaintext import one_line
from sayagain.errors import UsageError
from sayagain.records import Case, ResultRow, Status

MOST_CASES = 100_000
"""The most cases that one replay selects."""


@dataclass(frozen=True)
class Selector:
    """What a person asked for; an empty field narrows nothing."""

    buckets: frozenset[str] = frozenset()
    targets: frozenset[str] = frozenset()
    items: frozenset[str] = frozenset()

    def wants(self, target: str, item_id: str) -> bool:
        """Tell whether a case of this target and item is asked for."""
        return (not self.targets or target in self.targets) and (not self.items or item_id in self.items)


@dataclass(frozen=True)
class CaseName:
    """A case as an artifact names it; `item_digest` is None for one that never ran."""

    target: str
    item_id: str
    item_digest: str | None
    repeat: int


def failed_cases(rows: Iterable[ResultRow], selector: Selector) -> tuple[CaseName, ...]:
    """Return each case with at least one failed row that is asked for, once, in the order of the rows.

    A bucket is asked for by a beginning of its fingerprint.

    Raises:
        UsageError: More cases are selected than a replay takes.
    """
    selected: dict[CaseName, None] = {}
    for row in rows:
        if row.status is Status.FAILED and _in_bucket(row, selector) and selector.wants(row.target, row.item_id):
            selected[CaseName(row.target, row.item_id, row.item_digest, row.repeat)] = None
            _require_bounded(len(selected))
    return tuple(selected)


def cases_never_run(planned: Iterable[Case], rows: Iterable[ResultRow], selector: Selector) -> Iterator[CaseName]:
    """Yield the planned cases that have no row and are asked for, in the order of the plan.

    Buckets narrow failures only: what never ran has no cause.
    """
    ran = {row.case_id for row in rows}
    for number, case in enumerate(
        case for case in planned if case.id not in ran and selector.wants(case.target.key, case.item.id)
    ):
        _require_bounded(number + 1)
        yield CaseName(case.target.key, case.item.id, case.item.digest, case.repeat)


def with_repeats(cases: Iterable[CaseName], repeat: int, first_free: int) -> tuple[CaseName, ...]:
    """Return each case as often as asked: itself, then with repeat numbers that the parent did not use."""
    repeated = tuple(
        CaseName(case.target, case.item_id, case.item_digest, case.repeat + turn * max(1, first_free))
        for case in cases
        for turn in range(repeat)
    )
    _require_bounded(len(repeated))
    return repeated


def nothing_selected(selector: Selector, failed: int) -> UsageError:
    """Return the error that says why there is nothing to replay."""
    if failed == 0:
        return UsageError("Nothing to replay: no case of this artifact failed.")
    asked = ", ".join(
        f"{name} {one_line(', '.join(sorted(values)))}"
        for name, values in (("bucket", selector.buckets), ("target", selector.targets), ("item", selector.items))
        if values
    )
    return UsageError(
        f"Nothing to replay: {failed} cases failed and none matches {asked}. `sayagain artifact show` lists them."
    )


def _in_bucket(row: ResultRow, selector: Selector) -> bool:
    if not selector.buckets:
        return True
    fingerprint = (row.failure and row.failure.fingerprint) or ""
    return any(fingerprint.startswith(bucket) for bucket in selector.buckets)


def _require_bounded(count: int) -> None:
    if count > MOST_CASES:
        raise UsageError(
            f"More than {MOST_CASES:,} cases are selected: narrow them with --bucket, --target or --item."
        )
