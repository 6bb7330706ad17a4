"""Executing one case: its attempts, their bounds, their failures. Whatever happens, a finished case comes out."""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import stamina

from sayagain.artifact.redaction import Redactor
from sayagain.failures import CaseFailedError, classify, failed, let_go
from sayagain.metrics.audibility import is_silent
from sayagain.records import (
    Attempt,
    AudioFormat,
    Benchmark,
    Case,
    Failure,
    FailureKind,
    FinishedCase,
    Item,
    Limits,
    Phase,
    Trace,
)
from sayagain.transports.base import Transport
from sayagain.transports.pacing import LoopWatch
from sayagain.transports.tracing import Tracer

RELUCTANCE_S = 1.0
"""How long an attempt that was cancelled is given to end; one that does not is left behind."""

FIRST_WAIT_S = 0.5
LONGEST_WAIT_S = 10.0
"""The backoff between attempts: exponential, with jitter."""

LONGEST_RETRY_AFTER_S = 30.0
"""The longest wait a provider can ask for with `Retry-After`; it is tried again then, whatever it asked for."""


Read = Callable[[Path, Item, AudioFormat], Awaitable[bytes]]
"""Returns an item's audio, found in a folder, as PCM in a format; what it raises is the attempt's failure."""


class _TryAgainError(Exception):
    """Tells the retry library that the attempt just made may be made again, and when if the provider said so."""

    def __init__(self, retry_after_s: float | None) -> None:
        super().__init__()
        self.retry_after_s = retry_after_s


@dataclass(frozen=True)
class Executor:
    """Runs cases within limits; holds what all of them share."""

    limits: Limits
    redactor: Redactor
    watch: LoopWatch
    read: Read
    on_retry: Callable[[Case, Attempt], None] = lambda case, attempt: None

    async def execute(self, case: Case, root: Path, transport: Transport) -> FinishedCase:
        """Try a case until it succeeds, its failure is final, or its attempts are used up.

        Never raises: a cancellation, too, ends as a finished case that failed as `cancelled`.
        """
        attempts: list[Attempt] = []
        with contextlib.suppress(asyncio.CancelledError):  # the last attempt says how the case ended
            again = await self._attempt(attempts, case, root, transport)
            if again is not None and self.limits.attempts > 1:
                await self._try_again(again, attempts, case, root, transport)
        if not attempts:
            failure = failed(FailureKind.CANCELLED, Phase.PREPARE, "the run was stopped").failure
            attempts.append(self._finished(1, case, Tracer().freeze(0.0), failure))
        return FinishedCase(case=case, attempts=tuple(attempts))

    async def _try_again(
        self, again: "_TryAgainError | None", attempts: list[Attempt], case: Case, root: Path, transport: Transport
    ) -> None:
        """Add attempts after a first one that failed; whoever succeeds at once never meets the retry library."""
        with contextlib.suppress(_TryAgainError):
            async for chance in stamina.retry_context(
                on=_when_to_try_again,
                attempts=self.limits.attempts,
                timeout=None,
                wait_initial=FIRST_WAIT_S,
                wait_max=LONGEST_WAIT_S,
            ):
                with chance:
                    if chance.num > 1:
                        again = await self._attempt(attempts, case, root, transport)
                    if again is not None:
                        if len(attempts) < self.limits.attempts:
                            self.on_retry(case, attempts[-1])
                        raise again

    async def _attempt(
        self, attempts: list[Attempt], case: Case, root: Path, transport: Transport
    ) -> "_TryAgainError | None":
        """Make and add one attempt; return what says that it may be made again, or None."""
        tracer = Tracer()
        failure: Failure | None = None
        retry_after_s: float | None = None
        with self.watch.lag() as lag:
            try:
                pcm = b""
                if transport.audio_format is not None:
                    pcm = await self.read(root, case.item, transport.audio_format)
                async with transport.session() as session:
                    tracer.restart()
                    lag.restart()
                    await _bounded(session.attempt(case, pcm, tracer, self.limits), tracer, self.limits)
                await _require_sound(case, tracer)
            except asyncio.CancelledError as error:
                failure = classify(error, tracer.phase)
                let_go(error)
            except Exception as error:
                failure = classify(error, tracer.phase)
                retry_after_s = error.retry_after_s if isinstance(error, CaseFailedError) else None
                let_go(error)
        trace = tracer.freeze(lag.worst_ms, transport.joiner)
        attempts.append(self._finished(len(attempts) + 1, case, trace, failure))
        return _TryAgainError(retry_after_s) if failure is not None and failure.retryable else None

    def _finished(self, number: int, case: Case, trace: Trace, failure: Failure | None) -> Attempt:
        """Return an attempt whose failure, if it has one, has been sanitized: this is the one boundary."""
        if failure is not None:
            heard = (event.text for event in trace.events if event.text)
            own_texts = (case.item.text, trace.transcript, *heard)
            failure = self.redactor.failure(failure, case.target.provider, own_texts)
        return Attempt(number=number, trace=trace, failure=failure)


def _when_to_try_again(error: Exception) -> bool | float:
    """Answer the retry library: not at all, after its own backoff, or after so many seconds."""
    if not isinstance(error, _TryAgainError):
        return False
    if error.retry_after_s is None:
        return True
    return min(max(error.retry_after_s, FIRST_WAIT_S), LONGEST_RETRY_AFTER_S)


async def _require_sound(case: Case, tracer: Tracer) -> None:
    """Fail an answer that is all silence: it has a length and a latency, but nothing was said."""
    audio, audio_format = tracer.received_audio()
    if case.target.benchmark is Benchmark.STT or audio_format is None:
        return
    if audio_format.width != 2:
        raise failed(
            FailureKind.AUDIO_FORMAT, Phase.RECEIVE, f"{8 * audio_format.width}-bit audio came; 16-bit is measured"
        )
    if not is_silent(audio[: audio_format.frame_bytes * audio_format.rate], audio_format):
        return  # that was next to no work; a thread would take the interpreter from the loop that measures others
    if await asyncio.to_thread(is_silent, audio, audio_format):
        raise failed(FailureKind.EMPTY, Phase.RECEIVE, "the audio is silent from beginning to end")


async def _bounded(attempt: Coroutine[Any, Any, None], tracer: Tracer, limits: Limits) -> None:
    """Await an attempt for as long as a case may take, even one that swallows its cancellation.

    A task that will not end is left behind: its case has failed, its siblings go on, and closing its session
    takes away what it waits for.
    """
    task = asyncio.create_task(attempt)
    try:
        await asyncio.wait({task}, timeout=limits.case_timeout_s)
        if task.done():
            task.result()
            return
    finally:
        if not task.done():
            await _end(task)
    raise failed(
        FailureKind.CASE_TIMEOUT, tracer.phase, f"the attempt was not over within {limits.case_timeout_s:g} s"
    )


async def _end(task: asyncio.Task[None]) -> None:
    task.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await asyncio.wait({task}, timeout=RELUCTANCE_S)
    task.add_done_callback(_forget)


def _forget(task: asyncio.Task[None]) -> None:
    """Read a late outcome, so that nobody reports it as never retrieved."""
    if not task.cancelled():
        task.exception()
