"""Gates: the grammar, its errors, and when one trips and by how much."""

import re
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sayagain.analysis.comparison import compare_runs, compare_targets
from sayagain.analysis.gates import GRAMMAR, UNITS, Limit, Rule, parse_gate, percentiles_of
from sayagain.analysis.gating import check_gates
from sayagain.analysis.model import Comparison
from sayagain.errors import UsageError
from support.comparisons import LOST, OTHER, STT, TIMEOUT, case, header, run, target


@pytest.mark.parametrize(
    ("text", "gate"),
    [
        ("regression", Rule.REGRESSION),
        (" new-failure ", Rule.NEW_FAILURE),
        ("wer:+0.5pp", Limit("wer", "+", Decimal("0.5"), "pp")),
        ("ttfs.p95:+10%", Limit("ttfs", "+", Decimal(10), "%", figure="p95")),
        ("ttfa.p50:+50ms", Limit("ttfa", "+", Decimal(50), "ms", figure="p50")),
        ("ttfs.p99.9:+1s", Limit("ttfs", "+", Decimal(1), "s", figure="p99.9")),
        ("rtfx.mean:-1x", Limit("rtfx", "-", Decimal(1), "x", figure="mean")),
        ("success:-1pp", Limit("success", "-", Decimal(1), "pp")),
        ("stt:moonshine/tiny-en wer:+1pp", Limit("wer", "+", Decimal(1), "pp", target=STT)),
        ("stt:* wer.pooled:+1pp", Limit("wer", "+", Decimal(1), "pp", target="stt:*", figure="pooled")),
        ("stt:my server/large wer:+1pp", Limit("wer", "+", Decimal(1), "pp", target="stt:my server/large")),
    ],
)
def test_a_gate_means_what_the_grammar_says(text: str, gate: Rule | Limit) -> None:
    assert parse_gate(text) == gate


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "neither a rule nor a limit"),
        ("wer", "neither a rule nor a limit"),
        ("regressions", "neither a rule nor a limit"),
        (":+1pp", "the metric is missing"),
        ("WER:+1pp", "'WER' is no name of a metric"),
        ("wer:0.5pp", "'0.5pp' is no limit: it begins with + or - and a number"),
        ("wer:+pp", "is no limit"),
        ("wer:+1e3pp", "'e3pp' is no unit"),
        ("wer:+0.5", "the unit is missing"),
        ("wer:+0.5 pp", "' pp' is no unit"),
        ("wer:+1 ﹪", "is no unit"),
        ("wer:+\u0661pp", "is no limit"),
        ("wer.:+1pp", "the figure after the dot is missing"),
        ("wer.p0:+1pp", "'p0' is no figure"),
        ("wer.p100:+1pp", "'p100' is no figure"),
        ("wer.median:+1pp", "'median' is no figure"),
        ("success:-1%", "its limit is in pp"),
        ("success.p50:-1pp", "a success rate has no other figure"),
    ],
)
def test_a_gate_that_says_nothing_is_refused_with_what_is_wrong_and_the_grammar(text: str, problem: str) -> None:
    with pytest.raises(UsageError, match=re.escape(problem)) as refusal:
        parse_gate(text)
    assert GRAMMAR in str(refusal.value)
    assert "\n" not in str(refusal.value)


figures = st.none() | st.sampled_from(["pooled", "mean", "p50", "p95", "p99.9", "p2.5"])
amounts = st.decimals(0, 10**8, allow_nan=False, places=3)
names = st.from_regex(r"[a-z][a-z0-9_]{0,12}", fullmatch=True).filter(lambda name: name != "success")
targets = st.none() | st.from_regex(r"(stt|tts):[a-z*][a-z0-9/.:* -]{0,20}[a-z0-9*]", fullmatch=True)


@given(names, st.sampled_from("+-"), amounts, st.sampled_from(UNITS), targets, figures)
def test_a_gate_that_is_written_down_reads_back_as_itself(
    metric: str, sign: str, amount: Decimal, unit: str, target: str | None, figure: str | None
) -> None:
    gate = Limit(metric, sign, amount, unit, target=target, figure=figure)
    assert parse_gate(str(gate)) == gate


@given(st.text(max_size=40) | st.text("stwerp+-0159.:%msx* ", max_size=20))
def test_any_text_is_a_gate_or_is_refused_in_one_line(text: str) -> None:
    try:
        gate = parse_gate(text)
    except UsageError as error:
        said = str(error)
    else:
        said = str(gate)
        assert parse_gate(said) == gate
    assert said.isprintable()


def test_percentiles_that_limits_ask_for_are_computed() -> None:
    gates = [
        parse_gate(text) for text in ("ttfs.p90:+1%", "wer.mean:+1pp", "regression", "wer:+1pp", "ttfs.p99.5:+1s")
    ]
    assert percentiles_of(gates) == (90.0, 99.5)


def findings(comparison: Comparison, *gates: str) -> list[tuple[str, ...]]:
    results = check_gates([parse_gate(gate) for gate in gates], comparison)
    assert all(result.tripped == bool(result.findings) for result in results)
    return [result.findings for result in results]


def compared(a_errors: int = 10, b_errors: int = 12, *, ttfs: tuple[float, float] = (200.0, 250.0)) -> Comparison:
    a = [case(f"i{n:02}", {"ttfs": ttfs[0]}, errors=a_errors if n == 0 else 0, words=20) for n in range(10)]
    b = [case(f"i{n:02}", {"ttfs": ttfs[1]}, errors=b_errors if n == 0 else 0, words=20) for n in range(10)]
    return compare_runs(run(a), run(b, header("run-b")))


def test_a_limit_trips_beyond_itself_and_not_at_it() -> None:
    at, beyond = findings(compared(), "wer:+1pp", "wer:+0.9pp")
    assert at == ()
    assert beyond == (
        "stt:moonshine/tiny-en wer pooled rose by 1, from 5 to 6 % (n=10, 95% interval 0 to 3); +0.9pp is allowed",
    )


def test_a_limit_looks_in_one_direction_only() -> None:
    better = compared(12, 10)
    assert findings(better, "wer:+0pp", "wer:-5pp") == [(), ()]
    (fell,) = findings(better, "wer:-0.5pp")
    assert "wer pooled fell by 1, from 6 to 5 %" in fell[0]


def test_limits_are_relative_to_a_or_in_units_that_fit_the_metric() -> None:
    gates = (
        "ttfs:+25%",
        "ttfs:+24.9%",
        "ttfs.p50:+50ms",
        "ttfs.p50:+49ms",
        "ttfs.mean:+0.05s",
        "ttfs.mean:+0.049s",
    )
    assert [bool(found) for found in findings(compared(), *gates)] == [False, True, False, True, False, True]


def test_a_share_of_something_that_is_not_above_zero_cannot_be_decided() -> None:
    (found,) = findings(compared(ttfs=(-20.0, 50.0)), "ttfs:+10%")
    assert found == ("stt:moonshine/tiny-en ttfs p50 cannot be decided: a share of A's figure needs one above 0",)


def test_too_few_cases_for_an_interval_are_said_beside_the_movement() -> None:
    few = compare_runs(run([case("a", {"ttfs": 1.0})]), run([case("a", {"ttfs": 9.0})], header("run-b")))
    assert "(n=1, too few for an interval)" in findings(few, "ttfs:+1ms")[0][0]


def test_a_regression_trips_its_gate_and_names_the_cases() -> None:
    a, b = [case("one"), case("two")], [case("one", failure=LOST), case("two")]
    broken = compare_runs(run(a), run(b, header("run-b")))
    regression, new_failure, success, half = findings(
        broken, "regression", "new-failure", "success:-49pp", "success:-50pp"
    )
    assert regression == ("succeeded in A and failed in B: 1 (stt:moonshine/tiny-en one)",)
    assert "failures of a cause that A has not: 1 (connection_lost in send, bucket " in new_failure[0]
    assert "success rate fell by 50, from 100 to 50 %" in success[0]
    assert half == ()


def test_failures_of_a_cause_that_a_has_too_are_no_new_failure() -> None:
    a, b = [case("one", failure=LOST), case("two")], [case("one"), case("two", failure=LOST)]
    assert findings(compare_runs(run(a), run(b, header("run-b"))), "new-failure") == [()]


def test_a_gate_without_anything_to_decide_on_trips() -> None:
    nothing = compare_runs(run([case("one")]), run([], header("run-b"), not_run=1))
    for found in findings(nothing, "regression", "new-failure", "wer:+1pp", "success:-1pp"):
        assert "cannot be decided" in found[0]


def test_values_that_may_not_be_compared_trip_a_gate_on_them() -> None:
    renormalized = compare_runs(run([case("one")]), run([case("one")], header("run-b", normalizer="other/1")))
    wer, ttfs = findings(renormalized, "wer:+1pp", "ttfs:+1%")
    assert wer == ("stt:moonshine/tiny-en wer cannot be decided: not equivalent (normalizer)",)
    assert ttfs == ()


def test_a_metric_that_only_failures_are_left_of_trips_its_gate() -> None:
    failing = compare_runs(run([case("one")]), run([case("one", failure=TIMEOUT)], header("run-b")))
    assert "cannot be decided: no case has a value on both sides" in findings(failing, "wer:+1pp")[0][0]


def test_a_gate_concerns_the_targets_it_names() -> None:
    both = [target(), target(OTHER)]
    a = [case("one", {"ttfs": 100.0}), case("one", {"ttfs": 100.0}, key=OTHER)]
    b = [case("one", {"ttfs": 100.0}), case("one", {"ttfs": 200.0}, key=OTHER)]
    two = compare_runs(run(a, header(targets=both)), run(b, header("run-b", both)))
    gates = ("ttfs:+1%", "stt:moonshine/* ttfs:+1%", "pocketsphinx/* ttfs:+1%", "stt:* ttfs:+1%")
    assert [bool(found) for found in findings(two, *gates)] == [True, False, True, True]


def test_a_target_that_only_one_run_planned_is_no_concern_unless_it_is_named() -> None:
    both = [target(), target(OTHER)]
    more = compare_runs(
        run([case("one"), case("one", key=OTHER)], header(targets=both)), run([case("one")], header("run-b"))
    )
    assert findings(more, "ttfs:+1%") == [()]
    assert "cannot be decided" in findings(more, f"{OTHER} ttfs:+1%")[0][0]


@pytest.mark.parametrize(
    ("gate", "problem"),
    [
        ("stt:nobody/* wer:+1pp", "no target has this name; there are 'stt:moonshine/tiny-en'"),
        ("werr:+1pp", "there is no metric of this name; there are success,"),
        ("wer:+1ms", "wer takes a limit in pp or %"),
        ("ttfs:+1pp", "ttfs takes a limit in ms or s or %"),
        ("ttfs.pooled:+1ms", "ttfs has no figure of this name; it has p50, p95, mean"),
    ],
)
def test_a_gate_that_the_comparison_cannot_have_is_a_wrong_usage(gate: str, problem: str) -> None:
    with pytest.raises(UsageError, match=re.escape(problem)):
        findings(compared(), gate)


def test_gates_work_between_two_targets_but_cannot_name_one() -> None:
    rows = [case("one", {"ttfs": 100.0}), case("one", {"ttfs": 150.0}, key=OTHER)]
    two = compare_targets(run(rows, header(targets=[target(), target(OTHER)])), STT, OTHER)
    assert findings(two, "ttfs:+49ms")[0][0].startswith("ttfs p50 rose by 50")
    with pytest.raises(UsageError, match="two targets are compared, so the gate cannot name one"):
        findings(two, "stt:* ttfs:+49ms")
