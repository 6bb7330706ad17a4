"""Executing a case: whatever happens, a finished case comes out, with its kind."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from sayagain.artifact.redaction import Redactor
from sayagain.failures import failed
from sayagain.records import (
    Attempt,
    AudioFormat,
    Benchmark,
    Case,
    EventKind,
    FailureKind,
    FinishedCase,
    Item,
    Limits,
    Phase,
    Target,
)
from sayagain.runner.execute import Executor, Read
from sayagain.transports.base import Session, Transport
from sayagain.transports.pacing import LoopWatch
from sayagain.transports.tracing import Tracer
from support.recordings import no_recording
from support.transports import Ready

SECRET = "sk-live-0123456789abcdef"
TTS = Target(benchmark=Benchmark.TTS, provider="p", model="m")
STT = Target(benchmark=Benchmark.STT, provider="p", model="m")
PROMPT = Item(id="one", text="Your order will arrive on Monday", sha256="0" * 64)
ROOT = Path()

Act = Callable[[Tracer], object]


class Acting(Ready):
    """Does in its n-th attempt what the n-th act says; the last act repeats."""

    def __init__(self, *acts: Act) -> None:
        self.acts = list(acts)
        self.attempts = 0
        self.open_sessions = 0

    @asynccontextmanager
    async def session(self) -> AsyncIterator[Session]:
        self.open_sessions += 1
        try:
            yield self
        finally:
            self.open_sessions -= 1

    async def attempt(self, case: Case, pcm: bytes, tracer: Tracer, limits: Limits) -> None:
        self.attempts += 1
        act = self.acts.pop(0) if len(self.acts) > 1 else self.acts[0]
        outcome = act(tracer)
        if asyncio.iscoroutine(outcome):
            await outcome


def speak(tracer: Tracer) -> None:
    tracer.begin_audio(AudioFormat(rate=16_000))
    tracer.audio(b"\x00\x40\x00\xc0" * 800, 0)


def whisper(tracer: Tracer) -> None:
    tracer.begin_audio(AudioFormat(rate=16_000))
    tracer.audio(bytes(3200), 0)


def fail(error: BaseException) -> Act:
    def act(tracer: Tracer) -> None:
        tracer.phase = Phase.RECEIVE
        raise error

    return act


async def execute(
    transport: Transport,
    target: Target = TTS,
    item: Item = PROMPT,
    limits: Limits | None = None,
    on_retry: Callable[[Case, Attempt], None] = lambda case, attempt: None,
    read: Read = no_recording,
) -> FinishedCase:
    executor = Executor(
        limits or Limits(case_timeout_s=0.2, attempts=3), Redactor([SECRET]), LoopWatch(), read, on_retry
    )
    return await executor.execute(Case.of(target, item), ROOT, transport)


@pytest.fixture(autouse=True)
def _no_waiting_between_attempts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sayagain.runner.execute.FIRST_WAIT_S", 0.001)


async def test_a_case_that_works_is_one_attempt_without_a_failure() -> None:
    finished = await execute(Acting(speak))
    assert finished.failure is None
    assert [attempt.number for attempt in finished.attempts] == [1]
    assert finished.final_attempt.trace.audio


async def test_a_passing_failure_is_tried_again_and_every_attempt_is_kept() -> None:
    transport = Acting(fail(ConnectionResetError("reset")), fail(ConnectionResetError("reset")), speak)
    retried: list[int] = []
    finished = await execute(transport, on_retry=lambda case, attempt: retried.append(attempt.number))
    assert finished.failure is None
    assert [attempt.failure and attempt.failure.kind for attempt in finished.attempts] == [
        FailureKind.CONNECTION_LOST,
        FailureKind.CONNECTION_LOST,
        None,
    ]
    assert retried == [1, 2]


async def test_a_failure_that_does_not_pass_uses_up_the_attempts_and_no_more() -> None:
    transport = Acting(fail(ConnectionResetError()))
    finished = await execute(transport)
    assert transport.attempts == 3 == len(finished.attempts)
    assert finished.failure is not None
    assert finished.failure.kind is FailureKind.CONNECTION_LOST


async def test_a_failure_that_cannot_pass_is_not_tried_again() -> None:
    transport = Acting(fail(failed(FailureKind.QUOTA, Phase.OPEN, "no money", code="402")))
    finished = await execute(transport)
    assert transport.attempts == 1
    assert finished.failure is not None
    assert (finished.failure.kind, finished.failure.phase, finished.failure.code) == ("quota", "open", "402")


@pytest.mark.parametrize(
    "error", [Exception(), ValueError("x"), AssertionError(), ZeroDivisionError(), TimeoutError()]
)
async def test_any_exception_with_or_without_text_becomes_a_kind_and_a_message(error: Exception) -> None:
    finished = await execute(Acting(fail(error)))
    assert finished.failure is not None
    assert finished.failure.message.startswith(type(error).__name__)
    assert finished.failure.fingerprint
    assert finished.failure.phase is Phase.RECEIVE


async def test_an_attempt_that_hangs_fails_at_its_timeout_and_lets_its_session_go() -> None:
    async def hang() -> None:
        await asyncio.Event().wait()

    transport = Acting(lambda tracer: hang())
    finished = await execute(transport)
    assert finished.failure is not None
    assert finished.failure.kind is FailureKind.CASE_TIMEOUT
    assert transport.open_sessions == 0


async def test_an_attempt_that_swallows_its_cancellation_fails_at_its_timeout_all_the_same() -> None:
    released = asyncio.Event()

    async def stubborn() -> None:
        while not released.is_set():
            try:
                await released.wait()
            except asyncio.CancelledError:
                continue

    finished = await asyncio.wait_for(execute(Acting(lambda tracer: stubborn())), 5)
    released.set()
    await asyncio.sleep(0)
    assert finished.failure is not None
    assert finished.failure.kind is FailureKind.CASE_TIMEOUT


async def test_a_case_cancelled_in_flight_is_a_finished_case_that_was_cancelled() -> None:
    entered = asyncio.Event()

    async def hang() -> None:
        entered.set()
        await asyncio.Event().wait()

    task = asyncio.create_task(execute(Acting(lambda tracer: hang()), limits=Limits()))
    await entered.wait()
    task.cancel()
    finished = await task
    assert finished.failure is not None
    assert finished.failure.kind is FailureKind.CANCELLED


async def test_what_was_seen_before_a_failure_stays_in_the_trace() -> None:
    def half(tracer: Tracer) -> None:
        tracer.mark(EventKind.PARTIAL, text="your or")
        raise failed(FailureKind.SERVER_ERROR, Phase.RECEIVE, "oops", retryable=False)

    finished = await execute(Acting(half))
    assert [event.text for event in finished.final_attempt.trace.events] == ["your or"]
    assert finished.final_attempt.trace.transcript is None


async def test_audio_that_is_silent_from_beginning_to_end_is_empty() -> None:
    finished = await execute(Acting(whisper))
    assert finished.failure is not None
    assert finished.failure.kind is FailureKind.EMPTY


async def test_audio_of_another_width_is_refused_by_name() -> None:
    def wide(tracer: Tracer) -> None:
        tracer.begin_audio(AudioFormat(rate=16_000, width=4))
        tracer.audio(bytes(64), 0)

    finished = await execute(Acting(wide))
    assert finished.failure is not None
    assert finished.failure.kind is FailureKind.AUDIO_FORMAT
    assert "32-bit" in finished.failure.message


async def test_a_recording_that_is_gone_fails_its_case_and_touches_no_provider() -> None:
    async def gone(root: Path, item: Item, audio_format: AudioFormat) -> bytes:
        raise failed(FailureKind.DATASET, Phase.PREPARE, "the audio file is gone")

    transport = Acting(speak)
    transport.audio_format = AudioFormat(rate=16_000)
    finished = await execute(transport, target=STT, read=gone)
    assert finished.failure is not None
    assert (finished.failure.kind, finished.failure.phase) == (FailureKind.DATASET, Phase.PREPARE)
    assert transport.attempts == 0


@pytest.mark.parametrize(
    "leak", [SECRET, PROMPT.text, PROMPT.text.upper(), "mail@example.org", "the partial they heard"]
)
async def test_nothing_secret_or_said_reaches_the_message_of_a_failure(leak: str) -> None:
    def quoting(tracer: Tracer) -> None:
        tracer.mark(EventKind.PARTIAL, text="the partial they heard")
        raise RuntimeError(f"could not handle [{leak}] sorry")

    finished = await execute(Acting(quoting))
    assert finished.failure is not None
    assert leak not in finished.failure.message
    assert "sorry" in finished.failure.message
