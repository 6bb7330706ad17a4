"""A provider that asks to be left alone is left alone, within bounds."""

from collections.abc import Iterator
from pathlib import Path

import pytest
import stamina
from stamina.instrumentation import RetryDetails, get_on_retry_hooks, set_on_retry_hooks

from sayagain.artifact.redaction import Redactor
from sayagain.failures import failed
from sayagain.records import Benchmark, Case, FailureKind, Item, Limits, Phase, Target
from sayagain.runner.execute import Executor
from sayagain.transports.pacing import LoopWatch
from sayagain.transports.tracing import Tracer
from support.recordings import no_recording
from support.transports import Ready

CASE = Case.of(Target(benchmark=Benchmark.TTS, provider="p", model="m"), Item(id="one", text="x", sha256="0" * 64))


class Busy(Ready):
    """Asks in every attempt to be left alone for so many seconds."""

    def __init__(self, retry_after_s: float | None) -> None:
        self.retry_after_s = retry_after_s

    async def attempt(self, case: Case, pcm: bytes, tracer: Tracer, limits: Limits) -> None:
        raise failed(FailureKind.RATE_LIMITED, Phase.RECEIVE, "slow down", retry_after_s=self.retry_after_s)


@pytest.fixture
def waits() -> Iterator[list[float]]:
    """The waits between attempts, in seconds."""
    seen: list[float] = []

    def note(details: RetryDetails) -> None:
        seen.append(details.wait_for)

    known = get_on_retry_hooks()
    set_on_retry_hooks([note])
    yield seen
    set_on_retry_hooks(known)


async def execute(retry_after_s: float | None) -> int:
    executor = Executor(Limits(attempts=3), Redactor([]), LoopWatch(), no_recording)
    return len((await executor.execute(CASE, Path(), Busy(retry_after_s))).attempts)


@pytest.fixture(autouse=True)
def _short_bounds(monkeypatch: pytest.MonkeyPatch) -> None:
    assert stamina.is_active()
    monkeypatch.setattr("sayagain.runner.execute.FIRST_WAIT_S", 0.001)
    monkeypatch.setattr("sayagain.runner.execute.LONGEST_WAIT_S", 0.002)
    monkeypatch.setattr("sayagain.runner.execute.LONGEST_RETRY_AFTER_S", 0.02)


async def test_it_is_waited_for_as_long_as_the_provider_asks(waits: list[float]) -> None:
    assert await execute(0.0125) == 3
    assert waits == [0.0125, 0.0125]


async def test_no_provider_can_ask_for_more_than_the_bound(waits: list[float]) -> None:
    assert await execute(86_400) == 3
    assert waits == [0.02, 0.02]


async def test_asking_for_no_wait_at_all_is_not_a_reason_to_hammer(waits: list[float]) -> None:
    assert await execute(0.0) == 3
    assert waits == [0.001, 0.001]


async def test_without_a_wish_the_backoff_is_the_librarys(waits: list[float]) -> None:
    assert await execute(None) == 3
    assert len(waits) == 2
    assert all(0 < wait <= 0.002 for wait in waits)
