"""The main job as one call: prepare, make ready, conduct, and let everything go."""

import asyncio
import dataclasses
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import msgspec

from sayagain.config import Settings
from sayagain.errors import fault_of
from sayagain.ledger import Ledger, open_ledger
from sayagain.logs import logger
from sayagain.promptness import promptness
from sayagain.runner.orchestrator import Display, Outcome, Prepared, conduct
from sayagain.runner.preflight import prepare
from sayagain.runner.recorder import Recorder, Setup
from sayagain.runner.recordings import Recordings
from sayagain.stillness import stillness
from sayagain.transports.base import Transport
from sayagain.transports.pacing import wall_time


async def run_benchmark(settings: Settings, display: Display) -> Outcome:
    """Run the benchmark that the settings describe; every result is in the ledger when this returns.

    Raises:
        SayagainError: The run could not begin; nothing was spent and the message says why.
    """
    prepared = await prepare(settings)
    with open_ledger(settings.db) as ledger:
        return await run_prepared(prepared, ledger, settings.db, display)


async def run_prepared(prepared: Prepared, ledger: Ledger, db: str, display: Display) -> Outcome:
    """Run what has been prepared: engines and the recorder are loaded before the run, and its clocks, start."""
    transports = tuple({id(transport): transport for transport in prepared.transports.values()}.values())
    with _spool(prepared) as spool:
        setup = Setup(
            db=db,
            run_id=prepared.header.run_id,
            ledger_timeout_s=prepared.ledger_timeout_s,
            spool=None if spool is None else str(spool),
            yields=not any(transport.local for transport in transports),
        )
        recorder, recordings = Recorder(setup), Recordings()
        asyncio.get_running_loop().set_exception_handler(_log_fault)
        try:
            await _ready(recorder, recordings, transports)
            header = msgspec.structs.replace(prepared.header, started=wall_time())
            started = dataclasses.replace(prepared, header=header)
            with stillness(), promptness():
                return await conduct(started, ledger, recorder, recordings.read, display, spool)
        finally:
            await asyncio.gather(
                recorder.abandon(), recordings.aclose(), *(transport.aclose() for transport in transports)
            )


@contextmanager
def _spool(prepared: Prepared) -> Iterator[Path | None]:
    """Hold a folder for the audio that is to be judged, readable by its owner alone; None when none is."""
    if not prepared.judged:
        yield None
        return
    with TemporaryDirectory(prefix="sayagain-judge-") as folder:
        yield Path(folder)


def _log_fault(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    """Log what nobody awaited by its type and place; the loop itself would print a traceback with its text."""
    del loop
    error = context.get("exception")
    logger().warning("loop_fault", fault=fault_of(error) if isinstance(error, BaseException) else "no exception")


async def _ready(recorder: Recorder, recordings: Recordings, transports: Sequence[Transport]) -> None:
    """Load everything at once; when one cannot, the others are let finish so that they can be closed."""
    hears = any(transport.audio_format is not None for transport in transports)
    outcomes = await asyncio.gather(
        recorder.start(),
        *([recordings.start()] if hears else []),
        *(transport.prepare() for transport in transports),
        return_exceptions=True,
    )
    for outcome in outcomes:
        if isinstance(outcome, BaseException):
            raise outcome
