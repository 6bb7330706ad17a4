"""The rehearsal of docs/replay.md, as it stands there: a bad night, its artifact, the morning after."""

import json
import os
import signal
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from support.commands import Cli

DOCUMENT = Path(__file__).parents[2] / "docs" / "replay.md"
ANSWER = "11 of 14 fixed, 3 still fail the same way"


def documented_commands() -> list[str]:
    """Return the commands of the first console block of the document."""
    block = DOCUMENT.read_text("utf-8").split("```sh\n")[1].split("```")[0]
    return [line for line in block.splitlines() if line and not line.startswith("#")]


@dataclass
class Rehearsed:
    """The three commands, done, and what each printed."""

    cli: Cli
    printed: list[str]
    parent: Path
    before: tuple[bytes, int]

    def artifacts(self) -> list[Path]:
        return sorted((self.cli.folder / "artifacts").glob("*.jsonl"), key=lambda path: path.stat().st_mtime_ns)


@pytest.fixture(scope="module")
def rehearsed(tmp_path_factory: pytest.TempPathFactory) -> Rehearsed:
    """Do what the document says, in a shell, with `sayagain` on its path."""
    cli = Cli(tmp_path_factory.mktemp("rehearsal"))
    environment = cli.environment()
    del environment["RUN_ARTIFACT_DIR"]
    environment["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{environment['PATH']}"
    printed: list[str] = []
    before = (b"", 0)
    for command in documented_commands():
        done = subprocess.run(
            ["sh", "-c", command],
            cwd=cli.folder,
            env=environment,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
        printed.append(done.stdout)
        if len(printed) == 1:
            path = cli.artifact()
            before = (path.read_bytes(), path.stat().st_mtime_ns)
    return Rehearsed(cli, printed, path, before)


def test_the_night_is_partial_and_its_artifact_says_why(rehearsed: Rehearsed) -> None:
    night, shown, _ = rehearsed.printed
    assert "partial (14 of 30 cases failed): 16 ok, 14 failed, 0 not run" in night
    assert "auth receive" in shown
    assert "bad_request receive" in shown


def test_the_morning_gives_the_answer_in_one_line(rehearsed: Rehearsed) -> None:
    assert ANSWER in rehearsed.printed[2].splitlines()
    assert "replay of run" in rehearsed.printed[2]
    assert "14 cases, 1009 characters" in rehearsed.printed[2]
    assert "sample" not in rehearsed.printed[2]


def test_the_document_shows_what_is_printed(rehearsed: Rehearsed) -> None:
    assert ANSWER in DOCUMENT.read_text("utf-8")


def test_the_parent_is_not_touched(rehearsed: Rehearsed) -> None:
    content, changed_ns = rehearsed.before
    assert rehearsed.parent.read_bytes() == content
    assert rehearsed.parent.stat().st_mtime_ns == changed_ns


def test_two_artifacts_compare_as_the_replay_said(rehearsed: Rehearsed) -> None:
    night, morning = map(str, rehearsed.artifacts())
    assert ANSWER in rehearsed.cli("compare", night, morning).stdout.splitlines()
    compared = rehearsed.cli.json("compare", night, morning)
    assert compared["equivalent"]
    assert [one["key"] for one in compared["differences"]] == []


def test_the_ledger_follows_the_lineage_both_ways(rehearsed: Rehearsed) -> None:
    night, morning = (json.loads(path.read_text("utf-8").partition("\n")[0]) for path in rehearsed.artifacts())
    assert morning["replay_of"]["run_id"] == night["run_id"]
    of_night = rehearsed.cli.json("runs", "show", night["run_id"])["lineage"]
    of_morning = rehearsed.cli.json("runs", "show", morning["run_id"])["lineage"]
    assert [one["run_id"] for one in of_night["replays"]] == [morning["run_id"]]
    assert [(one["run_id"], one["status"]) for one in of_morning["ancestors"]] == [(night["run_id"], "partial")]


def test_a_replay_is_replayed_and_asked_how_often(rehearsed: Rehearsed) -> None:
    morning = str(rehearsed.artifacts()[1])
    again = rehearsed.cli(
        *("simulate", "--scenario", "morning", "--"),
        *rehearsed.cli.command("replay", morning, "--repeat", "5", "--artifact-dir", ""),
    )
    assert "2 of 3 fixed, 1 still fail the same way, 12 that A had not run" in again.stdout
    often = [line for line in again.stdout.splitlines() if line.startswith("failed ")]
    target = "tts:openai/gpt-4o-mini-tts/alloy"
    assert often == [
        f"failed {count} of 5 times: {target} {item}"
        for count, item in ((2, "date-change"), (1, "discount"), (0, "opening-hours"))
    ]


def test_a_rehearsed_command_keeps_its_exit_code_and_meets_no_provider(tmp_path: Path) -> None:
    cli = Cli(tmp_path, {"OPENAI_API_KEY": "a-real-key", "SAYAGAIN_ENDPOINT_OPENAI": "https://example.invalid"})
    script = (
        "import os, sys; print(os.environ['OPENAI_API_KEY'], os.environ['SAYAGAIN_ENDPOINT_OPENAI']); sys.exit(7)"
    )
    done = cli("simulate", "--", sys.executable, "-c", script, code=7)
    key, base = done.stdout.split()
    assert key != "a-real-key"
    assert base.startswith("http://127.0.0.1:")
    assert "cannot be started" in cli("simulate", "--", "./no-such-program", code=2).stderr


def test_a_rehearsed_command_is_told_to_stop(tmp_path: Path) -> None:
    script = "import signal; print('ready', flush=True); signal.pause()"
    process = Cli(tmp_path).start("simulate", "--", sys.executable, "-c", script)
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=30)
    assert process.returncode == 128 + signal.SIGTERM
