"""A run that was stopped, finished by its replay; and a server that only the person who replays can name."""

import json
import signal
from pathlib import Path
from typing import Any

from support.commands import Cli, Standin


def records(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def succeeded(path: Path) -> set[str]:
    rows = [record for record in records(path) if record["record"] == "result"]
    return {row["case_id"] for row in rows} - {row["case_id"] for row in rows if row["status"] == "failed"}


def test_what_a_stopped_run_never_reached_is_run_by_its_replay(cli: Cli, standin: Standin) -> None:
    process = cli.start("run", "--models", standin("ok,ok,ok,hang"), "--kind", "tts", "--grace", "0.2")
    assert process.stdout is not None
    while not process.stdout.readline().startswith("[3/30]"):
        pass
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=60)
    parent = cli.artifact()
    summary = records(parent)[-1]
    assert summary["cases"]["not_run"] == 30 - 3 - summary["cases"]["failed"]

    refused = cli("replay", str(parent), "--include", "not-run", code=3)
    assert "target.tts:wyoming/standin/tone: known then, (none) now" in refused.stderr
    assert "--models wyoming/HOST:PORT" in refused.stderr

    well = standin("ok")
    plan = cli.json("replay", str(parent), "--include", "not-run", "--models", well, "--dry-run")
    assert plan["cases"] == plan["targets"][0]["cases"] == 27
    assert plan["targets"][0]["characters"] > 1000
    assert cli.artifact() == parent

    done = cli.json("replay", str(parent), "--include", "not-run", "--models", well)
    assert (done["status"], done["cases"]["planned"]) == ("succeeded", 27)
    assert done["comparison"]["mode"] == "replay"
    child = cli.folder / done["artifact"]
    assert succeeded(parent).isdisjoint(succeeded(child))
    assert len(succeeded(parent) | succeeded(child)) == 30

    nothing = cli("replay", str(child), "--models", well, code=2)
    assert "no case of this artifact failed" in nothing.stderr


def test_a_damaged_artifact_is_refused_before_a_ledger_is_made(cli: Cli) -> None:
    (cli.folder / "torn.jsonl").write_text('{"record":"run","schema":"1.0"', "utf-8")
    assert "torn.jsonl" in cli("replay", "torn.jsonl", code=4).stderr
    assert not (cli.folder / "sayagain.db").exists()
