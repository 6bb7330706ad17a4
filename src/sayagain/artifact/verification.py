"""Whether an artifact is what was written: everything that can be recomputed is, in one pass."""

import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from sayagain.artifact.buckets import Tally
from sayagain.artifact.grouping import Grouping
from sayagain.artifact.reading import open_artifact, records
from sayagain.errors import CorruptArtifactError, TornArtifactError
from sayagain.records import Record, ResultRow, RunHeader, RunStatus, Summary

HASHED_TOGETHER = 256
"""Lines that are hashed with one call."""


class Verification(Record, frozen=True, kw_only=True):
    """What was found in a file: `problem` is null when it is whole, and else what is wrong first, at `line`.

    `torn` says that the file ends too early and that all before its end is well formed. `rows` and `cases` count
    what is whole. `file_sha256` digests all bytes, as `sha256sum` does; it is null when a line could not be read.
    """

    path: str
    problem: str | None = None
    line: int | None = None
    torn: bool = False
    rows: int = 0
    cases: int = 0
    file_sha256: str | None = None
    header: RunHeader | None = None
    summary: Summary | None = None

    @property
    def ok(self) -> bool:
        """Whether nothing is wrong."""
        return self.problem is None


def verify(path: str | Path) -> Verification:
    """Recompute an artifact's digest, counts and buckets, and check the order and grouping of its records.

    Memory does not grow with the file, but for sixteen bytes a case.

    Raises:
        UsageError: There is no such file, or it cannot be read.
        UnsupportedSchemaError: It has a major version of the schema that is not read here.
    """
    checked = CheckedRows(path)
    for _ in checked:
        pass
    return checked.verification


class CheckedRows:
    """The rows of an artifact, which is verified on the way; of a damaged one, the rows before the damage.

    Iterate once. `verification` is complete when the rows are exhausted.
    """

    def __init__(self, path: str | Path) -> None:
        self.verification = Verification(path=str(path))
        self._digest = hashlib.sha256()
        self._tally = Tally()
        self._grouping = Grouping()
        self._header: RunHeader | None = None
        self._summary: Summary | None = None
        self._file_sha256: str | None = None

    def __iter__(self) -> Iterator[ResultRow]:
        """Yield the rows; raise UsageError or UnsupportedSchemaError as `verify` does."""
        problem: CorruptArtifactError | None = None
        with open_artifact(self.verification.path) as stream:
            try:
                yield from self._rows(stream)
            except CorruptArtifactError as error:
                problem = error
            except OSError as error:
                problem = CorruptArtifactError(f"cannot be read to its end: {error.strerror or error}")
        repeated = self._grouping.first_repeated()
        if repeated is not None and (problem is None or problem.line is None or repeated < problem.line):
            problem = CorruptArtifactError("the rows of a case do not follow each other", repeated)
        self.verification = Verification(
            path=self.verification.path,
            problem=problem.reason if problem else None,
            line=problem.line if problem else None,
            torn=isinstance(problem, TornArtifactError),
            rows=self._tally.rows,
            cases=self._tally.cases,
            file_sha256=self._file_sha256,
            header=self._header,
            summary=self._summary,
        )

    def recounted(self, found: Summary | None = None, sha256: str = "") -> Summary:
        """Return the counts and buckets of the rows so far; how the run ended is as `found` says, or unknown."""
        return self._tally.summary(
            status=found.status if found else RunStatus.INTERRUPTED,
            reason=found.reason if found else None,
            finished=found.finished if found else None,
            planned=self._header.cases if self._header else self._tally.cases,
            sha256=sha256,
        )

    def _rows(self, stream: BinaryIO) -> Iterator[ResultRow]:
        pending: list[bytes] = []
        for number, line, record in records(stream):
            if isinstance(record, ResultRow):
                pending.append(line)
                if self._tally.add(record):
                    self._grouping.begin(record.case_id, number)
                if len(pending) == HASHED_TOGETHER:
                    self._hash(pending)
                yield record
            elif isinstance(record, RunHeader):
                self._header = record
                pending.append(line)
            else:
                self._hash(pending)
                self._finish(record, number, line)

    def _hash(self, pending: list[bytes]) -> None:
        pending.append(b"")
        self._digest.update(b"\n".join(pending))
        pending.clear()

    def _finish(self, found: Summary, number: int, line: bytes) -> None:
        """Compare the summary with the one that the records before it give."""
        self._summary = found
        before = self._digest.hexdigest()
        self._hash([line])
        self._file_sha256 = self._digest.hexdigest()
        if found.sha256 != before:
            raise CorruptArtifactError(
                "the digest is not that of the bytes before this line: something before it was changed", number
            )
        due = self.recounted(found, before)
        for name in ("records", "rows", "rows_failed", "cases", "buckets", "failures_unlisted"):
            if getattr(found, name) != getattr(due, name):
                raise CorruptArtifactError(f"{name} is not what the records before this line give", number)
        if found.status is RunStatus.SUCCEEDED and found.cases.succeeded != found.cases.planned:
            raise CorruptArtifactError("the status is succeeded, but not every case succeeded", number)
