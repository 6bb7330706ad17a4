"""Recording: each case once, whole, and none into a run that is over. On SQLite and on PostgreSQL."""

import threading
from collections.abc import Callable
from typing import Any

import pytest

from sayagain.errors import LedgerError, UsageError
from sayagain.ledger import Ledger
from sayagain.records import Attempt, CaseCounts, FailureKind, Phase, Result, RunStatus, Status

Start = Callable[..., str]


def undigested(text: str | None) -> tuple[str | None, int | None]:
    return None, None


def snapshot(ledger: Ledger, run_id: str) -> tuple[list[Any], list[Any]]:
    return list(ledger.rows(run_id, undigested)), list(ledger.cases(run_id))


def test_what_is_recorded_is_read_back_unchanged(ledger: Ledger, started_run: Start, make: Any) -> None:
    run_id = started_run()
    failure = make.failure("first try", code="1006", retryable=True)
    attempts = (
        Attempt(number=1, trace=make.trace(None, connection=None), failure=failure),
        Attempt(number=2, trace=make.trace("so he said")),
    )
    ledger.record(run_id, [make.case(3, attempts=attempts)])

    (case,) = ledger.cases(run_id)

    assert case.attempts == attempts
    assert (case.position, case.status, case.failure) == (3, Status.SUCCEEDED, None)
    assert case.transcript == "so he said"
    assert (case.started, case.connect_ms, case.loop_lag_ms) == ("2025-03-01T10:00:01.000Z", 1.5, 0.25)


def test_the_header_of_a_run_is_read_back_unchanged(ledger: Ledger, started_run: Start, make: Any) -> None:
    assert ledger.header(started_run()) == make.header() == ledger.run("latest").header


def test_audio_is_never_kept(ledger: Ledger, started_run: Start, make: Any) -> None:
    run_id = started_run()
    attempt = Attempt(number=1, trace=make.trace(audio=b"\x01\x02" * 50_000))
    ledger.record(run_id, [make.case(0, attempts=(attempt,))])

    (case,) = ledger.cases(run_id)

    assert case.attempts[0].trace.audio == b""
    assert case.attempts[0].trace.events == attempt.trace.events


def test_recording_cases_again_changes_nothing(ledger: Ledger, started_run: Start, make: Any) -> None:
    run_id = started_run()
    cases = [make.case(0), make.failed_case(1, tries=2), make.case(2)]
    ledger.record(run_id, cases)
    before = snapshot(ledger, run_id)

    ledger.record(run_id, cases)
    ledger.record(run_id, [cases[1], cases[1]])

    assert snapshot(ledger, run_id) == before


def test_recording_adds_just_the_cases_that_are_missing(ledger: Ledger, started_run: Start, make: Any) -> None:
    run_id = started_run()
    ledger.record(run_id, [make.case(1)])
    ledger.record(run_id, [make.case(0), make.case(1), make.case(2)])
    assert [case.position for case in ledger.cases(run_id)] == [0, 1, 2]


def test_one_case_given_twice_in_a_group_is_recorded_once(ledger: Ledger, started_run: Start, make: Any) -> None:
    run_id = started_run()
    ledger.record(run_id, [make.case(0), make.case(0)])
    assert ledger.counts(run_id).succeeded == 1


def test_recording_nothing_is_allowed(ledger: Ledger, started_run: Start) -> None:
    run_id = started_run()
    ledger.record(run_id, [])
    assert ledger.counts(run_id) == CaseCounts(planned=10, succeeded=0, failed=0, not_run=10)


def test_a_group_is_committed_whole_or_not_at_all(ledger: Ledger, started_run: Start, make: Any) -> None:
    run_id = started_run()
    twice = make.results()[:1] * 2
    with pytest.raises(LedgerError) as refused:
        ledger.record(run_id, [make.case(0), make.case(1, results=twice)])
    assert not refused.value.transient
    assert snapshot(ledger, run_id) == ([], [])


def test_another_case_at_a_recorded_position_is_refused(ledger: Ledger, started_run: Start, make: Any) -> None:
    run_id = started_run()
    ledger.record(run_id, [make.case(0)])
    with pytest.raises(LedgerError, match="already holds another case"):
        ledger.record(run_id, [make.case(0, model="other")])


def test_a_case_has_one_position_in_a_run(ledger: Ledger, started_run: Start, make: Any) -> None:
    import msgspec

    run_id = started_run()
    ledger.record(run_id, [make.case(0)])
    moved = make.case(0)
    moved = msgspec.structs.replace(
        moved,
        finished=msgspec.structs.replace(
            moved.finished, case=msgspec.structs.replace(moved.finished.case, position=5)
        ),
    )
    with pytest.raises(LedgerError) as refused:
        ledger.record(run_id, [moved])
    assert not refused.value.transient


def test_the_same_case_may_be_in_many_runs(ledger: Ledger, started_run: Start, make: Any) -> None:
    for run_id in ("run-1", "run-2"):
        started_run(run_id)
        ledger.record(run_id, [make.case(0)])
    assert [run.counts.succeeded for run in ledger.runs()] == [1, 1]


def test_recording_into_a_run_that_does_not_exist_is_refused(ledger: Ledger, make: Any) -> None:
    with pytest.raises(LedgerError, match="no run nothing"):
        ledger.record("nothing", [make.case(0)])


def test_a_run_that_is_over_takes_no_more_cases(ledger: Ledger, started_run: Start, make: Any) -> None:
    run_id = started_run()
    ledger.record(run_id, [make.case(0)])
    ledger.finalize(run_id, RunStatus.PARTIAL, "stopped")
    with pytest.raises(LedgerError, match="already partial") as refused:
        ledger.record(run_id, [make.case(0), make.case(1)])
    assert not refused.value.transient
    assert ledger.counts(run_id).succeeded == 1


def test_a_lost_acknowledgement_is_made_good_even_after_the_run_is_over(
    ledger: Ledger, started_run: Start, make: Any
) -> None:
    run_id = started_run()
    ledger.record(run_id, [make.case(0)])
    ledger.finalize(run_id, RunStatus.PARTIAL)
    ledger.record(run_id, [make.case(0)])


def test_planned_cases_are_succeeded_failed_or_not_run(ledger: Ledger, started_run: Start, make: Any) -> None:
    run_id = started_run(cases=5)
    ledger.record(run_id, [make.case(0), make.failed_case(1), make.case(4)])
    assert ledger.counts(run_id) == CaseCounts(planned=5, succeeded=2, failed=1, not_run=2)
    assert ledger.run(run_id).counts == ledger.counts(run_id)


def test_the_recorded_cases_of_each_target_are_counted(ledger: Ledger, started_run: Start, make: Any) -> None:
    run_id = started_run()
    ledger.record(run_id, [make.case(0), make.failed_case(1), make.case(2, model="tiny")])
    assert [(one.target, one.succeeded, one.failed) for one in ledger.targets(run_id)] == [
        ("stt:moonshine/base", 1, 1),
        ("stt:moonshine/tiny", 1, 0),
    ]


def test_every_failed_row_has_its_failure(ledger: Ledger, started_run: Start, make: Any) -> None:
    run_id = started_run()
    scoring = make.failure("cannot align", kind=FailureKind.SCORING, phase=Phase.SCORE, fingerprint="f1")
    other = make.failure("no reference", kind=FailureKind.SCORING, phase=Phase.SCORE, fingerprint="f2")
    failed = [
        Result(metric="cer", version=1, unit="%", status=Status.FAILED, failure=scoring),
        Result(metric="wer", version=1, unit="%", status=Status.FAILED, failure=other),
    ]
    fine = Result(metric="ttft", version=1, unit="ms", status=Status.SUCCEEDED, value=1.0)
    ledger.record(run_id, [make.failed_case(0), make.case(1, results=(failed[1], fine, failed[0]))])

    rows = {(row.item_id, row.metric): row.failure for row in ledger.rows(run_id, undigested)}

    assert {rows["item-0", metric] for metric in ("wer", "cer", "ttft", "ttfs")} == {make.failure()}
    assert rows["item-1", "cer"] == scoring
    assert rows["item-1", "wer"] == other
    assert rows["item-1", "ttft"] is None


def test_a_case_that_failed_only_in_scoring_says_why(ledger: Ledger, started_run: Start, make: Any) -> None:
    run_id = started_run()
    scoring = make.failure("cannot align", kind=FailureKind.SCORING, phase=Phase.SCORE)
    results = (Result(metric="wer", version=1, unit="%", status=Status.FAILED, failure=scoring),)
    ledger.record(run_id, [make.case(0, results=results)])

    (case,) = ledger.cases(run_id, failed_only=True)

    assert case.failure == scoring
    assert case.attempts[0].failure is None


def test_only_failed_cases_are_read_when_asked(ledger: Ledger, started_run: Start, make: Any) -> None:
    run_id = started_run()
    ledger.record(run_id, [make.case(0), make.failed_case(1), make.case(2), make.failed_case(3, tries=3)])
    failed = list(ledger.cases(run_id, failed_only=True))
    assert [(case.position, len(case.attempts)) for case in failed] == [(1, 1), (3, 3)]


def test_a_run_is_finalized_once(ledger: Ledger, started_run: Start) -> None:
    run_id = started_run()
    assert ledger.finalize(run_id, RunStatus.PARTIAL, "SIGTERM")
    assert not ledger.finalize(run_id, RunStatus.SUCCEEDED)
    run = ledger.run(run_id)
    assert (run.status, run.reason) == (RunStatus.PARTIAL, "SIGTERM")
    assert run.finished is not None


def test_running_is_no_final_status(ledger: Ledger, started_run: Start) -> None:
    with pytest.raises(ValueError, match="not a final status"):
        ledger.finalize(started_run(), RunStatus.RUNNING)


def test_of_many_who_finalize_at_once_exactly_one_wins(ledger: Ledger, started_run: Start) -> None:
    run_id = started_run()
    statuses = [RunStatus.SUCCEEDED, RunStatus.PARTIAL, RunStatus.FAILED, RunStatus.INTERRUPTED]
    together = threading.Barrier(len(statuses))
    won: list[RunStatus] = []

    def finalize(status: RunStatus) -> None:
        together.wait()
        if ledger.finalize(run_id, status, status.value):
            won.append(status)

    threads = [threading.Thread(target=finalize, args=(status,)) for status in statuses]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert len(won) == 1
    assert ledger.run(run_id).status is won[0]
    assert ledger.run(run_id).reason == won[0].value


def test_a_heartbeat_says_whether_the_run_is_still_running(ledger: Ledger, started_run: Start) -> None:
    run_id = started_run()
    assert ledger.heartbeat(run_id)
    ledger.finalize(run_id, RunStatus.SUCCEEDED)
    assert not ledger.heartbeat(run_id)


def test_a_run_id_is_taken_once(ledger: Ledger, started_run: Start) -> None:
    started_run()
    with pytest.raises(LedgerError) as refused:
        started_run()
    assert not refused.value.transient


def test_runs_are_listed_newest_first(ledger: Ledger, started_run: Start) -> None:
    for run_id in ("a", "c", "b"):
        started_run(run_id)
    assert [run.run_id for run in ledger.runs()] == ["b", "c", "a"]
    assert [run.run_id for run in ledger.runs(2)] == ["b", "c"]


def test_a_run_is_found_by_its_id_a_unique_beginning_or_latest(ledger: Ledger, started_run: Start) -> None:
    for run_id in ("20250101-aa", "20250101-ab", "20250101-a"):
        started_run(run_id)
    assert ledger.run("20250101-ab").run_id == "20250101-ab"
    assert ledger.run("20250101-a").run_id == "20250101-a"
    assert ledger.run("latest").run_id == "20250101-a"
    with pytest.raises(UsageError, match="20250101-aa, 20250101-ab"):
        ledger.run("2025")


@pytest.mark.parametrize("selector", ["x", "", "%", "2025010_", "20250101-AA"])
def test_a_selector_that_fits_no_run_is_a_usage_error(ledger: Ledger, started_run: Start, selector: str) -> None:
    started_run("20250101-aa")
    with pytest.raises(UsageError, match="no run"):
        ledger.run(selector)


def test_latest_of_an_empty_ledger_says_how_to_make_a_run(ledger: Ledger) -> None:
    with pytest.raises(UsageError, match="sayagain run"):
        ledger.run("latest")
