"""Reading rows back: the order, one digest for each case, and memory that does not grow. On both databases."""

import random
import tracemalloc
from collections.abc import Callable
from typing import Any

import pytest

from sayagain.ledger import Ledger
from sayagain.records import Attempt

Start = Callable[..., str]


def length(text: str | None) -> tuple[str | None, int | None]:
    return None, None if text is None else len(text)


def test_rows_come_in_plan_order_then_by_the_name_of_the_metric(
    ledger: Ledger, started_run: Start, make: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sayagain.ledger.reading.CASES_PER_PAGE", 7)
    run_id = started_run(cases=100)
    positions = random.Random(5).sample(range(100), 30)
    for start in range(0, 30, 10):
        ledger.record(run_id, [make.case(position) for position in positions[start : start + 10]])

    seen = [(row.item_id, row.metric) for row in ledger.rows(run_id, length)]

    expected = [(f"item-{p}", metric) for p in sorted(positions) for metric in ("cer", "ttfs", "ttft", "wer")]
    assert seen == expected


def test_metrics_are_sorted_alike_whatever_the_database_thinks_of_case(
    ledger: Ledger, started_run: Start, make: Any
) -> None:
    import msgspec

    names = ("b", "B", "a_c", "ab", "Ä", "a")
    base = make.results()[0]
    run_id = started_run()
    ledger.record(run_id, [make.case(0, results=tuple(msgspec.structs.replace(base, metric=n) for n in names))])
    assert [row.metric for row in ledger.rows(run_id, length)] == sorted(names)


@pytest.mark.parametrize("page", [1, 2, 3, 4, 100])
def test_pages_neither_drop_nor_repeat_a_case(
    ledger: Ledger, started_run: Start, make: Any, monkeypatch: pytest.MonkeyPatch, page: int
) -> None:
    monkeypatch.setattr("sayagain.ledger.reading.CASES_PER_PAGE", page)
    monkeypatch.setattr("sayagain.ledger.reading.TRACED_CASES_PER_PAGE", page)
    run_id = started_run()
    ledger.record(run_id, [make.case(position) for position in (0, 1, 4, 9)])
    assert [row.item_id for row in ledger.rows(run_id, length) if row.metric == "wer"] == [
        "item-0",
        "item-1",
        "item-4",
        "item-9",
    ]
    assert [case.position for case in ledger.cases(run_id)] == [0, 1, 4, 9]


def test_rows_of_failed_cases_alone_are_read_when_asked(ledger: Ledger, started_run: Start, make: Any) -> None:
    run_id = started_run()
    ledger.record(run_id, [make.case(0), make.failed_case(1), make.case(2), make.failed_case(5)])
    failed = [row.item_id for row in ledger.rows(run_id, length, failed_only=True) if row.metric == "wer"]
    assert failed == ["item-1", "item-5"]


def test_rows_of_one_run_are_not_those_of_another(ledger: Ledger, started_run: Start, make: Any) -> None:
    for run_id, position in (("run-1", 0), ("run-2", 1)):
        started_run(run_id)
        ledger.record(run_id, [make.case(position)])
    assert {row.item_id for row in ledger.rows("run-2", length)} == {"item-1"}


def test_a_transcript_is_digested_once_for_each_case(ledger: Ledger, started_run: Start, make: Any) -> None:
    run_id = started_run()
    ledger.record(run_id, [make.case(0), make.failed_case(1)])
    asked: list[str | None] = []

    def digest(text: str | None) -> tuple[str | None, int | None]:
        asked.append(text)
        return (None, None) if text is None else ("digest of it", len(text))

    rows = list(ledger.rows(run_id, digest))

    assert asked == ["transcript 0", None]
    assert {(row.transcript_sha256, row.transcript_chars) for row in rows} == {("digest of it", 12), (None, None)}


def test_a_row_carries_what_its_case_carries(ledger: Ledger, started_run: Start, make: Any) -> None:
    run_id = started_run()
    scored = make.case(7)
    ledger.record(run_id, [scored])
    row = next(ledger.rows(run_id, length))
    case = scored.finished.case
    assert (row.case_id, row.target, row.item_digest) == (case.id, case.target.key, case.item.digest)
    assert (row.attempts, row.started, row.connect_ms, row.loop_lag_ms) == (
        1,
        "2025-03-01T10:00:01.000Z",
        1.5,
        0.25,
    )


def test_a_run_without_cases_has_no_rows(ledger: Ledger, started_run: Start) -> None:
    run_id = started_run()
    assert list(ledger.rows(run_id, length)) == []
    assert list(ledger.cases(run_id)) == []


def test_memory_does_not_grow_with_the_run(
    ledger: Ledger, started_run: Start, make: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sayagain.ledger.reading.CASES_PER_PAGE", 20)
    run_id = started_run(cases=400)
    words = "x" * 20_000
    for start in range(0, 400, 100):
        attempts = (Attempt(number=1, trace=make.trace(words, events=())),)
        ledger.record(run_id, [make.case(p, attempts=attempts) for p in range(start, start + 100)])

    tracemalloc.start()
    try:
        characters = sum(row.transcript_chars or 0 for row in ledger.rows(run_id, length) if row.metric == "wer")
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert characters == 8_000_000
    assert peak < 2_500_000


def test_nothing_is_held_open_between_pages(
    ledger: Ledger, started_run: Start, make: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sayagain.ledger.reading.CASES_PER_PAGE", 1)
    run_id = started_run()
    ledger.record(run_id, [make.case(0), make.case(1)])
    rows = ledger.rows(run_id, length)
    next(rows)
    ledger.record(run_id, [make.case(2)])
    assert {row.item_id for row in rows} == {"item-0", "item-1", "item-2"}
