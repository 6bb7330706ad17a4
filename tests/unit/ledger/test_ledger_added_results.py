"""Results that come after their case: each once, and none that would change what has been decided."""

from collections.abc import Callable
from typing import Any

import pytest

from sayagain.errors import LedgerError
from sayagain.ledger import Ledger
from sayagain.records import Result, RunStatus, Status

LATE = Result(
    metric="intelligibility_wer", version=1, unit="%", status=Status.SUCCEEDED, value=12.5, reason="heard"
)


def late_rows(ledger: Ledger) -> dict[str, float | None]:
    rows = ledger.rows("run-1", lambda _: (None, None))
    return {row.item_id: row.value for row in rows if row.metric == LATE.metric}


def test_a_result_can_be_added_to_a_recorded_case_and_only_once(
    ledger: Ledger, started_run: Callable[..., str], make: Any
) -> None:
    run_id = started_run()
    ledger.record(run_id, [make.case(0), make.case(1)])
    ledger.add_results(run_id, [(0, LATE)])
    other = Result(metric=LATE.metric, version=1, unit="%", status=Status.SUCCEEDED, value=99.0)
    ledger.add_results(run_id, [(0, other), (1, LATE)])
    assert late_rows(ledger) == {"item-0": 12.5, "item-1": 12.5}
    assert ledger.counts(run_id).succeeded == 2


def test_adding_nothing_is_allowed(ledger: Ledger, started_run: Callable[..., str]) -> None:
    ledger.add_results(started_run(), [])


def test_a_run_that_is_over_takes_no_more_results(
    ledger: Ledger, started_run: Callable[..., str], make: Any
) -> None:
    run_id = started_run()
    ledger.record(run_id, [make.case(0)])
    ledger.finalize(run_id, RunStatus.SUCCEEDED)
    with pytest.raises(LedgerError, match="not running"):
        ledger.add_results(run_id, [(0, LATE)])


def test_a_result_of_a_case_that_is_not_there_is_refused(ledger: Ledger, started_run: Callable[..., str]) -> None:
    with pytest.raises(LedgerError):
        ledger.add_results(started_run(), [(7, LATE)])


def test_a_failed_result_is_refused_because_the_case_has_been_decided(
    ledger: Ledger, started_run: Callable[..., str], make: Any
) -> None:
    run_id = started_run()
    ledger.record(run_id, [make.case(0)])
    failed = Result(metric="late", version=1, unit="%", status=Status.FAILED, failure=make.failure())
    with pytest.raises(ValueError, match="cannot be failed"):
        ledger.add_results(run_id, [(0, failed)])
