"""Failures are counted by cause, in memory that does not grow with them."""

import tracemalloc
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sayagain.artifact import buckets
from sayagain.artifact.buckets import Tally
from sayagain.records import ResultRow, RunStatus, Status, Summary


def summary(rows: list[ResultRow], planned: int = 10) -> Summary:
    tally = Tally()
    for row in rows:
        tally.add(row)
    return tally.summary(status=RunStatus.PARTIAL, reason=None, finished=None, planned=planned, sha256="")


def test_a_bucket_counts_cases_and_names_what_is_affected(make: Any) -> None:
    cause = make.failure(1)
    (bucket,) = summary(
        [make.row(1, "ttfs", cause), make.row(1, "wer", cause), make.row(2, "ttfa", cause), make.row(3, "ttfs")]
    ).buckets
    assert bucket.count == 2
    assert bucket.targets == (make.STT, make.TTS)
    assert bucket.metrics == ("ttfa", "ttfs", "wer")
    assert bucket.cases == (f"{1:032x}", f"{2:032x}")
    assert bucket.example == "nothing came, 1"


def test_a_case_that_failed_of_two_causes_is_in_two_buckets(make: Any) -> None:
    found = summary([make.row(1, "ttfs", make.failure(1)), make.row(1, "wer", make.failure(2))])
    assert [bucket.count for bucket in found.buckets] == [1, 1]
    assert found.cases.failed == 1


def test_a_bucket_names_five_cases_at_most(make: Any) -> None:
    (bucket,) = summary([make.row(case, "ttfs", make.failure(1)) for case in range(9)]).buckets
    assert bucket.count == 9
    assert bucket.cases == tuple(f"{case:032x}" for case in range(5))


def test_the_largest_comes_first_and_ties_go_by_fingerprint(make: Any) -> None:
    causes = [3, 1, 2, 2]
    found = summary([make.row(case, "ttfs", make.failure(cause)) for case, cause in enumerate(causes)])
    assert [bucket.fingerprint[-1] for bucket in found.buckets] == ["2", "1", "3"]


@given(st.lists(st.tuples(st.integers(0, 5), st.booleans()), max_size=30), st.data())
def test_counts_always_add_up(make: Any, cases: list[tuple[int, bool]], data: st.DataObject) -> None:
    rows = [
        make.row(case, metric, make.failure(cause) if fails and metric == "ttfs" else None)
        for case, (cause, fails) in enumerate(cases)
        for metric in ("ttfs", "wer")
    ]
    found = summary(rows, planned=len(cases) + data.draw(st.integers(0, 3)))
    assert found.rows == len(rows)
    assert found.rows_failed == sum(row.status is Status.FAILED for row in rows)
    assert found.cases.planned == found.cases.succeeded + found.cases.failed + found.cases.not_run
    assert sum(bucket.count for bucket in found.buckets) == found.cases.failed


def test_a_run_without_rows_has_a_summary() -> None:
    found = summary([], planned=4)
    assert (found.cases.not_run, found.buckets, found.records) == (4, (), 1)


def test_memory_is_bounded_however_many_causes_there_are(make: Any) -> None:
    tally = Tally()
    tracemalloc.start()
    for number in range(30_000):
        tally.add(make.row(number, "ttfs", make.failure(number)))
        if number == buckets.TRACKED + 1_000:
            full, _ = tracemalloc.get_traced_memory()
    after, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert after < full + 100_000
    found = tally.summary(status=RunStatus.FAILED, reason=None, finished=None, planned=30_000, sha256="")
    assert len(found.buckets) == buckets.LISTED
    assert found.failures_unlisted == 30_000 - buckets.LISTED
    assert found.cases.failed == 30_000


def test_an_untracked_cause_counts_once_a_case(make: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(buckets, "TRACKED", 1)
    late = make.failure(2)
    rows = [make.row(1, "ttfs", make.failure(1))]
    rows += [make.row(case, metric, late) for case in (2, 3) for metric in ("ttfs", "wer")]
    assert summary(rows).failures_unlisted == 2


def test_the_listed_buckets_fit_into_a_line(make: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(buckets, "LISTED_BYTES", 1000)
    found = summary([make.row(case, "ttfs", make.failure(case)) for case in range(50)])
    assert 0 < len(found.buckets) < 10
    assert len(found.buckets) + found.failures_unlisted == 50
