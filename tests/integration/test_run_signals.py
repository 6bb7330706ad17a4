"""Stopping a run: by one signal, by two, and by a death without a word."""

import random
import signal
import subprocess

import psutil
import pytest

from support.commands import Cli, Standin, events

MANY = ("--kind", "tts", "--repeat", "4")


def wait_for_line(process: subprocess.Popen[str], beginning: str) -> str:
    """Read the process's progress until a line begins so."""
    assert process.stdout is not None
    for line in process.stdout:
        if line.startswith(beginning):
            return line
    raise AssertionError(f"the run ended before it said {beginning}: {process.communicate()[1]}")


def family(process: subprocess.Popen[str]) -> list[psutil.Process]:
    return psutil.Process(process.pid).children(recursive=True)


def require_gone(children: list[psutil.Process]) -> None:
    _, alive = psutil.wait_procs(children, timeout=20)
    assert alive == []


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_stops_the_run_in_order_and_nothing_finished_is_lost(
    cli: Cli, standin: Standin, number: signal.Signals, code: int
) -> None:
    process = cli.start("run", "--models", standin("ok,ok,ok,hang"), *MANY, "--grace", "0.2")
    wait_for_line(process, "[3/120]")
    children = family(process)
    process.send_signal(number)
    stdout, stderr = process.communicate(timeout=60)
    assert process.returncode == code
    assert [event["event"] for event in events(stderr) if event["event"] != "case_failed"] == [
        "run_started",
        "run_stopping",
        "run_finished",
        "run_artifact_written",
    ]
    (run,) = cli.json("runs", "list")
    assert (run["status"], run["reason"]) == ("partial", f"stopped by {number.name}")
    assert run["counts"]["succeeded"] == 3
    assert run["counts"]["failed"] <= 1
    assert (
        sum(run["counts"][name] for name in ("succeeded", "failed", "not_run")) == run["counts"]["planned"] == 120
    )
    assert "partial" in stdout
    cli("artifact", "verify", str(cli.artifact()))
    require_gone(children)


def test_a_second_signal_leaves_at_once_and_the_next_list_finds_the_run_interrupted(
    cli: Cli, standin: Standin
) -> None:
    process = cli.start("run", "--models", standin("ok,hang"), *MANY, "--grace", "600", "--idle-timeout", "600")
    wait_for_line(process, "[1/120]")
    children = family(process)
    process.send_signal(signal.SIGINT)
    assert process.stderr is not None
    while "run_stopping" not in process.stderr.readline():
        pass
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=20)
    assert process.returncode == 130
    require_gone(children)
    (run,) = cli.json("runs", "list")
    assert run["status"] == "interrupted"
    assert run["counts"]["succeeded"] == 1


def test_killed_at_any_point_a_run_keeps_its_committed_cases_and_leaves_no_process_behind(
    cli: Cli, standin: Standin
) -> None:
    model = standin("ok")
    points = random.Random(2).sample(range(1, 110), 10)
    for point in points:
        process = cli.start("run", "--models", model, *MANY)
        wait_for_line(process, f"[{point}/120]")
        children = family(process)
        process.kill()
        process.communicate()
        require_gone(children)
    runs = cli.json("runs", "list")
    assert [run["status"] for run in runs] == ["interrupted"] * 10
    for run in runs:
        counts = run["counts"]
        assert counts["planned"] == counts["succeeded"] + counts["not_run"] == 120
    exported = cli("artifact", "export", runs[0]["run_id"], "--to", "again")
    assert "jsonl" in exported.stdout
    assert cli("run", "--models", model, "--kind", "tts", "--sample", "1").returncode == 0
