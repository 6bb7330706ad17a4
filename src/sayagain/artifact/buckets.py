"""Failure buckets and the other counts of a run, from one pass over its rows, in bounded memory.

The rows of a case must follow each other. A bucket counts cases, so a case whose eleven rows failed of one cause
counts once in it, and a case whose metrics failed of two causes counts once in each of two buckets.
"""

from dataclasses import dataclass, field

import msgspec

from sayagain.records import Bucket, CaseCounts, Failure, ResultRow, RunStatus, Status, Summary

TRACKED = 5_000
"""Distinct fingerprints kept while rows are read. Failures of later ones are counted as not listed."""

LISTED = 1_000
"""Buckets in a summary: the largest of those tracked. Failures in the others are counted as not listed."""

LISTED_BYTES = 2 * 1024 * 1024
"""Size of the listed buckets in JSON, so that a summary is never longer than a line may be."""

EXAMPLE_CASES = 5


@dataclass
class _Tally:
    """What has been seen of one fingerprint."""

    failure: Failure
    count: int = 0
    last_case: str | None = None
    cases: list[str] = field(default_factory=list)
    targets: set[str] = field(default_factory=set)
    metrics: set[str] = field(default_factory=set)

    def bucket(self, fingerprint: str) -> Bucket:
        return Bucket(
            fingerprint=fingerprint,
            kind=self.failure.kind,
            phase=self.failure.phase,
            code=self.failure.code,
            count=self.count,
            targets=tuple(sorted(self.targets)),
            metrics=tuple(sorted(self.metrics)),
            cases=tuple(self.cases),
            example=self.failure.message,
        )


class BucketTally:
    """Sorts failed rows into buckets as they come."""

    def __init__(self) -> None:
        self._tallies: dict[str, _Tally] = {}
        self._failures = 0
        self._case: str | None = None
        self._untracked: set[str] = set()

    def add(self, row: ResultRow, failure: Failure) -> None:
        """Count a failed row."""
        fingerprint = failure.fingerprint or ""
        tally = self._tallies.get(fingerprint)
        if tally is None:
            if len(self._tallies) == TRACKED:
                self._count_untracked(row.case_id, fingerprint)
                return
            tally = self._tallies[fingerprint] = _Tally(failure)
        if tally.last_case != row.case_id:
            tally.last_case = row.case_id
            tally.count += 1
            self._failures += 1
            if len(tally.cases) < EXAMPLE_CASES:
                tally.cases.append(row.case_id)
        tally.targets.add(row.target)
        tally.metrics.add(row.metric)

    def _count_untracked(self, case_id: str, fingerprint: str) -> None:
        if case_id != self._case:
            self._case = case_id
            self._untracked.clear()
        if fingerprint not in self._untracked:
            self._untracked.add(fingerprint)
            self._failures += 1

    def listed(self) -> tuple[tuple[Bucket, ...], int]:
        """Return the buckets, largest first and ties by fingerprint, and how many failures are in none of them."""
        order = sorted(self._tallies.items(), key=lambda entry: (-entry[1].count, entry[0]))
        buckets: list[Bucket] = []
        size = 0
        for fingerprint, tally in order[:LISTED]:
            bucket = tally.bucket(fingerprint)
            size += len(msgspec.json.encode(bucket))
            if size > LISTED_BYTES:
                break
            buckets.append(bucket)
        return tuple(buckets), self._failures - sum(bucket.count for bucket in buckets)


class Tally:
    """Counts the rows, cases and failures of a run as its rows come."""

    def __init__(self) -> None:
        self.rows = 0
        self.rows_failed = 0
        self.cases = 0
        self.cases_failed = 0
        self._case: str | None = None
        self._failed_case: str | None = None
        self._buckets = BucketTally()

    def add(self, row: ResultRow) -> bool:
        """Count a row and say whether it is the first of its case."""
        self.rows += 1
        is_first = row.case_id != self._case
        if is_first:
            self._case = row.case_id
            self.cases += 1
        if row.status is Status.FAILED:
            self._add_failed(row)
        return is_first

    def _add_failed(self, row: ResultRow) -> None:
        self.rows_failed += 1
        if self._failed_case != row.case_id:
            self._failed_case = row.case_id
            self.cases_failed += 1
        if row.failure is not None:
            self._buckets.add(row, row.failure)

    def summary(
        self, *, status: RunStatus, reason: str | None, finished: str | None, planned: int, sha256: str
    ) -> Summary:
        """Return the summary of a run whose records before it, a header and the rows, have this digest."""
        buckets, unlisted = self._buckets.listed()
        return Summary(
            status=status,
            reason=reason,
            finished=finished,
            rows=self.rows,
            rows_failed=self.rows_failed,
            cases=CaseCounts(
                planned=planned,
                succeeded=self.cases - self.cases_failed,
                failed=self.cases_failed,
                not_run=planned - self.cases,
            ),
            buckets=buckets,
            records=self.rows + 1,
            sha256=sha256,
            failures_unlisted=unlisted,
        )
