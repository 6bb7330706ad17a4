"""What a person asks an artifact first: what ran, how it came out, what failed and why, what was slowest."""

import heapq
from collections.abc import Iterator, Mapping
from itertools import count
from pathlib import Path

import msgspec

from sayagain.artifact.verification import CheckedRows
from sayagain.metrics.aggregate import TargetSummary, aggregate
from sayagain.records import Bucket, CaseCounts, Record, ResultRow, RunHeader, RunStatus

SLOWEST = 5
"""Cases that are named as the slowest, for each metric."""

LATENCIES = ("ttfs", "audio_to_final", "ttfa", "synthesis")
"""Metrics by which cases are called slow."""


class SlowCase(Record, frozen=True, kw_only=True):
    """A case that is among the slowest by one metric, in the metric's unit."""

    metric: str
    value: float
    unit: str
    target: str
    item_id: str
    case_id: str


class Overview(Record, frozen=True, kw_only=True):
    """The answers. Of a damaged file they are about what is whole before the damage, which `problem` describes.

    Counts and buckets are those of the rows that are whole; `status`, `reason` and `finished` are null when the
    summary is not among what is whole.
    """

    path: str
    problem: str | None
    line: int | None
    torn: bool
    file_sha256: str | None
    rows: int
    header: RunHeader | None
    status: RunStatus | None
    reason: str | None
    finished: str | None
    cases: CaseCounts
    targets: tuple[TargetSummary, ...]
    buckets: tuple[Bucket, ...]
    failures_unlisted: int
    slowest: tuple[SlowCase, ...]


def overview(path: str | Path) -> Overview:
    """Verify and summarize an artifact in one pass.

    Memory: eight bytes a row and about 150 a case.

    Raises:
        UsageError: There is no such file, or it cannot be read.
        UnsupportedSchemaError: It has a major version of the schema that is not read here.
    """
    checked = CheckedRows(path)
    slowest = _Slowest()
    targets = aggregate(_noted(checked, slowest))
    found = checked.verification
    summary, counted = found.summary, checked.recounted()
    return Overview(
        path=found.path,
        problem=found.problem,
        line=found.line,
        torn=found.torn,
        file_sha256=found.file_sha256,
        rows=found.rows,
        header=found.header,
        status=summary.status if summary else None,
        reason=summary.reason if summary else None,
        finished=summary.finished if summary else None,
        cases=counted.cases,
        targets=targets,
        buckets=counted.buckets,
        failures_unlisted=counted.failures_unlisted,
        slowest=slowest.cases(),
    )


def _noted(checked: CheckedRows, slowest: "_Slowest") -> Iterator[ResultRow]:
    for row in checked:
        slowest.add(row)
        yield _with_whole_counts(row) if row.detail else row


def _with_whole_counts(row: ResultRow) -> ResultRow:
    """Return a row whose detail has all of S, D, I and N or none: an artifact comes from a stranger.

    A failed row has N alone.
    """
    detail: Mapping[str, float] = row.detail or {}
    if row.failure is None and "N" in detail and not {"S", "D", "I"} <= detail.keys():
        return msgspec.structs.replace(row, detail=None)
    return row


class _Slowest:
    """Keeps the slowest cases by each metric that says how long somebody waited."""

    def __init__(self) -> None:
        self._heaps: dict[str, list[tuple[float, int, ResultRow]]] = {metric: [] for metric in LATENCIES}
        self._order = count(0, -1)

    def add(self, row: ResultRow) -> None:
        heap = self._heaps.get(row.metric)
        if heap is None or row.value is None:
            return
        entry = (row.value, next(self._order), row)
        if len(heap) < SLOWEST:
            heapq.heappush(heap, entry)
        elif entry > heap[0]:
            heapq.heapreplace(heap, entry)

    def cases(self) -> tuple[SlowCase, ...]:
        return tuple(
            SlowCase(
                metric=metric,
                value=value,
                unit=row.unit,
                target=row.target,
                item_id=row.item_id,
                case_id=row.case_id,
            )
            for metric, heap in self._heaps.items()
            for value, _, row in sorted(heap, key=lambda entry: (-entry[0], -entry[1]))
        )
