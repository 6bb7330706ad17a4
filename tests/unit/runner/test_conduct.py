"""The life of a run: what is decided once stays decided, whatever arrives later."""

import asyncio
import os
import signal
from collections.abc import Iterator, MutableMapping
from pathlib import Path
from typing import Any

import msgspec
import pytest
import structlog

from sayagain.errors import LedgerError
from sayagain.ledger import open_ledger
from sayagain.records import (
    FinishedCase,
    RunStatus,
)
from sayagain.runner.recorder import Recorder, Setup
from support.speakers import Watcher, conduct, prepared


def records_in(artifact: str) -> list[Any]:
    return [msgspec.json.decode(line) for line in Path(artifact).read_bytes().splitlines()]


@pytest.fixture
def interrupt_at() -> Iterator[Any]:
    """Send this process a signal when the run logs an event."""

    def arrange(event: str) -> None:
        def processor(_: Any, __: str, fields: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
            if fields["event"] == event:
                os.kill(os.getpid(), signal.SIGTERM)
            raise structlog.DropEvent

        structlog.configure(processors=[processor])

    yield arrange
    structlog.reset_defaults()


async def test_every_case_is_in_the_ledger_when_the_run_is_over(sqlite_url: str, tmp_path: Path) -> None:
    display = Watcher()
    outcome = await conduct(prepared(artifact_dir=str(tmp_path)), sqlite_url, display)
    assert (outcome.status, outcome.exit_code) == (RunStatus.SUCCEEDED, 0)
    assert outcome.artifact is not None
    assert Path(outcome.artifact).parent == tmp_path
    assert len(display.cases) == 4
    with open_ledger(sqlite_url) as ledger:
        assert len({row.case_id for row in ledger.rows(outcome.run_id, lambda _: (None, None))}) == 4


@pytest.mark.parametrize(
    ("failing", "status", "code"),
    [
        ((), RunStatus.SUCCEEDED, 0),
        (("d-1",), RunStatus.PARTIAL, 0),
        (("d-0", "d-1", "d-2", "d-3"), RunStatus.FAILED, 1),
    ],
)
async def test_the_exit_code_follows_from_the_status(
    sqlite_url: str, failing: tuple[str, ...], status: RunStatus, code: int
) -> None:
    outcome = await conduct(prepared(failing=failing), sqlite_url)
    assert (outcome.status, outcome.exit_code) == (status, code)
    assert outcome.counts is not None
    assert outcome.counts.failed == len(failing)


async def test_a_signal_before_the_finalization_of_a_complete_run_changes_nothing(sqlite_url: str) -> None:
    outcome = await conduct(prepared(), sqlite_url, Watcher(lambda: os.kill(os.getpid(), signal.SIGTERM)))
    assert (outcome.status, outcome.reason, outcome.exit_code) == (RunStatus.SUCCEEDED, None, 0)


async def test_a_signal_while_the_artifact_is_written_changes_nothing(
    sqlite_url: str, tmp_path: Path, interrupt_at: Any
) -> None:
    interrupt_at("run_finished")
    outcome = await conduct(prepared(failing=("d-1",), artifact_dir=str(tmp_path)), sqlite_url)
    assert (outcome.status, outcome.exit_code) == (RunStatus.PARTIAL, 0)
    assert outcome.artifact is not None
    with open_ledger(sqlite_url) as ledger:
        assert ledger.run(outcome.run_id).status is RunStatus.PARTIAL
        assert ledger.finalize(outcome.run_id, RunStatus.FAILED) is False


async def test_a_signal_at_the_start_runs_nothing_and_is_partial(sqlite_url: str, interrupt_at: Any) -> None:
    interrupt_at("run_started")
    outcome = await conduct(prepared(items=300), sqlite_url)
    assert (outcome.status, outcome.exit_code) == (RunStatus.PARTIAL, 143)
    assert outcome.counts is not None
    assert outcome.counts.not_run > 0


async def test_the_artifact_holds_the_planned_the_succeeded_and_the_failed(
    sqlite_url: str, tmp_path: Path
) -> None:
    outcome = await conduct(prepared(failing=("d-2",), artifact_dir=str(tmp_path)), sqlite_url)
    assert outcome.artifact is not None
    *_, summary = records_in(outcome.artifact)
    assert summary["cases"] == {"planned": 4, "succeeded": 3, "failed": 1, "not_run": 0}
    assert summary["status"] == "partial"
    assert [bucket["kind"] for bucket in summary["buckets"]] == ["internal"]


@pytest.mark.parametrize(("required", "code"), [(False, 0), (True, 1)])
async def test_a_directory_that_goes_during_the_run_changes_the_exit_code_only_when_the_artifact_is_required(
    tmp_path: Path, sqlite_url: str, required: bool, code: int
) -> None:
    directory = tmp_path / "artifacts"
    directory.mkdir()
    ready = prepared(artifact_dir=str(directory), require_artifact=required)
    outcome = await conduct(ready, sqlite_url, Watcher(directory.rmdir))
    assert (outcome.status, outcome.exit_code, outcome.artifact) == (RunStatus.SUCCEEDED, code, None)
    assert outcome.artifact_error is not None
    assert "does not exist (any more); create it" in outcome.artifact_error
    with open_ledger(sqlite_url) as ledger:
        assert ledger.run(outcome.run_id).status is RunStatus.SUCCEEDED


async def test_a_stopped_run_keeps_its_exit_code_when_a_required_artifact_is_not_written(
    tmp_path: Path, sqlite_url: str, interrupt_at: Any
) -> None:
    interrupt_at("run_started")
    ready = prepared(items=300, artifact_dir=str(tmp_path / "missing"), require_artifact=True)
    outcome = await conduct(ready, sqlite_url)
    assert (outcome.status, outcome.exit_code) == (RunStatus.PARTIAL, 143)
    assert outcome.artifact_error is not None


async def test_an_artifact_that_fails_in_any_way_leaves_the_run_as_it_was(
    sqlite_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def explode(*_: object) -> Path:
        raise ZeroDivisionError

    monkeypatch.setattr("sayagain.runner.orchestrator.export_run", explode)
    outcome = await conduct(prepared(artifact_dir=str(tmp_path)), sqlite_url)
    assert (outcome.status, outcome.exit_code) == (RunStatus.SUCCEEDED, 0)
    assert outcome.artifact is None
    assert outcome.artifact_error is not None
    assert "ZeroDivisionError" in outcome.artifact_error


async def test_a_recorder_whose_ledger_does_not_open_says_so_before_the_run(tmp_path: Path) -> None:
    recorder = Recorder(Setup(db=f"sqlite:///{tmp_path}/no/x.db", run_id="r", ledger_timeout_s=1))
    with pytest.raises(LedgerError, match="directory"):
        await recorder.start()


async def test_a_recorder_that_is_killed_fails_the_run_and_is_not_waited_for(sqlite_url: str) -> None:
    ready = prepared(items=300)
    killed: list[int] = []

    class Killer(Watcher):
        def case(self, finished: FinishedCase) -> None:
            if not killed:
                import psutil

                (child,) = psutil.Process().children()
                child.kill()
                killed.append(child.pid)

    outcome = await asyncio.wait_for(conduct(ready, sqlite_url, Killer()), 30)
    assert (outcome.status, outcome.exit_code) == (RunStatus.FAILED, 1)
    assert outcome.reason is not None
    assert "recorder" in outcome.reason


@pytest.mark.parametrize(("key", "made"), [(None, "sha256"), ("k", "hmac-sha256")])
async def test_the_artifact_says_how_its_transcripts_were_hashed(
    sqlite_url: str, tmp_path: Path, key: str | None, made: str
) -> None:
    outcome = await conduct(prepared(items=1, artifact_dir=str(tmp_path), artifact_hmac_key=key), sqlite_url)
    assert outcome.artifact is not None
    header, *_ = records_in(outcome.artifact)
    assert header["transcript_hash"] == made


async def test_a_fault_of_our_own_fails_the_run_by_its_place_and_keeps_what_had_finished(sqlite_url: str) -> None:
    class Clumsy(Watcher):
        def case(self, finished: FinishedCase) -> None:
            super().case(finished)
            if len(self.cases) == 3:
                raise ZeroDivisionError("what was said")

    outcome = await conduct(prepared(items=9), sqlite_url, Clumsy())
    assert (outcome.status, outcome.exit_code) == (RunStatus.FAILED, 1)
    assert outcome.reason is not None
    assert "ZeroDivisionError" in outcome.reason
    assert "what was said" not in outcome.reason
    assert outcome.counts is not None
    assert outcome.counts.succeeded == 3
