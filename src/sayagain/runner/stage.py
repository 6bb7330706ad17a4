"""Running the cases of one stage: a limit per provider, one overall, and an orderly stop."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Mapping
from pathlib import Path

from sayagain.errors import LedgerError
from sayagain.records import Case, FinishedCase, Limits
from sayagain.runner.execute import Executor
from sayagain.runner.plan import Stage
from sayagain.runner.stopping import Stop
from sayagain.transports.base import Transport

Deliver = Callable[[FinishedCase], Awaitable[None]]
"""Takes a finished case to where it is safe; raises LedgerError when there is no such place any more."""


class StageRunner:
    """Executes stages; every started case is delivered, whatever ends the run."""

    def __init__(
        self,
        executor: Executor,
        transports: Mapping[str, Transport],
        limits: Limits,
        stop: Stop,
        deliver: Deliver,
    ) -> None:
        self._executor = executor
        self._transports = transports
        self._limits = limits
        self._stop = stop
        self._deliver = deliver
        self._slots = asyncio.Semaphore(limits.concurrency)
        self._in_flight: set[asyncio.Task[FinishedCase]] = set()

    async def run(self, stage: Stage) -> None:
        """Run a stage's cases until they are all over or the run is to stop."""
        hurry = asyncio.create_task(self._cancel_after_grace())
        try:
            async with asyncio.TaskGroup() as workers:
                for provider in stage.providers:
                    cases = stage.cases(provider)
                    for _ in range(min(self._limits.provider_concurrency, stage.size)):
                        workers.create_task(self._work(cases))
        finally:
            hurry.cancel()

    async def _work(self, cases: Iterator[tuple[Case, Path]]) -> None:
        """Take cases from an iterator that all workers of a provider share."""
        for case, root in cases:
            async with self._slots:
                if self._stop.requested:
                    return
                finished = await self._execute(case, root)
            if finished is not None:
                try:
                    await self._deliver(finished)
                except LedgerError:
                    return

    async def _execute(self, case: Case, root: Path) -> FinishedCase | None:
        transport = self._transports[case.target.key]
        task = asyncio.create_task(self._executor.execute(case, root, transport))
        self._in_flight.add(task)
        try:
            await asyncio.wait({task})
        finally:
            self._in_flight.discard(task)
        return None if task.cancelled() else task.result()

    async def _cancel_after_grace(self) -> None:
        await self._stop.wait()
        await asyncio.sleep(self._stop.grace_s)
        for task in tuple(self._in_flight):
            task.cancel()
