"""What becomes of a judged run: every answered synthesis has a row, and nothing the judge does fails the run."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from sayagain.config import Settings
from sayagain.errors import UsageError
from sayagain.failures import failed
from sayagain.ledger import Ledger, open_ledger
from sayagain.metrics.accuracy import EditCounts
from sayagain.metrics.intelligibility import METRIC
from sayagain.records import (
    Attempt,
    AudioFormat,
    Benchmark,
    Case,
    FailureKind,
    FinishedCase,
    Item,
    Phase,
    ResultRow,
    RunStatus,
    ScoredCase,
    Target,
    Trace,
)
from sayagain.runner import judging, preflight, spool
from sayagain.runner.plan import make_plan
from sayagain.runner.stopping import Stop

TARGET = Target(benchmark=Benchmark.TTS, provider="acme", model="mouth")
FORMAT = AudioFormat(rate=24_000)
FLOOR = EditCounts(1, 0, 0, 50)


class Ear:
    """A judge that hears what it is told to."""

    name = "an ear 1"

    def __init__(self, hear: Callable[[bytes], str]) -> None:
        self._hear = hear

    async def hear(self, pcm: bytes, audio_format: AudioFormat) -> str:
        assert audio_format == FORMAT
        return self._hear(pcm)

    async def floor(self) -> EditCounts:
        return FLOOR


@pytest.fixture
def listen(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[bytes], str]], None]:
    """Put another judge in the place of the pinned one."""

    def put(hear: Callable[[bytes], str]) -> None:
        @asynccontextmanager
        async def listening() -> AsyncIterator[Ear]:
            yield Ear(hear)

        monkeypatch.setattr(judging, "listening", listening)

    return put


def spoken(position: int, text: str = "put the kettle on", **item: Any) -> FinishedCase:
    """A synthesis whose audio is its position, so that an ear can know it."""
    one = Item(id=f"item-{position}", text=text, sha256="0", **item)
    trace = Trace(started="", audio=bytes([position, 0]), audio_format=FORMAT)
    return FinishedCase(case=Case.of(TARGET, one, position=position), attempts=(Attempt(number=1, trace=trace),))


def recorded(ledger: Ledger, run_id: str, folder: Path, cases: list[FinishedCase]) -> None:
    ledger.record(run_id, [ScoredCase(finished=one, results=()) for one in cases])
    for one in cases:
        spool.keep(folder, one)


def verdicts(ledger: Ledger) -> dict[str, ResultRow]:
    return {row.item_id: row for row in ledger.rows("run-1", lambda _: (None, None)) if row.metric == METRIC}


@pytest.fixture
def kept(sqlite_url: str, make: Any, tmp_path: Path) -> Any:
    """A running run on SQLite, and a folder for its audio."""
    from sayagain.ledger import Owner

    folder = tmp_path / "spool"
    folder.mkdir()
    with open_ledger(sqlite_url) as ledger:
        ledger.insert_run(make.header("run-1", 10), Owner.current())
        yield ledger, folder


async def test_every_answered_case_gets_the_rate_of_what_was_heard_with_the_floor(kept: Any, listen: Any) -> None:
    ledger, folder = kept
    recorded(ledger, "run-1", folder, [spoken(0), spoken(11)])
    listen(lambda pcm: "put the kettle on" if pcm[0] == 0 else "put a kettle on")
    await judging.judge_run(folder, ledger, "run-1", Stop(1))
    found = verdicts(ledger)
    assert [found[name].value for name in ("item-0", "item-11")] == [0, 25]
    assert found["item-0"].detail is not None
    assert found["item-0"].detail["floor_words"] == 50
    assert found["item-0"].reason == "heard by an ear 1"


async def test_a_run_that_is_stopped_says_so_of_what_was_not_heard_and_keeps_what_was(
    kept: Any, listen: Any
) -> None:
    ledger, folder = kept
    recorded(ledger, "run-1", folder, [spoken(0), spoken(1), spoken(2)])
    stop = Stop(1)

    def hear(pcm: bytes) -> str:
        if pcm[0] == 1:
            stop.request("stopped by SIGINT")
        return "put the kettle on"

    listen(hear)
    await judging.judge_run(folder, ledger, "run-1", stop)
    found = verdicts(ledger)
    assert found["item-0"].value == 0
    assert (found["item-2"].value, found["item-2"].reason) == (None, judging.STOPPED)
    assert len(found) == 3


async def test_a_judge_that_cannot_be_used_leaves_reasons_and_no_failure(
    kept: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    ledger, folder = kept
    recorded(ledger, "run-1", folder, [spoken(0)])

    @asynccontextmanager
    async def broken() -> AsyncIterator[Ear]:
        raise failed(FailureKind.ENGINE_CRASHED, Phase.PREPARE, "no such model in /a/private/path")
        yield

    monkeypatch.setattr(judging, "listening", broken)
    await judging.judge_run(folder, ledger, "run-1", Stop(1))
    row = verdicts(ledger)["item-0"]
    assert (row.value, row.failure) == (None, None)
    assert row.reason == "not judged: the judge could not be used"
    assert ledger.counts("run-1").failed == 0


async def test_an_utterance_the_judge_gives_up_on_does_not_keep_it_from_the_next(kept: Any, listen: Any) -> None:
    ledger, folder = kept
    recorded(ledger, "run-1", folder, [spoken(0), spoken(1)])

    def hear(pcm: bytes) -> str:
        if pcm[0] == 0:
            raise failed(FailureKind.ENGINE_CRASHED, Phase.RECEIVE, "the judge gave no answer")
        return "put the kettle on"

    listen(hear)
    await judging.judge_run(folder, ledger, "run-1", Stop(1))
    found = verdicts(ledger)
    assert (found["item-0"].value, found["item-1"].value) == (None, 0)
    assert "no answer" in (found["item-0"].reason or "")


async def test_what_is_not_english_and_what_cannot_be_read_have_no_value(kept: Any, listen: Any) -> None:
    ledger, folder = kept
    recorded(ledger, "run-1", folder, [spoken(0, language="de"), spoken(1), spoken(2)])
    (folder / "1.spoken").write_bytes(b"torn")
    listen(lambda _: "put the kettle on")
    await judging.judge_run(folder, ledger, "run-1", Stop(1))
    found = verdicts(ledger)
    assert "English" in (found["item-0"].reason or "")
    assert "could not be read" in (found["item-1"].reason or "")
    assert found["item-2"].value == 0


async def test_a_ledger_that_takes_no_more_is_no_reason_to_raise(kept: Any, listen: Any) -> None:
    ledger, folder = kept
    recorded(ledger, "run-1", folder, [spoken(0)])
    ledger.finalize("run-1", RunStatus.SUCCEEDED)
    listen(lambda _: "put the kettle on")
    await judging.judge_run(folder, ledger, "run-1", Stop(1))
    assert verdicts(ledger) == {}


async def test_a_judge_that_hangs_ends_with_the_run(kept: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    ledger, folder = kept
    recorded(ledger, "run-1", folder, [spoken(0)])
    stop, begun, left = Stop(1), asyncio.Event(), asyncio.Event()

    @asynccontextmanager
    async def hanging() -> AsyncIterator[Ear]:
        begun.set()
        try:
            await asyncio.Event().wait()
            yield Ear(lambda _: "")
        finally:
            left.set()

    monkeypatch.setattr(judging, "listening", hanging)
    task = asyncio.create_task(judging.judge_run(folder, ledger, "run-1", stop))
    await begun.wait()
    stop.request("stopped by SIGTERM")
    await task
    assert left.is_set()
    assert verdicts(ledger)["item-0"].reason == judging.STOPPED


def test_only_speech_that_was_synthesized_is_kept(tmp_path: Path) -> None:
    case = spoken(3)
    failure = failed(FailureKind.EMPTY, Phase.RECEIVE, "silent").failure
    lost = FinishedCase(
        case=spoken(4).case, attempts=(Attempt(number=1, trace=Trace(started=""), failure=failure),)
    )
    stt = Target(benchmark=Benchmark.STT, provider="acme", model="ear")
    heard = FinishedCase(case=Case.of(stt, case.case.item, position=5), attempts=case.attempts)
    for one in (case, lost, heard):
        spool.keep(tmp_path, one)
    assert spool.kept(tmp_path) == (3,)
    found = spool.read(tmp_path, 3)
    assert (found.case, found.audio, found.audio_format) == (case.case, b"\x03\x00", FORMAT)


def test_a_missing_judge_is_said_before_anything_is_spent(monkeypatch: pytest.MonkeyPatch) -> None:
    from sayagain.datasets import load
    from sayagain.runner import listening

    monkeypatch.setattr(listening, "why_no_judge", lambda: "it is not installed: install it.")
    tts = make_plan([load("prompts-30", Path())], [TARGET], size=1)
    with pytest.raises(UsageError, match="--judge has no judge: it is not installed"):
        preflight._judged(Settings(judge=True), tts)
    assert preflight._judged(Settings(), tts) is False
    stt = Target(benchmark=Benchmark.STT, provider="acme", model="ear")
    recordings = make_plan([load("cards-5", Path())], [stt], size=1)
    assert preflight._judged(Settings(judge=True), recordings) is False
