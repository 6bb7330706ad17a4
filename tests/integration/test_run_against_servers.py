"""A whole run against Wyoming servers that behave and misbehave."""

import base64
import json
import sqlite3
from contextlib import closing
from typing import Any
from urllib.parse import quote

import pytest

from sayagain.datasets import load
from support.commands import Cli, Standin, events, require_whole

CARDS = ("--dataset", "cards-5", "--kind", "stt")
"""Recordings of a second or two: audio is sent at the pace of speech."""

QUICK = ("--attempts", "1", "--final-timeout", "1", "--idle-timeout", "1", "--case-timeout", "20")


def kinds(cli: Cli) -> list[str]:
    """Return the kind of each failed case, once a case, from the artifact."""
    rows = [json.loads(line) for line in cli.artifact().read_text("utf-8").splitlines()]
    failed = {
        row["case_id"]: row["failure"]["kind"]
        for row in rows
        if row.get("status") == "failed" and "case_id" in row
    }
    return sorted(failed.values())


def run(cli: Cli, model: str, *args: str, code: int = 0) -> dict[str, Any]:
    report: dict[str, Any] = cli.json("run", "--models", model, *QUICK, *args, code=code)
    require_whole(report)
    return report


def test_a_server_that_behaves_is_benchmarked_in_both_directions(cli: Cli, standin: Standin) -> None:
    report = run(cli, standin("ok"), "--dataset", "cards-5,prompts-30", "--sample", "2")
    assert report["status"] == "succeeded"
    assert report["exit_code"] == 0
    assert {target["target"] for target in report["targets"]} == {
        "stt:wyoming/standin:tiny",
        "tts:wyoming/standin/tone",
    }
    for target in report["targets"]:
        for metric in target["metrics"].values():
            assert metric["failed"] == 0
            assert metric["n"] > 0
    assert report["artifact"] is not None


def test_every_bad_transcript_fails_its_own_case_by_name_and_no_other(cli: Cli, standin: Standin) -> None:
    report = run(cli, standin("hang,ok,close,vanish,error,empty,partial-only,garbage,ok"), *CARDS, "--repeat", "2")
    assert report["status"] == "partial"
    assert kinds(cli) == sorted(
        [
            "final_timeout",
            "connection_lost",
            "connection_lost",
            "server_error",
            "empty",
            "protocol",
            "protocol",
        ]
    )
    assert report["cases"]["succeeded"] == report["cases"]["planned"] - 7


def test_every_bad_voice_fails_its_own_case_by_name_and_no_other(cli: Cli, standin: Standin) -> None:
    script = "hang,odd,stall,close,vanish,error,empty,silent,odd"
    report = run(cli, standin(script), "--kind", "tts", "--sample", "12")
    assert report["status"] == "partial"
    assert kinds(cli) == sorted(
        ["idle_timeout", "idle_timeout", "connection_lost", "connection_lost", "bad_request", "empty", "empty"]
    )
    assert report["cases"]["succeeded"] == 5


def test_a_frame_of_more_than_a_megabyte_is_accepted(cli: Cli, standin: Standin) -> None:
    assert run(cli, standin("large"), *CARDS, "--sample", "1")["status"] == "succeeded"


def test_a_run_in_which_nothing_succeeds_has_failed(cli: Cli, standin: Standin) -> None:
    report = run(cli, standin("error"), "--kind", "tts", "--sample", "2", code=1)
    assert (report["status"], report["exit_code"]) == ("failed", 1)
    assert report["artifact"] is not None


def test_a_passing_fault_is_tried_again_and_every_attempt_is_in_the_ledger(cli: Cli, standin: Standin) -> None:
    report = cli.json("run", "--models", standin("vanish,ok"), "--kind", "tts", "--sample", "1")
    assert report["status"] == "succeeded"
    rows = [json.loads(line) for line in cli.artifact().read_text("utf-8").splitlines()]
    assert {row["attempts"] for row in rows if row["record"] == "result"} == {2}


def test_nothing_secret_or_said_is_in_the_log_the_artifact_or_the_failures_of_the_ledger(
    cli: Cli, standin: Standin
) -> None:
    canary = "sk-canary-0123456789abcdef"
    cli.env["DEEPGRAM_API_KEY"] = canary
    done = cli("run", "--models", standin("leak,ok"), "--kind", "tts", "--sample", "3", *QUICK)
    shown = cli("runs", "show", "latest", "--failed").stdout + cli("artifact", "show", str(cli.artifact())).stdout
    with closing(sqlite3.connect(cli.folder / "sayagain.db")) as database:
        kept = str(database.execute("SELECT failure_message, failure_code FROM attempt").fetchall())
    prompts = [item.text for item in load("prompts-30", cli.folder).items]
    for text in (done.stdout, done.stderr, shown, kept, cli.artifact().read_text("utf-8")):
        for secret in (canary, *prompts):
            for spelling in (secret, quote(secret), base64.b64encode(secret.encode()).decode()):
                assert spelling.casefold() not in text.casefold()
    assert '"no:' in done.stderr


def test_the_log_names_every_event_of_the_run(cli: Cli, standin: Standin) -> None:
    done = cli("run", "--models", standin("error,ok"), "--kind", "tts", "--sample", "2", *QUICK)
    names = [event["event"] for event in events(done.stderr)]
    assert names == ["run_started", "case_failed", "run_finished", "run_artifact_written"]
    assert len({event["run_id"] for event in events(done.stderr) if "run_id" in event}) == 1


def test_without_a_directory_no_artifact_is_written_and_nothing_else_changes(cli: Cli, standin: Standin) -> None:
    cli.env["RUN_ARTIFACT_DIR"] = ""
    report = run(cli, standin("ok"), "--kind", "tts", "--sample", "1")
    assert (report["status"], report["artifact"], report["artifact_error"]) == ("succeeded", None, None)
    assert sorted(path.suffix for path in cli.folder.iterdir()) == [".db"]


def test_an_artifact_that_cannot_be_written_changes_neither_status_nor_exit_code(
    cli: Cli, standin: Standin
) -> None:
    (cli.folder / "artifacts").write_text("a file stands where the directory should be")
    done = cli("run", "--models", standin("ok"), "--kind", "tts", "--sample", "1", *QUICK)
    names = [event["event"] for event in events(done.stderr)]
    assert names == ["run_artifact_directory_unusable", "run_started", "run_finished", "run_artifact_write_failed"]
    assert "succeeded" in done.stdout


@pytest.mark.parametrize(
    ("args", "says"),
    [
        (["--models", "moonshin"], "moonshine"),
        (["--models", "wyoming/127.0.0.1:1"], "cannot be reached"),
        (["--models", "wyoming/nobody"], "HOST:PORT"),
        (["--models", "espeak", "--kind", "stt"], "no target"),
        (["--models", ","], "names nothing"),
        (["--dataset", "librivo"], "librivox"),
        (["--sample", "0"], "sample"),
        (["--kind", "sts"], "kind"),
        (["--models", "espeak", "--dataset", "librivox-5"], "fits"),
    ],
)
def test_what_cannot_be_done_is_said_in_one_line_with_exit_code_2(cli: Cli, args: list[str], says: str) -> None:
    done = cli("run", *args, code=2)
    assert says in done.stderr
    assert not (cli.folder / "artifacts").exists() or not list((cli.folder / "artifacts").iterdir())


def test_a_server_that_does_not_speak_wyoming_is_told_apart(cli: Cli, standin: Standin) -> None:
    assert "names" not in cli("run", "--models", standin("ok") + "/nobody", code=2).stdout
