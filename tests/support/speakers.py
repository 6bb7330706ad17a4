"""A whole run of one target that speaks at once, in this process, with a real recorder and ledger."""

from typing import Any

from sayagain.artifact.redaction import Redactor
from sayagain.ledger import open_ledger
from sayagain.records import (
    AudioFormat,
    Benchmark,
    Case,
    EventKind,
    FinishedCase,
    Limits,
    RunHeader,
    RunnerInfo,
    Target,
)
from sayagain.runner.orchestrator import Outcome, Prepared
from sayagain.runner.plan import Plan, make_plan
from sayagain.runner.run import run_prepared
from sayagain.transports.pacing import now_ns
from sayagain.transports.tracing import Tracer
from support.plans import dataset_of
from support.transports import Ready

TARGET = Target(benchmark=Benchmark.TTS, provider="p", model="m", adapter="a/1")


class Speaker(Ready):
    """Speaks at once; the items it is told to fail it fails."""

    def __init__(self, failing: tuple[str, ...] = ()) -> None:
        self.failing = failing

    async def attempt(self, case: Case, pcm: bytes, tracer: Tracer, limits: Limits) -> None:
        if case.item.id in self.failing:
            raise RuntimeError("no")
        tracer.mark(EventKind.TEXT_SENT)
        tracer.begin_audio(AudioFormat(rate=16_000))
        tracer.audio(b"\x00\x40\x00\xc0" * 800, now_ns())


class Watcher:
    """A display that does something when the cases are over."""

    def __init__(self, at_the_end: Any = lambda: None) -> None:
        self.cases: list[FinishedCase] = []
        self.at_the_end = at_the_end

    def begin(self, plan: Plan) -> None:
        pass

    def case(self, finished: FinishedCase) -> None:
        self.cases.append(finished)

    def end(self) -> None:
        self.at_the_end()


def plan(items: int) -> Plan:
    return make_plan([dataset_of(items)], [TARGET])


def prepared(items: int = 4, failing: tuple[str, ...] = (), **fields: Any) -> Prepared:
    cases = plan(items)
    header = RunHeader(
        schema="1.0",
        run_id="20250101T000000-00000000",
        kind="tts",
        started="2025-01-01T00:00:00.000Z",
        scheduled=None,
        runner=RunnerInfo(name="sayagain", version="0", sha=None, python="3", platform="x", contract="c"),
        datasets=cases.dataset_infos(),
        targets=cases.target_infos(),
        limits=Limits(attempts=1),
        repeat=1,
        cases=cases.size,
        plan_sha256=cases.digest(),
        metrics={},
        normalizer="n",
    )
    transports = {TARGET.key: Speaker(failing)}
    return Prepared(
        header=header, plan=cases, limits=header.limits, transports=transports, redactor=Redactor([]), **fields
    )


async def conduct(ready: Prepared, url: str, display: Watcher | None = None) -> Outcome:
    with open_ledger(url) as ledger:
        return await run_prepared(ready, ledger, url, display or Watcher())
