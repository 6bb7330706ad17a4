"""Log events: JSON lines where stderr is no terminal, and never a word of what was said."""

import json
from collections.abc import Iterator

import pytest
import structlog
from stamina.instrumentation import RetryDetails

from sayagain import logs
from sayagain.errors import LedgerError


@pytest.fixture(autouse=True)
def _configured() -> Iterator[None]:
    logs.configure()
    yield
    structlog.reset_defaults()


def test_an_event_is_one_json_line_with_its_name_level_and_time(capsys: pytest.CaptureFixture[str]) -> None:
    logs.logger().warning("case_failed", kind="empty", target="stt:p/m")
    (line,) = capsys.readouterr().err.splitlines()
    event = json.loads(line)
    assert (event["event"], event["level"], event["kind"]) == ("case_failed", "warning", "empty")
    assert event["timestamp"].endswith("Z")


def test_nothing_is_written_to_stdout(capsys: pytest.CaptureFixture[str]) -> None:
    logs.logger().error("run_fault", error="X")
    assert capsys.readouterr().out == ""


def test_waiting_for_the_ledger_is_told_and_other_retries_are_not(capsys: pytest.CaptureFixture[str]) -> None:
    def details(error: Exception) -> RetryDetails:
        return RetryDetails(
            name="x", args=(), kwargs={}, retry_num=1, wait_for=0.5, waited_so_far=0.0, caused_by=error
        )

    logs._ledger_retried(details(LedgerError("the server is gone")))
    logs._ledger_retried(details(RuntimeError("a transcript")))
    (line,) = capsys.readouterr().err.splitlines()
    assert json.loads(line)["reason"] == "the server is gone"
