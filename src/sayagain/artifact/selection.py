"""The cases of an artifact that a person asks for: those that failed, of one cause, of one target."""

from collections.abc import Iterable, Iterator, Mapping
from itertools import groupby

from sayagain.records import Failure, Record, ResultRow, Status


class CaseLine(Record, frozen=True, kw_only=True):
    """A case in one line: its numbers by metric, and the failures it had, one for each cause."""

    case_id: str
    target: str
    item_id: str
    repeat: int
    status: Status
    attempts: int
    started: str
    values: Mapping[str, float | None]
    failures: tuple[Failure, ...]


def select_cases(
    rows: Iterable[ResultRow], *, failed: bool = False, bucket: str | None = None, target: str | None = None
) -> Iterator[CaseLine]:
    """Yield the cases that are all that is asked for, one in memory at a time.

    Args:
        rows: The rows of an artifact; those of one case follow each other.
        failed: Only cases that failed.
        bucket: Only cases that failed with this fingerprint, or one that begins so.
        target: Only cases of the target with this key.
    """
    for _, group in groupby(rows, key=lambda row: row.case_id):
        case = _case_line(list(group))
        if failed and case.status is not Status.FAILED:
            continue
        if bucket and not any((failure.fingerprint or "").startswith(bucket) for failure in case.failures):
            continue
        if target and case.target != target:
            continue
        yield case


def _case_line(rows: list[ResultRow]) -> CaseLine:
    first = rows[0]
    failures = {row.failure.fingerprint: row.failure for row in reversed(rows) if row.failure is not None}
    return CaseLine(
        case_id=first.case_id,
        target=first.target,
        item_id=first.item_id,
        repeat=first.repeat,
        status=Status.FAILED if failures else Status.SUCCEEDED,
        attempts=first.attempts,
        started=first.started,
        values={row.metric: row.value for row in rows},
        failures=tuple(reversed(failures.values())),
    )
