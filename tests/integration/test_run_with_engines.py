"""The main job with real engines, and what happens when one of them dies or a recording goes away."""

import asyncio
import shutil
import signal
from pathlib import Path
from typing import Any

import psutil
import pytest

from support.commands import Cli, require_whole

pytestmark = pytest.mark.engines


def test_the_main_job_runs_every_installed_engine_and_leaves_a_sound_artifact(cli: Cli) -> None:
    report = cli.json("run", "--smoke")
    require_whole(report)
    assert report["status"] == "succeeded"
    by_target = {target["target"]: target for target in report["targets"]}
    assert {"stt:moonshine/tiny-en", "tts:espeak/espeak-ng/en-us", "tts:piper/en_US-joe-medium"} <= set(by_target)
    assert by_target["stt:moonshine/tiny-en"]["error_rates"]["wer"]["percent"] < 30
    for target in by_target.values():
        for metric in target["metrics"].values():
            assert metric["n"] > 0
    cli("artifact", "verify", report["artifact"])


def test_an_engine_killed_in_the_middle_of_a_case_fails_that_case_and_the_next_gets_a_fresh_one(cli: Cli) -> None:
    process = cli.start("run", "--models", "moonshine", "--dataset", "cards-5", "--attempts", "1")
    assert process.stdout is not None
    for line in process.stdout:
        if line.startswith("[1/5]"):
            break
    (engine,) = [
        child
        for child in psutil.Process(process.pid).children()
        if "sayagain.engines" in " ".join(child.cmdline())
    ]
    engine.send_signal(signal.SIGKILL)
    process.communicate(timeout=120)
    (run,) = cli.json("runs", "list")
    assert run["counts"] == {"planned": 5, "succeeded": 4, "failed": 1, "not_run": 0}
    shown = cli.json("runs", "show", "latest", "--failed")
    (failed,) = shown["failed"]
    assert failed["failure"]["kind"] == "engine_crashed"
    assert failed["failure"]["code"] == "SIGKILL"


def test_a_recording_that_vanishes_after_the_preflight_is_a_failed_case_and_no_dropped_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import sayagain.datasets as datasets
    from sayagain.config import load_settings
    from sayagain.ledger import open_ledger
    from sayagain.records import Benchmark
    from sayagain.report.progress import Silence
    from sayagain.runner.preflight import prepare
    from sayagain.runner.run import run_prepared

    monkeypatch.chdir(tmp_path)
    source = datasets.load(datasets.builtin(Benchmark.STT)[-1], tmp_path).root
    shutil.copytree(source, tmp_path / "datasets" / "mine")
    flags: dict[str, Any] = {"models": "moonshine", "dataset": "datasets/mine", "db": "sqlite:///x.db"}
    settings = load_settings(flags, environ={})

    async def run() -> Any:
        prepared = await prepare(settings)
        victim = prepared.plan.stages[0].datasets[0].items[2]
        assert victim.audio is not None
        (tmp_path / "datasets" / "mine" / victim.audio).unlink()
        with open_ledger(settings.db) as ledger:
            return await run_prepared(prepared, ledger, settings.db, Silence())

    outcome = asyncio.run(run())
    assert (outcome.counts.succeeded, outcome.counts.failed, outcome.counts.not_run) == (4, 1, 0)
    with open_ledger(settings.db) as ledger:
        (case,) = ledger.cases(outcome.run_id, failed_only=True)
    assert case.failure is not None
    assert (case.failure.kind, case.failure.phase) == ("dataset", "prepare")
