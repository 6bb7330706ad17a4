"""Reading an artifact as typed records or as a table, one line in memory at a time."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

from sayagain.artifact.lines import MAX_LINE_BYTES, decode_header, decode_line, read_line
from sayagain.artifact.schema import ArtifactRecord
from sayagain.errors import CorruptArtifactError, TornArtifactError, UsageError
from sayagain.records import ResultRow, RunHeader, Status, Summary

MOST_DETAILS = 256
"""Different parts of details that a table has columns for."""

Line = tuple[int, bytes, ArtifactRecord]
"""Number from 1, bytes without the newline, record."""


class Artifact:
    """An artifact on disk: its run record, its summary, and its rows when they are asked for.

    Nothing here recomputes the digest and counts: `sayagain.artifact.verification.verify` does.
    """

    def __init__(self, path: Path, header: RunHeader, summary: Summary) -> None:
        self.path = path
        self.header = header
        self.summary = summary

    def rows(self) -> Iterator[ResultRow]:
        """Yield the result records in their order; raise CorruptArtifactError at the first line that is wrong."""
        with open_artifact(self.path) as stream:
            try:
                for _, _, record in records(stream):
                    if isinstance(record, ResultRow):
                        yield record
            except CorruptArtifactError as error:
                raise type(error)(error.reason, error.line, str(self.path)) from None

    def to_table(self) -> dict[str, list[Any]]:
        """Return the result records as columns of equal length, ready for a pandas or polars `DataFrame`.

        A failure becomes the columns `failure_kind`, `failure_phase` and so on, a part of a detail `detail_S`,
        `detail_N` and so on; a row without one has None there. Statuses and kinds are plain strings.

        Raises:
            CorruptArtifactError: A line is wrong, or the details have more than 256 different parts.
        """
        return _table(self.rows())


def read_artifact(path: str | Path) -> Artifact:
    """Open an artifact; its first and last record are read now, its rows when they are asked for.

    Raises:
        UsageError: There is no such file, or it cannot be read.
        UnsupportedSchemaError: It has a major version of the schema that is not read here.
        CorruptArtifactError: It is torn, damaged, or not an artifact.
    """
    path = Path(path)
    with open_artifact(path) as stream:
        try:
            header = decode_header(read_line(stream, 1))
            return Artifact(path, header, _last_record(stream))
        except CorruptArtifactError as error:
            raise type(error)(error.reason, error.line, str(path)) from None


def open_artifact(path: str | Path) -> BinaryIO:
    """Open a file for reading; raise UsageError, which says why, when it cannot be."""
    try:
        return Path(path).open("rb")
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror or error}") from None


def records(stream: BinaryIO) -> Iterator[Line]:
    """Yield the lines of an artifact: a run record, result records, a summary, and nothing after it.

    Raises CorruptArtifactError at the first line that is not what it must be, after the lines before it have been
    yielded: of a torn file everything whole can be used. A row must name a target and a metric of the run record.
    """
    line = read_line(stream, 1)
    if not line:
        raise TornArtifactError("the file is empty", 1)
    header = decode_header(line)
    yield 1, line, header
    targets = frozenset(target.key for target in header.targets)
    number = 1
    while line := read_line(stream, number + 1):
        number += 1
        record = decode_line(line, number)
        if not isinstance(record, ResultRow):
            break
        problem = _problem_of(record, header, targets)
        if problem:
            raise CorruptArtifactError(problem, number)
        yield number, line, record
    else:
        raise TornArtifactError("the file ends here without a summary", number + 1)
    if not isinstance(record, Summary):
        raise CorruptArtifactError("a second run record", number)
    yield number, line, record
    if stream.read(1):
        raise CorruptArtifactError("there is something after the summary", number + 1)


def _problem_of(row: ResultRow, header: RunHeader, targets: frozenset[str]) -> str | None:
    """Say what is wrong with a row that is well formed, or None."""
    if row.target not in targets:
        return "the target is not one of the run record's"
    if header.metrics.get(row.metric) != row.metric_version:
        return "the metric is not one of the run record's, or of another version"
    if (row.status is Status.FAILED) != (row.failure is not None):
        return "a row has a failure exactly when it is failed"
    if row.failure is not None and (row.value is not None or row.failure.fingerprint is None):
        return "a failed row has a fingerprint and no value"
    return None


def _last_record(stream: BinaryIO) -> Summary:
    size = stream.seek(0, os.SEEK_END)
    stream.seek(max(0, size - MAX_LINE_BYTES - 1))
    tail = stream.read(MAX_LINE_BYTES + 1)
    if not tail.endswith(b"\n"):
        raise TornArtifactError("the file ends in the middle of a line")
    line = tail[tail.rfind(b"\n", 0, -1) + 1 : -1]
    try:
        record = decode_line(line, 0)
    except CorruptArtifactError as error:
        raise CorruptArtifactError(f"the last line is not a record: {error.reason}") from None
    if not isinstance(record, Summary):
        raise TornArtifactError("the file ends without a summary")
    return record


_FAILURE = ("kind", "phase", "code", "message", "retryable", "fingerprint")
_PLAIN = tuple(name for name in ResultRow.__struct_fields__ if name not in ("detail", "failure"))


def _table(rows: Iterator[ResultRow]) -> dict[str, list[Any]]:
    columns: dict[str, list[Any]] = {name: [] for name in (*_PLAIN, *(f"failure_{name}" for name in _FAILURE))}
    details: dict[str, list[float | None]] = {}
    for count, row in enumerate(rows):
        for name in _PLAIN:
            columns[name].append(getattr(row, name))
        columns["status"][-1] = row.status.value
        for name in _FAILURE:
            part = getattr(row.failure, name, None)
            columns[f"failure_{name}"].append(getattr(part, "value", part))
        _add_details(details, row, count)
    for name, values in details.items():
        columns[f"detail_{name}"] = [*values, *[None] * (len(columns["case_id"]) - len(values))]
    return columns


def _add_details(details: dict[str, list[float | None]], row: ResultRow, count: int) -> None:
    for name, part in (row.detail or {}).items():
        values = details.setdefault(name, [])
        values += [None] * (count - len(values))
        values.append(part)
    if len(details) > MOST_DETAILS:
        raise CorruptArtifactError(f"the details have more than {MOST_DETAILS} different parts", count + 2)
