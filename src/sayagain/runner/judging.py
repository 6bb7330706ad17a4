"""What becomes of the audio of a judged run: after everything timed is over, a judge hears it, case by case.

Nobody is measured any more, so this may take what the machine has. Every result is committed as it comes; what
the judge cannot do is a result without a value and its reason, never the failure of a target or of the run.
"""

import asyncio
import contextlib
from collections.abc import Coroutine
from pathlib import Path
from typing import Any

import msgspec

from sayagain.errors import SayagainError
from sayagain.failures import CaseFailedError
from sayagain.ledger import Ledger
from sayagain.logs import logger
from sayagain.metrics.accuracy import EditCounts
from sayagain.metrics.intelligibility import intelligibility, is_judged, without_value
from sayagain.records import Result
from sayagain.runner import spool
from sayagain.runner.listening import Judge, listening
from sayagain.runner.stopping import Stop

HEARTBEAT_S = 10.0
"""How often a judged run says in the ledger that it is alive."""

STOPPED = "not judged: the run was stopped"


async def judge_run(folder: Path, ledger: Ledger, run_id: str, stop: Stop) -> None:
    """Judge every case whose audio is kept in a folder; the rest of a stopped run says so. Never raises."""
    waiting = list(await asyncio.to_thread(spool.kept, folder))
    log = logger().bind(run_id=run_id)
    log.info("run_judging", cases=len(waiting))
    reason = STOPPED
    beating = asyncio.create_task(_keep_alive(ledger, run_id))
    try:
        if not await _unless_stopped(_judge(folder, waiting, ledger, run_id), stop):
            log.warning("run_judging_stopped", left=len(waiting))
    except (CaseFailedError, SayagainError) as error:
        reason = "not judged: the judge could not be used"
        log.error("run_judge_failed", reason=str(error))
    except Exception as error:
        reason = "not judged: the judge could not be used"
        log.error("run_judge_failed", reason=type(error).__name__, exc_info=True)
    finally:
        beating.cancel()
    try:
        rest = [(position, without_value(reason)) for position in waiting]
        await asyncio.to_thread(ledger.add_results, run_id, rest)
    except SayagainError as error:
        log.error("run_judge_failed", reason=str(error))


async def _judge(folder: Path, waiting: list[int], ledger: Ledger, run_id: str) -> None:
    """Judge cases, taking each off the list once its result is committed."""
    if not waiting:
        return
    async with listening() as judge:
        floor = await judge.floor()
        while waiting:
            result = await _judged(folder, waiting[0], judge, floor)
            await asyncio.to_thread(ledger.add_results, run_id, [(waiting[0], result)])
            del waiting[0]


async def _judged(folder: Path, position: int, judge: Judge, floor: EditCounts) -> Result:
    try:
        spoken = await asyncio.to_thread(spool.read, folder, position)
    except (OSError, msgspec.DecodeError) as error:
        return without_value(f"not judged: its audio could not be read ({type(error).__name__})")
    item = spoken.case.item
    if not is_judged(item):
        return without_value(f"not judged: {judge.name} hears English only")
    try:
        heard = await judge.hear(spoken.audio, spoken.audio_format)
    except CaseFailedError as error:
        logger().warning("judge_gave_no_answer", case_id=spoken.case.id, reason=str(error))
        return without_value("not judged: the judge gave no answer")
    return intelligibility(item, heard, judge.name, floor)


async def _keep_alive(ledger: Ledger, run_id: str) -> None:
    """Say in the ledger that the run is alive, as its recorder did until it was done."""
    while True:
        with contextlib.suppress(SayagainError):  # the next result will say whether the ledger is gone
            await asyncio.to_thread(ledger.heartbeat, run_id)
        await asyncio.sleep(HEARTBEAT_S)


async def _unless_stopped(work: Coroutine[Any, Any, None], stop: Stop) -> bool:
    """Do some work unless the run is stopped first; tell whether it was done. Raises what the work raises."""
    task, stopping = asyncio.create_task(work), asyncio.create_task(stop.wait())
    try:
        await asyncio.wait({task, stopping}, return_when=asyncio.FIRST_COMPLETED)
    finally:
        stopping.cancel()
        if not task.done():
            task.cancel()
            await asyncio.wait({task})
    if task.cancelled():
        return False
    task.result()
    return True
