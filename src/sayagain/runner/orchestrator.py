"""The life of a run, from a prepared plan to its artifact. This module owns that and nothing else."""

import asyncio
import signal
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol

from sayagain.artifact.places import shown
from sayagain.artifact.redaction import Redactor
from sayagain.errors import LedgerError, SayagainError, fault_of
from sayagain.ledger import Ledger, Owner
from sayagain.logs import logger
from sayagain.records import Attempt, Case, CaseCounts, FinishedCase, Limits, RunHeader, RunStatus
from sayagain.runner.artifacts import export_run
from sayagain.runner.execute import Executor, Read
from sayagain.runner.plan import Plan
from sayagain.runner.recorder import Recorder
from sayagain.runner.stage import StageRunner
from sayagain.runner.stopping import Stop, exit_code
from sayagain.transports.base import Transport
from sayagain.transports.pacing import LoopWatch


class Display(Protocol):
    """What a run tells the person who waits for it."""

    def begin(self, plan: Plan) -> None:
        """The cases start now."""

    def case(self, finished: FinishedCase) -> None:
        """A case is over."""

    def end(self) -> None:
        """No more cases follow."""


@dataclass(frozen=True)
class Prepared:
    """A run that is ready to start: everything that could be checked beforehand has been."""

    header: RunHeader
    plan: Plan
    limits: Limits
    transports: Mapping[str, Transport]
    redactor: Redactor
    artifact_dir: str | None = None
    artifact_hmac_key: str | None = None
    require_artifact: bool = False
    ledger_timeout_s: float = 30.0
    judged: bool = False


@dataclass(frozen=True)
class Outcome:
    """How a run ended. `status` is None when not even that could be written to the ledger."""

    run_id: str
    status: RunStatus | None
    reason: str | None
    counts: CaseCounts | None
    artifact: str | None
    artifact_error: str | None
    exit_code: int


async def conduct(
    prepared: Prepared,
    ledger: Ledger,
    recorder: Recorder,
    read: Read,
    display: Display,
    spool: Path | None = None,
) -> Outcome:
    """Run a prepared plan: insert, execute, judge what was kept in the spool, finalize, and only then export.

    Returns an outcome for every way a run can end; raises SayagainError only when the run could not begin.
    """
    stop = Stop(prepared.limits.grace_s)
    log = logger().bind(run_id=prepared.header.run_id)

    def stopping(number: signal.Signals) -> None:
        """Say that the run is being stopped."""
        log.warning("run_stopping", signal=number.name, grace_s=stop.grace_s)

    with stop.on_signals(stopping):
        await asyncio.to_thread(ledger.insert_run, prepared.header, Owner.current())
        log.info("run_started", kind=prepared.header.kind, cases=prepared.plan.size)
        trouble = await _execute(prepared, recorder, read, stop, display)
        if spool is not None and trouble is None:
            from sayagain.runner.judging import judge_run  # only a judged run pays for what it imports

            await judge_run(spool, ledger, prepared.header.run_id, stop)
        outcome = await _finalize(prepared, ledger, stop, trouble)
        log.info("run_finished", status=outcome.status, reason=outcome.reason, **_counted(outcome.counts))
        return await _export(prepared, ledger, outcome)


async def _execute(prepared: Prepared, recorder: Recorder, read: Read, stop: Stop, display: Display) -> str | None:
    """Run every stage and drain the recorder; return what went wrong with the run itself, if anything did."""
    watch = LoopWatch()
    executor = Executor(prepared.limits, prepared.redactor, watch, read, on_retry=_log_retry)

    async def deliver(finished: FinishedCase) -> None:
        if finished.failure is not None:
            _log_failure(finished)
        await recorder.put(finished)
        display.case(finished)

    async def give_up_when_the_ledger_does() -> None:
        await recorder.failed.wait()
        stop.request("the ledger could not be written", grace_s=0)

    watch.start()
    guard = asyncio.create_task(give_up_when_the_ledger_does())
    display.begin(prepared.plan)
    try:
        stages = StageRunner(executor, prepared.transports, prepared.limits, stop, deliver)
        fault = await _run_stages(prepared.plan, stages, stop)
        await recorder.close()
    except LedgerError as error:
        return str(error)
    finally:
        display.end()
        guard.cancel()
        await watch.stop()
    return fault


async def _run_stages(plan: Plan, stages: StageRunner, stop: Stop) -> str | None:
    """Run one stage after the other; a fault of our own ends the run, and what has finished is still recorded."""
    try:
        for stage in plan.stages:
            if not stop.requested:
                await stages.run(stage)
    except Exception as error:
        logger().error("run_fault", fault=fault_of(error))
        return f"a fault of sayagain itself: {fault_of(error)}"
    return None


async def _finalize(prepared: Prepared, ledger: Ledger, stop: Stop, trouble: str | None) -> Outcome:
    """Move the run from running to its final status, once; what the ledger then says is what counts."""
    run_id = prepared.header.run_id
    timeout_s = prepared.ledger_timeout_s

    def decide() -> tuple[RunStatus, str | None, CaseCounts]:
        counts = ledger.counts(run_id)
        status, reason = verdict(counts, stop.reason, trouble)
        ledger.finalize(run_id, status, reason)
        run = ledger.run(run_id)
        return run.status, run.reason, counts

    try:
        status, reason, counts = await asyncio.to_thread(ledger.retrying, decide, timeout_s)
    except LedgerError as error:
        return Outcome(run_id, None, trouble or str(error), None, None, None, 1)
    code = 1 if status is RunStatus.FAILED else 0
    if stop.signal is not None and trouble is None and reason == stop.reason:
        code = exit_code(stop.signal)
    return Outcome(run_id, status, reason, counts, None, None, code)


def verdict(counts: CaseCounts, stopped: str | None, trouble: str | None) -> tuple[RunStatus, str | None]:
    """Return the final status of a run and its reason.

    Trouble with the run itself is a failed run. A run that was stopped before every case had run is partial.
    Otherwise all succeeded, none did, or something between.
    """
    if trouble is not None:
        return RunStatus.FAILED, trouble
    if stopped is not None and (counts.not_run or counts.failed):
        return RunStatus.PARTIAL, stopped
    if counts.succeeded == counts.planned:
        return RunStatus.SUCCEEDED, None
    if counts.succeeded == 0:
        return RunStatus.FAILED, "no case succeeded"
    return RunStatus.PARTIAL, f"{counts.failed} of {counts.planned} cases failed"


async def _export(prepared: Prepared, ledger: Ledger, outcome: Outcome) -> Outcome:
    """Write the artifact, best effort: its failure is logged and never changes the status.

    The exit code is 1 then, unless it says more already, when the artifact was required.
    """
    place = prepared.artifact_dir
    if place is None or outcome.status is None:
        return outcome
    log = logger().bind(run_id=outcome.run_id)
    try:
        written = await asyncio.to_thread(export_run, ledger, outcome.run_id, place, prepared.artifact_hmac_key)
    except Exception as error:
        reason = (
            str(error) if isinstance(error, SayagainError) else f"a fault of sayagain itself: {fault_of(error)}"
        )
        log.error("run_artifact_write_failed", reason=reason, directory=shown(place))
        code = outcome.exit_code or int(prepared.require_artifact)
        return replace(outcome, artifact_error=reason, exit_code=code)
    log.info("run_artifact_written", path=written.location, bytes=written.size)
    return replace(outcome, artifact=written.location)


def _log_retry(case: Case, attempt: Attempt) -> None:
    assert attempt.failure is not None  # noqa: S101 - only failed attempts are retried
    logger().info(
        "case_retried",
        case_id=case.id,
        target=case.target.key,
        attempt=attempt.number,
        kind=attempt.failure.kind.value,
        code=attempt.failure.code,
    )


def _log_failure(finished: FinishedCase) -> None:
    failure = finished.failure
    assert failure is not None  # noqa: S101 - said by the caller
    logger().warning(
        "case_failed",
        case_id=finished.case.id,
        target=finished.case.target.key,
        item=finished.case.item.id,
        attempts=len(finished.attempts),
        kind=failure.kind.value,
        phase=failure.phase.value,
        code=failure.code,
        message=failure.message,
    )


def _counted(counts: CaseCounts | None) -> dict[str, int]:
    if counts is None:
        return {}
    return {"succeeded": counts.succeeded, "failed": counts.failed, "not_run": counts.not_run}
