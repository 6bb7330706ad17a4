"""Running a stage within its limits, and stopping it in order."""

import asyncio
import os
import signal

import pytest

from sayagain.artifact.redaction import Redactor
from sayagain.errors import LedgerError
from sayagain.records import (
    AudioFormat,
    Benchmark,
    Case,
    CaseCounts,
    FailureKind,
    FinishedCase,
    Limits,
    RunStatus,
    Target,
)
from sayagain.runner.execute import Executor
from sayagain.runner.orchestrator import verdict
from sayagain.runner.plan import Stage, make_plan
from sayagain.runner.stage import StageRunner
from sayagain.runner.stopping import Stop, exit_code
from sayagain.transports.pacing import LoopWatch
from sayagain.transports.tracing import Tracer
from support.plans import dataset_of
from support.recordings import no_recording
from support.transports import Ready


class Gate(Ready):
    """Holds every attempt until it is opened, and counts how many are inside."""

    def __init__(self, *, is_open: bool = False) -> None:
        self.inside = 0
        self.most_inside = 0
        self.entered = asyncio.Event()
        self.opened = asyncio.Event()
        if is_open:
            self.opened.set()

    async def attempt(self, case: Case, pcm: bytes, tracer: Tracer, limits: Limits) -> None:
        self.inside += 1
        self.most_inside = max(self.most_inside, self.inside)
        self.entered.set()
        try:
            await asyncio.sleep(0)
            await self.opened.wait()
            tracer.begin_audio(AudioFormat(rate=16_000))
            tracer.audio(b"\x00\x40\x00\xc0" * 800, 0)
        finally:
            self.inside -= 1


def stage(items: int, *providers: str) -> Stage:
    targets = [Target(benchmark=Benchmark.TTS, provider=provider, model="m") for provider in providers]
    (only,) = make_plan([dataset_of(items)], targets).stages
    return only


class Bench:
    """A stage runner with one gate for every target, and what it delivered."""

    def __init__(self, what: Stage, gate: Gate, *, grace_s: float = 60.0, **limits: int) -> None:
        self.stage = what
        self.stop = Stop(grace_s)
        self.delivered: list[FinishedCase] = []
        bounds = Limits(**limits)
        executor = Executor(bounds, Redactor([]), LoopWatch(), no_recording)
        transports = {target.key: gate for target in what.targets}
        self.runner = StageRunner(executor, transports, bounds, self.stop, self.deliver)

    async def deliver(self, finished: FinishedCase) -> None:
        self.delivered.append(finished)

    async def run(self) -> None:
        await asyncio.wait_for(self.runner.run(self.stage), 20)


async def test_every_case_is_executed_and_delivered_once() -> None:
    bench = Bench(stage(7, "a", "b"), Gate(is_open=True), provider_concurrency=3)
    await bench.run()
    assert sorted(f.case.position for f in bench.delivered) == list(range(14))
    assert all(f.failure is None for f in bench.delivered)


@pytest.mark.parametrize(
    ("concurrency", "provider_concurrency", "most"), [(8, 1, 2), (8, 3, 6), (2, 3, 2), (1, 1, 1)]
)
async def test_no_more_cases_are_in_flight_than_the_limits_allow(
    concurrency: int, provider_concurrency: int, most: int
) -> None:
    gate = Gate()
    bench = Bench(stage(9, "a", "b"), gate, concurrency=concurrency, provider_concurrency=provider_concurrency)
    running = asyncio.create_task(bench.run())
    await gate.entered.wait()
    for _ in range(200):
        await asyncio.sleep(0)
    assert gate.inside == most
    gate.opened.set()
    await running
    assert gate.most_inside <= most
    assert len(bench.delivered) == 18


async def test_a_stop_starts_no_case_and_lets_those_in_flight_end() -> None:
    gate = Gate()
    bench = Bench(stage(9, "a"), gate)
    running = asyncio.create_task(bench.run())
    await gate.entered.wait()
    bench.stop.request("enough")
    gate.opened.set()
    await running
    assert [f.failure for f in bench.delivered] == [None]


async def test_a_case_that_outlasts_the_grace_is_cancelled_and_delivered() -> None:
    gate = Gate()
    bench = Bench(stage(9, "a"), gate, grace_s=0.01)
    running = asyncio.create_task(bench.run())
    await gate.entered.wait()
    bench.stop.request("enough")
    await running
    (finished,) = bench.delivered
    assert finished.failure is not None
    assert finished.failure.kind is FailureKind.CANCELLED


async def test_a_ledger_that_is_gone_ends_the_workers_without_an_error() -> None:
    bench = Bench(stage(9, "a"), Gate(is_open=True))

    async def refuse(finished: FinishedCase) -> None:
        bench.stop.request("the ledger is gone", grace_s=0)
        raise LedgerError("gone")

    bench.runner = StageRunner(
        Executor(Limits(), Redactor([]), LoopWatch(), no_recording),
        {"tts:a/m": Gate(is_open=True)},
        Limits(),
        bench.stop,
        refuse,
    )
    await bench.run()
    assert bench.stop.reason == "the ledger is gone"


async def test_the_first_signal_asks_for_a_stop_and_the_handlers_are_gone_afterwards() -> None:
    stop = Stop(1.0)
    told: list[signal.Signals] = []
    before = signal.getsignal(signal.SIGTERM)
    with stop.on_signals(told.append):
        os.kill(os.getpid(), signal.SIGTERM)
        await asyncio.wait_for(stop.wait(), 5)
    assert told == [signal.SIGTERM] == [stop.signal]
    assert stop.reason == "stopped by SIGTERM"
    assert signal.getsignal(signal.SIGTERM) == before


async def test_a_hang_up_stops_the_run_unless_it_is_ignored_as_nohup_has_it() -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        ignoring = Stop(1.0)
        with ignoring.on_signals(lambda _: None):
            os.kill(os.getpid(), signal.SIGHUP)
            await asyncio.sleep(0.01)
        assert not ignoring.requested
        signal.signal(signal.SIGHUP, signal.SIG_DFL)
        heeding = Stop(1.0)
        with heeding.on_signals(lambda _: None):
            os.kill(os.getpid(), signal.SIGHUP)
            await asyncio.wait_for(heeding.wait(), 5)
        assert heeding.reason == "stopped by SIGHUP"
    finally:
        signal.signal(signal.SIGHUP, before)


async def test_an_interrupt_stops_a_run_that_a_shell_put_into_the_background() -> None:
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        stop = Stop(1.0)
        with stop.on_signals(lambda _: None):
            os.kill(os.getpid(), signal.SIGINT)
            await asyncio.wait_for(stop.wait(), 5)
        assert stop.signal is signal.SIGINT
    finally:
        signal.signal(signal.SIGINT, before)


def test_exit_codes_of_signals_are_those_of_a_shell() -> None:
    assert (exit_code(signal.SIGINT), exit_code(signal.SIGTERM)) == (130, 143)


@pytest.mark.parametrize(
    ("succeeded", "failed", "not_run", "stopped", "trouble", "status"),
    [
        (3, 0, 0, None, None, RunStatus.SUCCEEDED),
        (0, 3, 0, None, None, RunStatus.FAILED),
        (1, 2, 0, None, None, RunStatus.PARTIAL),
        (1, 0, 2, "stopped by SIGINT", None, RunStatus.PARTIAL),
        (0, 0, 3, "stopped by SIGINT", None, RunStatus.PARTIAL),
        (3, 0, 0, "stopped by SIGINT", None, RunStatus.SUCCEEDED),
        (2, 0, 1, None, "the ledger is gone", RunStatus.FAILED),
    ],
)
def test_the_status_of_a_run_follows_from_its_cases(
    succeeded: int, failed: int, not_run: int, stopped: str | None, trouble: str | None, status: RunStatus
) -> None:
    counts = CaseCounts(planned=3, succeeded=succeeded, failed=failed, not_run=not_run)
    assert verdict(counts, stopped, trouble)[0] is status
