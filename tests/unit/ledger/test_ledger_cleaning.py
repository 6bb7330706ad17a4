"""No value that a provider can send costs a case: what cannot be stored is replaced as documented."""

import itertools
import math
import sys
from collections.abc import Callable
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sayagain.ledger import Ledger
from sayagain.ledger.cleaning import clean_json, clean_text
from sayagain.records import Attempt, Connection, Event, EventKind, Result, Status

Start = Callable[..., str]

texts = st.text(st.characters(), max_size=40) | st.text(st.sampled_from("a\x00\ud800\udfff\\u0\U0001f600\n"))
numbers = st.floats(allow_nan=True, allow_infinity=True)
run_numbers = itertools.count()


def nothing(text: str | None) -> tuple[str | None, int | None]:
    return text, None


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(said=texts, code=texts, value=numbers, lag=numbers, connect=numbers, parts=st.dictionaries(texts, numbers))
def test_a_case_survives_whatever_a_provider_says(
    ledger: Ledger,
    make: Any,
    started_run: Start,
    said: str,
    code: str,
    value: float,
    lag: float,
    connect: float,
    parts: dict[str, float],
) -> None:
    run_id = started_run(f"run-{next(run_numbers)}")
    failure = make.failure(said, code=code)
    trace = make.trace(
        said,
        events=(Event(1, EventKind.PARTIAL, text=said), Event(2, EventKind.ERROR, code=code)),
        connection=Connection(total_ms=connect, dns_ms=lag),
        loop_lag_ms=lag,
    )
    result = Result(metric="wer", version=1, unit="%", status=Status.SUCCEEDED, value=value, detail=parts)
    attempts = (Attempt(number=1, trace=trace, failure=failure), Attempt(number=2, trace=trace))

    ledger.record(run_id, [make.case(0, attempts=attempts, results=(result,))])

    (case,) = ledger.cases(run_id)
    (row,) = ledger.rows(run_id, nothing)
    clean = clean_text(said)
    assert case.transcript == row.transcript_sha256 == clean
    assert [attempt.trace.transcript for attempt in case.attempts] == [clean, clean]
    assert case.attempts[0].failure == msgspec.structs.replace(failure, message=clean, code=clean_text(code))
    assert case.attempts[0].trace.events == (
        Event(1, EventKind.PARTIAL, text=clean),
        Event(2, EventKind.ERROR, code=clean_text(code)),
    )
    assert row.value == (value if math.isfinite(value) else None)
    assert (row.reason is None) == math.isfinite(value)
    assert row.loop_lag_ms == (lag if math.isfinite(lag) else sys.float_info.max)
    assert row.connect_ms == (connect if math.isfinite(connect) else None)
    assert row.detail == {clean_text(name): part for name, part in parts.items() if math.isfinite(part)}


@given(text=texts)
def test_a_clean_text_can_be_stored_and_cleaning_it_again_changes_nothing(text: str) -> None:
    clean = clean_text(text)
    assert "\0" not in clean
    assert clean.encode().decode() == clean_text(clean)
    assert len(clean) == len(text)


@given(text=st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"])))
def test_a_text_that_can_be_stored_stays_as_it_is(text: str) -> None:
    assert clean_text(text) == text


def test_a_literal_backslash_u0000_is_not_taken_for_a_nul() -> None:
    assert msgspec.json.decode(clean_json({"text": "\\u0000"})) == {"text": "\\u0000"}


def test_json_inside_a_trace_never_carries_a_nul() -> None:
    assert msgspec.json.decode(clean_json({"a\0": ["b\0", {"c": "\ud800"}]})) == {
        "a\N{REPLACEMENT CHARACTER}": [
            "b\N{REPLACEMENT CHARACTER}",
            {"c": "\N{REPLACEMENT CHARACTER}"},
        ]
    }


@pytest.mark.parametrize(("value", "said"), [(math.nan, "nan"), (math.inf, "inf"), (-math.inf, "-inf")])
def test_a_value_that_is_not_finite_is_null_with_the_reason(
    ledger: Ledger, make: Any, started_run: Start, value: float, said: str
) -> None:
    run_id = started_run()
    result = Result(metric="rtf", version=1, unit="x", status=Status.SUCCEEDED, value=value)
    ledger.record(run_id, [make.case(0, results=(result,))])
    (row,) = ledger.rows(run_id, nothing)
    assert (row.value, row.reason) == (None, f"the value was not finite: {said}")


def test_a_header_with_unstorable_text_is_kept(ledger: Ledger, make: Any) -> None:
    from sayagain.ledger import Owner

    ledger.insert_run(make.header(scheduled="nightly\0\ud800"), Owner.current())
    assert ledger.header("run-1").scheduled == "nightly\N{REPLACEMENT CHARACTER}\N{REPLACEMENT CHARACTER}"


def test_a_reason_with_unstorable_text_is_kept(ledger: Ledger, make: Any, started_run: Start) -> None:
    from sayagain.records import RunStatus

    run_id = started_run()
    ledger.finalize(run_id, RunStatus.FAILED, "because\0")
    assert ledger.run(run_id).reason == "because\N{REPLACEMENT CHARACTER}"
