"""The ledger as the rest of the program sees it."""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import TypeVar

import msgspec
from sqlalchemy import Connection, Engine, insert, select, update

from sayagain.errors import LedgerError, UsageError
from sayagain.ledger import interrupted, migrating
from sayagain.ledger.cleaning import clean_json, clean_optional, clean_text
from sayagain.ledger.clock import database_now, iso
from sayagain.ledger.engine import build_engine, limit_lock_wait, writing
from sayagain.ledger.finding import find_run
from sayagain.ledger.lineage import Lineage, read_lineage
from sayagain.ledger.ownership import Owner
from sayagain.ledger.reading import (
    TranscriptDigest,
    read_cases,
    read_counts,
    read_rows,
    read_runs,
    read_targets,
)
from sayagain.ledger.recording import add_results, beat, record_cases
from sayagain.ledger.refusals import refusals
from sayagain.ledger.retrying import retrying
from sayagain.ledger.tables import run
from sayagain.ledger.urls import describe, is_sqlite, ledger_url, sqlite_file
from sayagain.ledger.views import CaseView, RunView, TargetCounts
from sayagain.records import CaseCounts, Result, ResultRow, RunHeader, RunStatus, ScoredCase

Answer = TypeVar("Answer")

OPENING_S = 10.0
"""How long opening a ledger is tried again while its refusal may pass, in seconds."""


def open_ledger(url: str, *, upgrade: bool | None = None, create: bool = True) -> "Ledger":
    """Open a ledger whose tables are those this version knows.

    Args:
        url: A SQLite or PostgreSQL database URL.
        upgrade: Lead an older ledger to this version's tables; None means: SQLite yes, PostgreSQL no.
        create: Make the file of a SQLite ledger that does not exist.

    Raises:
        UsageError: The URL names no database that can hold a ledger, or its file is missing.
        LedgerError: It cannot be reached, is behind and was not to be upgraded, or is newer than this version.
    """
    ledger = connect(url, create=create)
    try:
        check = ledger.upgrade if (ledger.is_file if upgrade is None else upgrade) else ledger.require_current
        # Making a file a WAL database takes a lock that SQLite does not wait for: several may open a new one.
        retrying(check, OPENING_S)
    except BaseException:
        ledger.close()
        raise
    return ledger


def connect(url: str, *, create: bool = True) -> "Ledger":
    """Return a ledger whatever its tables are, for those who look after it; see `open_ledger`.

    Raises:
        UsageError: The URL names no database that can hold a ledger, or its file is missing.
        LedgerError: The directory of its file does not exist.
    """
    parsed = ledger_url(url)
    if is_sqlite(parsed):
        _check_file(sqlite_file(parsed), create)
    return Ledger(build_engine(parsed))


def _check_file(file: Path, create: bool) -> None:
    if not file.parent.is_dir():
        raise LedgerError(
            f"SQLite ledger {file}: its directory does not exist; create it or name another with --db"
        )
    if not (create or file.exists()):
        raise UsageError(f"there is no ledger at {file} yet; `sayagain run` makes one, --db names another")


class Ledger:
    """A database of runs. Threads may share one object; processes may share one database.

    Every method raises LedgerError when the database refuses; its `transient` says whether that may pass. After
    a connection was lost the same object works again as soon as the database does. Repeating `record` or
    `heartbeat` changes nothing; repeating `finalize` answers False.
    """

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._writer = writing(engine)

    def __enter__(self) -> "Ledger":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close every connection."""
        self._engine.dispose()

    def __str__(self) -> str:
        return describe(self._engine.url)

    @property
    def is_file(self) -> bool:
        """Whether this is a SQLite ledger, which is upgraded without being asked."""
        return is_sqlite(self._engine.url)

    def upgrade(self) -> tuple[str | None, str]:
        """Lead the ledger to this version's tables; return its revision before and after."""
        with refusals(self._engine):
            return migrating.upgrade(self._engine)

    def require_current(self) -> None:
        """Return when the ledger has this version's tables; raise LedgerError that says what to do otherwise."""
        with refusals(self._engine):
            migrating.require_current(self._engine)

    def revision(self) -> str | None:
        """Return the revision of the ledger's tables, or None when it has none."""
        with self._reading() as connection:
            return migrating.revision_of(connection)

    def insert_run(self, header: RunHeader, owner: Owner) -> None:
        """Write a run as `running`, owned by a process."""
        text = clean_json(header)
        try:
            msgspec.json.decode(text, type=RunHeader)
        except msgspec.ValidationError as error:
            raise LedgerError(f"the run's header could not be read back ({error}): it is not written") from None
        values = {
            "run_id": header.run_id,
            "kind": clean_text(header.kind),
            "status": RunStatus.RUNNING.value,
            "started": clean_text(header.started),
            "planned": header.cases,
            "header": text,
            "owner_pid": owner.pid,
            "owner_started": owner.started,
            "owner_host": owner.host,
            "heartbeat": database_now(),
        }
        with self._writing() as connection:
            connection.execute(insert(run).values(values))

    def record(self, run_id: str, cases: Sequence[ScoredCase]) -> None:
        """Commit scored cases in one transaction; those that are recorded already stay as they are.

        Raises:
            LedgerError: Nothing was committed, or the answer was lost: recording the same cases again is safe.
                A run that is over takes no more cases.
        """
        with self._writing() as connection:
            record_cases(connection, run_id, cases)

    def record_with_retry(self, run_id: str, cases: Sequence[ScoredCase], timeout_s: float) -> None:
        """Commit scored cases, trying again for up to `timeout_s` seconds while the refusal may pass."""
        self.retrying(lambda: self.record(run_id, cases), timeout_s)

    def add_results(self, run_id: str, results: Sequence[tuple[int, Result]]) -> None:
        """Commit more results of recorded cases of a running run, each with its case's position in the plan.

        Adding the same again changes nothing. None may be failed: the status of a case is decided.
        """
        with self._writing() as connection:
            add_results(connection, run_id, results)

    def retrying(self, operation: Callable[[], Answer], timeout_s: float) -> Answer:
        """Return what an operation on this ledger returns; see `sayagain.ledger.retrying`."""
        return retrying(operation, timeout_s)

    def heartbeat(self, run_id: str) -> bool:
        """Say that the run is alive; return False when it is no longer `running`."""
        with self._writing() as connection:
            return beat(connection, run_id) is not None

    def finalize(self, run_id: str, status: RunStatus, reason: str | None = None) -> bool:
        """Move a run from `running` to its final status; return False when it already had one.

        Of any number of callers at most one is answered True. One whose connection was lost may have succeeded
        all the same: `run` tells.
        """
        if status is RunStatus.RUNNING:
            raise ValueError("running is not a final status")
        running = (run.c.run_id == run_id) & (run.c.status == RunStatus.RUNNING.value)
        values = {"status": status.value, "reason": clean_optional(reason), "finished": iso(time.time())}
        with self._writing() as connection:
            return connection.execute(update(run).where(running).values(values)).rowcount == 1

    def mark_interrupted(self) -> tuple[str, ...]:
        """Move running runs whose process is gone to `interrupted`; return their ids.

        See `sayagain.ledger.interrupted` for what counts as gone.
        """
        with self._reading() as connection:
            gone = interrupted.runs_gone(connection)
        if not gone:
            return ()
        with self._writing() as connection:
            return tuple(one.run_id for one in gone if interrupted.interrupt(connection, one))

    def counts(self, run_id: str) -> CaseCounts:
        """Return how the planned cases of a run ended so far."""
        with self._reading() as connection:
            return read_counts(connection, find_run(connection, run_id))

    def runs(self, limit: int | None = None) -> tuple[RunView, ...]:
        """Return runs with their counts, newest first."""
        with self._reading() as connection:
            return read_runs(connection, limit=limit)

    def run(self, selector: str) -> RunView:
        """Return the run named by its id, a unique beginning of it, or `latest`; UsageError when none is."""
        with self._reading() as connection:
            return read_runs(connection, run_pk=find_run(connection, selector))[0]

    def header(self, run_id: str) -> RunHeader:
        """Return what was planned for a run."""
        with self._reading() as connection:
            text = connection.scalar(select(run.c.header).where(run.c.run_pk == find_run(connection, run_id)))
        return msgspec.json.decode(text or "", type=RunHeader)

    def lineage(self, run_id: str) -> Lineage:
        """Return which runs a run replays, and which replay it."""
        with self._reading() as connection:
            return read_lineage(connection, find_run(connection, run_id))

    def targets(self, run_id: str) -> tuple[TargetCounts, ...]:
        """Return how the recorded cases of each target of a run ended, by target key."""
        with self._reading() as connection:
            return read_targets(connection, find_run(connection, run_id))

    def rows(
        self, run_id: str, transcript_digest: TranscriptDigest, *, failed_only: bool = False
    ) -> Iterator[ResultRow]:
        """Yield the metric rows of a run, or of its failed cases, in the order of its plan and the metrics' names.

        Memory is bounded by a page of cases, whatever the size of the run. `transcript_digest` is called once
        for each case. Every failed row has its failure, its own or the case's.
        """
        return read_rows(self._reading, self._key(run_id), transcript_digest, failed_only=failed_only)

    def cases(self, run_id: str, *, failed_only: bool = False) -> Iterator[CaseView]:
        """Yield the recorded cases of a run, or its failed ones, in the order of its plan with every attempt."""
        return read_cases(self._reading, self._key(run_id), failed_only=failed_only)

    def _key(self, selector: str) -> int:
        with self._reading() as connection:
            return find_run(connection, selector)

    @contextmanager
    def _reading(self) -> Iterator[Connection]:
        with refusals(self._engine), self._engine.connect() as connection:
            yield connection

    @contextmanager
    def _writing(self) -> Iterator[Connection]:
        with refusals(self._engine), self._writer.begin() as connection:
            limit_lock_wait(connection)
            yield connection
