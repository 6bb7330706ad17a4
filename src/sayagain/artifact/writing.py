"""Writing an artifact: streamed to a temporary file in its directory, made durable, then given its name.

The name is `run-<start>-<run id>.jsonl`, the start in UTC to the second: `run-20251104T101530Z-0198c5f2.jsonl`.
What already has that name is never replaced, and no symbolic link is followed in the directory. The file's mode is
0600, or less where the umask says so. A directory is never created here, because one that has gone may be a
volume that is not mounted: `check_directory` creates it before a run.
"""

import contextlib
import hashlib
import re
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path

from sayagain.artifact.buckets import Tally
from sayagain.artifact.conforming import encoded, encoded_rows, fit
from sayagain.artifact.files import explained, new_file
from sayagain.artifact.grouping import Grouping
from sayagain.errors import ArtifactWriteError
from sayagain.records import ResultRow, RunHeader, RunStatus

ROWS_TOGETHER = 512
"""Rows that are encoded, hashed and written with one call."""

_UNNAMEABLE = re.compile(r"[^A-Za-z0-9._-]+")


def write_artifact(
    directory: str | Path,
    header: RunHeader,
    rows: Iterable[ResultRow],
    *,
    status: RunStatus,
    reason: str | None,
    finished: str | None,
    planned: int,
) -> Path:
    """Write the artifact of a run and return its path. Whatever goes wrong, nothing of it stays behind.

    Args:
        directory: An existing directory.
        header: The run record.
        rows: The result records; those of one case follow each other. They are read once, and not kept.
        status: How the run ended.
        reason: Why it ended so, where there is more to say.
        finished: When it ended, ISO 8601 in UTC.
        planned: Cases planned, as in the header.

    Raises:
        ArtifactWriteError: It could not be written; the message says what would mend it.
        Exception: Whatever reading the rows raises.
    """
    if planned != header.cases:
        raise ArtifactWriteError(
            f"the header plans {header.cases} cases and the summary {planned}: please report this"
        )
    directory = Path(directory)
    digest = hashlib.sha256()
    tally = Tally()
    with new_file(directory) as file:
        for part in _body(header, rows, tally):
            digest.update(part)
            file.write(part)
        summary = tally.summary(
            status=status, reason=reason, finished=finished, planned=planned, sha256=digest.hexdigest()
        )
        if summary.cases.not_run < 0:
            raise ArtifactWriteError(f"more cases have rows than the {planned} planned: please report this")
        file.write(encoded(summary))
        name = artifact_name(header)
        file.keep_as(name)
    return directory / name


def check_directory(directory: str | Path) -> None:
    """Make sure that an artifact can be written to a directory, which is created if it is missing.

    A file is created in it, written, made durable and removed again.

    Raises:
        ArtifactWriteError: It cannot be; the message says what would mend it.
    """
    directory = Path(directory)
    with explained(directory), contextlib.suppress(FileExistsError):
        directory.mkdir(parents=True)
    with new_file(directory) as file:
        file.write(b"\n")
        file.sync()


def artifact_name(header: RunHeader) -> str:
    """Return the file name of a run's artifact: its start in UTC to the second, and its id."""
    digits = re.sub(r"\D", "", header.started)[:14]
    started = f"{digits[:8]}T{digits[8:]}Z" if len(digits) == 14 else "unknown"
    return f"run-{started}-{_UNNAMEABLE.sub('-', header.run_id) or 'unknown'}.jsonl"


def _body(header: RunHeader, rows: Iterable[ResultRow], tally: Tally) -> Iterator[bytes]:
    """Yield the run record and the result records, many at once, and count them on the way."""
    yield encoded(header)
    providers = {target.key: target.provider for target in header.targets}
    grouping = Grouping()
    remaining = iter(rows)
    while group := [fit(row, providers) for row in islice(remaining, ROWS_TOGETHER)]:
        written, lines = encoded_rows(group)
        for row in written:
            if tally.add(row):
                grouping.begin(row.case_id, tally.rows + 1)
        yield lines
    repeated = grouping.first_repeated()
    if repeated is not None:
        raise ArtifactWriteError(
            f"the rows of a case do not follow each other (row {repeated - 1}): please report this"
        )
