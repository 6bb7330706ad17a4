"""`sayagain runs`: the list, one run, and whose words are shown. On SQLite and on PostgreSQL."""

import json
from collections.abc import Callable
from typing import Any

import msgspec
import pytest
from click.testing import CliRunner, Result

from sayagain.cli.runs import command
from sayagain.errors import UsageError
from sayagain.ledger import Ledger, Owner
from sayagain.records import Attempt, FailureKind, Phase, RunStatus

Invoke = Callable[..., Result]


@pytest.fixture
def invoke(ledger_url: str) -> Invoke:
    """Run `sayagain runs` on the ledger; an error is raised."""

    def run(*arguments: str) -> Result:
        done = CliRunner().invoke(command, [*arguments, "--db", ledger_url])
        if done.exception is not None and not isinstance(done.exception, SystemExit):
            raise done.exception
        return done

    return run


@pytest.fixture
def finished_run(ledger: Ledger, started_run: Callable[..., str], make: Any) -> str:
    """A partial run: two cases succeeded, three failed of two causes, one did not run."""
    run_id = started_run("20250301-abc", cases=6)
    refused = make.failure("model not found", kind=FailureKind.BAD_REQUEST, phase=Phase.OPEN, fingerprint="f1")
    heard = (Attempt(number=1, trace=make.trace("words in confidence"), failure=make.failure()),)
    ledger.record(run_id, [make.case(0), make.case(1, model="tiny"), make.failed_case(2, tries=3)])
    ledger.record(run_id, [make.failed_case(3, refused), make.case(4, attempts=heard)])
    ledger.finalize(run_id, RunStatus.PARTIAL, "SIGTERM")
    return run_id


def test_an_empty_ledger_has_no_runs_and_says_how_to_make_one(ledger: Ledger, invoke: Invoke) -> None:
    assert "sayagain run" in invoke("list").output


def test_the_list_shows_how_each_run_ended(finished_run: str, invoke: Invoke) -> None:
    (line,) = [line for line in invoke("list").output.splitlines() if finished_run in line]
    cells = [cell.strip() for cell in line.strip("│").split("│")]
    assert cells[:7] == [finished_run, "2025-03-01 10:00:00", "stt", "partial", "2", "3", "1"]
    assert cells[8] == "SIGTERM"


def test_the_list_is_limited_to_the_newest(
    ledger: Ledger, started_run: Callable[..., str], invoke: Invoke
) -> None:
    for run_id in ("a", "b", "c"):
        started_run(run_id)
    listed = json.loads(invoke("list", "--limit", "2", "--json").stdout)
    assert [run["run_id"] for run in listed] == ["c", "b"]


def test_the_list_as_json_is_only_json(finished_run: str, invoke: Invoke) -> None:
    (run,) = json.loads(invoke("list", "--json").stdout)
    assert run["status"] == "partial"
    assert run["counts"] == {"planned": 6, "succeeded": 2, "failed": 3, "not_run": 1}
    assert run["header"]["run_id"] == finished_run


@pytest.mark.parametrize("arguments", [("list", "--json"), ("show", "gone", "--json")])
def test_a_run_whose_process_is_gone_is_marked_first_and_named(
    ledger: Ledger, started_run: Callable[..., str], invoke: Invoke, arguments: tuple[str, ...]
) -> None:
    host = Owner.current().host
    started_run("gone", owner=Owner(pid=2**22 + 1, started=0.0, host=host))
    done = invoke(*arguments)
    assert json.loads(done.stdout)
    assert "interrupted" in done.stdout
    assert "run_interrupted" in done.stderr
    assert "gone" in done.stderr
    assert ledger.run("gone").status is RunStatus.INTERRUPTED
    assert "run_interrupted" not in invoke(*arguments).stderr


def test_show_counts_cases_by_target_and_failures_by_cause(finished_run: str, invoke: Invoke) -> None:
    shown = invoke("show", "2025").output
    assert "partial: SIGTERM" in shown
    assert "2 ok, 3 failed, 1 not run, of 6 planned" in shown
    rows = [[cell.strip() for cell in line.strip("│").split("│")] for line in shown.splitlines() if "│" in line]
    assert ["stt:moonshine/base", "1", "3"] in rows
    assert ["stt:moonshine/tiny", "1", "0"] in rows
    assert [row[:2] for row in rows if row[-1] in ("f0", "f1")] == [
        ["2", "connection_lost receive"],
        ["1", "bad_request open"],
    ]


def test_show_as_json_has_the_same(finished_run: str, invoke: Invoke) -> None:
    shown = json.loads(invoke("show", "latest", "--json").stdout)
    assert shown["run"]["run_id"] == finished_run
    assert [(bucket["fingerprint"], bucket["count"]) for bucket in shown["failures"]] == [("f0", 2), ("f1", 1)]
    assert shown["targets"][0] == {"target": "stt:moonshine/base", "succeeded": 1, "failed": 3}
    assert "failed" not in shown


def test_failed_cases_are_shown_with_every_attempt_when_asked(finished_run: str, invoke: Invoke) -> None:
    plain = invoke("show", "latest").output
    shown = invoke("show", "latest", "--failed").output
    assert "item-2" not in plain
    assert [shown.count(f"item-{n}  ") for n in range(5)] == [0, 0, 1, 1, 1]
    assert shown.count("attempt 3 at 2025-03-01T10:00:01.000Z: connection_lost while receive") == 1


def test_failed_cases_as_json_carry_their_attempts(finished_run: str, invoke: Invoke) -> None:
    shown = json.loads(invoke("show", "latest", "--failed", "--json").stdout)
    assert [case["position"] for case in shown["failed"]] == [2, 3, 4]
    assert [attempt["number"] for attempt in shown["failed"][0]["attempts"]] == [1, 2, 3]


@pytest.mark.parametrize("form", [(), ("--json",)])
def test_transcripts_are_shown_only_when_asked(finished_run: str, invoke: Invoke, form: tuple[str, ...]) -> None:
    assert "words in confidence" not in invoke("show", "latest", "--failed", *form).output
    assert "words in confidence" in invoke("show", "latest", "--failed", "--transcripts", *form).output


def test_a_run_without_cases_can_be_shown(ledger: Ledger, started_run: Callable[..., str], invoke: Invoke) -> None:
    started_run()
    assert "0 ok, 0 failed, 10 not run" in invoke("show", "latest", "--failed").output


def test_what_a_provider_sends_cannot_steer_the_terminal(
    ledger: Ledger, started_run: Callable[..., str], invoke: Invoke, make: Any
) -> None:
    run_id = started_run()
    nasty = make.failure("\x1b[2J[bold]gone\x07", code="\x1b]0;x", fingerprint="f2")
    ledger.record(run_id, [make.failed_case(0, nasty)])
    shown = invoke("show", run_id, "--failed").output
    assert "\x1b" not in shown
    assert "\x07" not in shown
    assert "[bold]gone" in shown


def test_a_run_that_is_not_there_is_a_usage_error(ledger: Ledger, invoke: Invoke) -> None:
    with pytest.raises(UsageError, match="no run 'nothing'"):
        invoke("show", "nothing")


def test_a_ledger_that_does_not_exist_is_not_made(tmp_path: Any) -> None:
    done = CliRunner().invoke(command, ["list", "--db", f"sqlite:///{tmp_path}/ledger.db"])
    assert isinstance(done.exception, UsageError)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("finished", "took"),
    [
        ("2025-03-01T10:00:09.600Z", "0:00:10"),
        ("2025-03-01T12:03:00.000Z", "2:03:00"),
        ("2025-03-01T09:59:59.000Z", "0:00:00"),
        (None, "-"),
        ("yesterday", "-"),
        ("2025-03-01T10:00:00", "-"),
    ],
)
def test_a_duration_is_told_to_the_second_or_not_at_all(finished: str | None, took: str) -> None:
    from sayagain.report.runs import duration

    assert duration("2025-03-01T10:00:00.000Z", finished) == took


def test_values_taken_while_our_loop_was_late_are_counted_by_target(
    ledger: Ledger, started_run: Callable[..., str], make: Any, invoke: Invoke
) -> None:
    run_id = started_run("late", cases=2)
    late = (Attempt(number=1, trace=msgspec.structs.replace(make.trace("words"), loop_lag_ms=50.0)),)
    ledger.record(run_id, [make.case(0), make.case(1, attempts=late)])
    ledger.finalize(run_id, RunStatus.SUCCEEDED, None)
    document = json.loads(invoke("show", run_id, "--json").stdout)
    (flagged,) = document["flagged"].values()
    assert flagged > 0
    assert "more than 10 ms late" in invoke("show", run_id).output
