"""The words and tables of a comparison, the same on a terminal and in Markdown.

Everything here is plain text that may hold what an artifact's writer wanted it to hold: whoever prints it has to
make it harmless for where it goes.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from sayagain.analysis.gating import GateResult
from sayagain.analysis.model import CaseComparison, Comparison, Mode, TargetComparison
from sayagain.analysis.outcomes import Outcome
from sayagain.analysis.statistics import Estimate
from sayagain.records import Failure, FailureKind, Phase

SHOWN_ROWS = 20
"""Buckets and changed cases in a table; `--json` has all of them."""

LABELS = {
    Outcome.FIXED: "fixed",
    Outcome.REGRESSED: "regressed",
    Outcome.SAME_FAILURE: "same failure",
    Outcome.DIFFERENT_FAILURE: "different failure",
    Outcome.STILL_OK: "still ok",
    Outcome.MISSING: "missing in B",
    Outcome.NEW: "new in B",
    Outcome.NOT_RUN: "not run",
    Outcome.NOT_REPLAYED: "not replayed",
}
TARGET_LABELS = {
    **LABELS,
    Outcome.FIXED: "only A failed",
    Outcome.REGRESSED: "only B failed",
    Outcome.SAME_FAILURE: "both failed alike",
    Outcome.DIFFERENT_FAILURE: "both failed, differently",
    Outcome.STILL_OK: "both ok",
    Outcome.MISSING: "only A has it",
    Outcome.NEW: "only B has it",
}
_DIGITS = {"ms": 0, "%": 2, "x": 3}


@dataclass(frozen=True)
class TextTable:
    """A table of plain cells; columns from `numbers` on are right-aligned, `omitted` rows are not shown."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    numbers: int
    omitted: int = 0


def headline(comparison: Comparison) -> str:
    """Say in one sentence what became of the cases."""
    counts = comparison.outcomes
    if comparison.mode is not Mode.REPLAY:
        labels = TARGET_LABELS if comparison.mode is Mode.TARGETS else LABELS
        found = [f"{counts[outcome]} {labels[outcome]}" for outcome in Outcome if counts[outcome]]
        return ", ".join(found) if found else "no case ran on either side"
    still = [
        f"{counts[outcome]} {words}"
        for outcome, words in (
            (Outcome.DIFFERENT_FAILURE, "fail differently"),
            (Outcome.NOT_RUN, "not run"),
            (Outcome.NEW, "that A had not run"),
        )
        if counts[outcome]
    ]
    asked = (Outcome.FIXED, Outcome.SAME_FAILURE, Outcome.DIFFERENT_FAILURE, Outcome.NOT_RUN)
    replayed = sum(counts[outcome] for outcome in asked)
    same = f"{counts[Outcome.SAME_FAILURE]} still fail the same way"
    return ", ".join([f"{counts[Outcome.FIXED]} of {replayed} fixed", same, *still])


def remarks(comparison: Comparison) -> Iterator[str]:
    """Yield the sentences without which the numbers would be misread."""
    if comparison.mode is Mode.REPLAY:
        yield (
            "B is a replay of A: it speaks about the cases that were replayed, which had failed, and is no new "
            f"score of the full run. {comparison.outcomes[Outcome.NOT_REPLAYED]} cases were not replayed."
        )
    refusing = [_key(one.key, one.target) for one in comparison.differences if one.refuses]
    if refusing:
        yield f"Not equivalent: {', '.join(refusing)}. The values these touch are not compared; outcomes are."
    if comparison.allowed:
        yield f"Not equivalent: a replay was allowed to differ in {', '.join(comparison.allowed)}."
    yield from comparison.notes


def tables(comparison: Comparison) -> Iterator[TextTable]:
    """Yield the tables in the order in which a reader needs them; an empty one is left out."""
    for table in (
        _sides(comparison),
        _differences(comparison),
        _buckets(comparison),
        _success(comparison),
        *(_metrics(target) for target in comparison.targets),
        _changed_cases(comparison),
    ):
        if table.rows:
            yield table


def gates_table(gates: Iterable[GateResult]) -> TextTable:
    """Return the verdict on each gate and what it found."""
    rows = tuple((gate.gate, "FAILED" if gate.tripped else "passed", "; ".join(gate.findings)) for gate in gates)
    return TextTable("Gates", ("gate", "verdict", "why"), rows, 3)


def failure_text(failure: Failure | None) -> str:
    """Return what failed, where, and what was said, in one line."""
    if failure is None:
        return ""
    return f"{_kind(failure.kind, failure.phase, failure.code)}: {failure.message}"


def label(comparison: Comparison, outcome: Outcome) -> str:
    """Return the name of an outcome in this kind of comparison."""
    return (TARGET_LABELS if comparison.mode is Mode.TARGETS else LABELS)[outcome]


def _kind(kind: FailureKind, phase: Phase, code: str | None) -> str:
    return f"{kind} in {phase} ({code})" if code else f"{kind} in {phase}"


def _key(key: str, target: str | None) -> str:
    return f"{key} of {target}" if target else key


def _sides(comparison: Comparison) -> TextTable:
    rows = tuple(
        (
            letter,
            side.name,
            side.run_id,
            side.started,
            side.status.value,
            str(side.cases.succeeded),
            str(side.cases.failed),
            str(side.cases.not_run),
        )
        for letter, side in (("A", comparison.a), ("B", comparison.b))
    )
    columns = ("", "name", "run", "started", "status", "ok", "failed", "not run")
    if comparison.mode is not Mode.TARGETS:
        return TextTable("Runs", columns[:1] + columns[2:], tuple(row[:1] + row[2:] for row in rows), 4)
    return TextTable("Targets (the cases are those of the whole run)", columns, rows, 5)


def _differences(comparison: Comparison) -> TextTable:
    rows = tuple(
        (_key(one.key, one.target), one.a, one.b, _refusal(one.refuses)) for one in comparison.differences
    )
    return TextTable("What differs", ("key", "A", "B", "consequence"), rows, 4)


def _refusal(metrics: Sequence[str]) -> str:
    if not metrics:
        return "named only"
    return "no value compared" if "*" in metrics else f"not compared: {', '.join(metrics)}"


def _buckets(comparison: Comparison) -> TextTable:
    rows = tuple(
        (
            one.fingerprint,
            _kind(one.kind, one.phase, one.code),
            one.example,
            str(one.a),
            str(one.b),
        )
        for one in comparison.buckets[:SHOWN_ROWS]
    )
    omitted = len(comparison.buckets) - len(rows)
    return TextTable("Failures by cause", ("bucket", "failure", "example", "A", "B"), rows, 3, omitted)


def _success(comparison: Comparison) -> TextTable:
    rows = tuple(
        (
            target.target or "both",
            str(target.success.a.n),
            _rate(target.success.a),
            _rate(target.success.b),
            f"{target.success.only_a_failed} / {target.success.only_b_failed}",
            "-" if target.success.p_value is None else f"{target.success.p_value:.3g}",
        )
        for target in comparison.targets
        if target.success.a.n
    )
    columns = ("target", "n", "A ok [95%]", "B ok [95%]", "only A / only B failed", "McNemar p")
    return TextTable("Success, over the cases that ran on both sides", columns, rows, 1)


def _rate(rate: Estimate) -> str:
    if rate.value is None or rate.low is None or rate.high is None:
        return "-"
    return f"{100 * rate.value:.1f}% [{100 * rate.low:.1f}, {100 * rate.high:.1f}]"


def _metrics(target: TargetComparison) -> TextTable:
    rows: list[tuple[str, ...]] = []
    for metric in target.metrics:
        name = f"{metric.metric} {metric.unit or ''}".strip()
        if metric.refused:
            reason = f"not compared: {', '.join(metric.refused)}"
            rows.append((name, "-", str(metric.n), "-", "-", "-", "-", reason))
        digits = _DIGITS.get(metric.unit or "", 3)
        for place, figure in enumerate(metric.figures):
            rows.append(
                (
                    name if place == 0 else "",
                    figure.name,
                    str(metric.n),
                    _number(figure.a.value, digits),
                    _number(figure.b.value, digits),
                    _number(figure.difference.value, digits, sign=True),
                    _interval(figure.difference, digits),
                    metric.change.value if metric.change and place == 0 else "",
                )
            )
    title = f"{target.target or 'A and B'}, over the cases with a value on both sides"
    columns = ("metric", "figure", "n", "A", "B", "B - A", "95% interval", "B is")
    return TextTable(title, columns, tuple(rows), 2)


def _number(value: float | None, digits: int, *, sign: bool = False) -> str:
    if value is None:
        return "-"
    return f"{value:+.{digits}f}" if sign else f"{value:.{digits}f}"


def _interval(estimate: Estimate, digits: int) -> str:
    if estimate.low is None or estimate.high is None:
        return "insufficient"
    return f"[{_number(estimate.low, digits, sign=True)}, {_number(estimate.high, digits, sign=True)}]"


def _changed_cases(comparison: Comparison) -> TextTable:
    changed = sorted(
        (case for case in comparison.cases if _is_remarkable(case)),
        key=lambda case: (_URGENCY[case.outcome], case.target, case.item_id, case.repeat),
    )
    rows = tuple(
        (
            label(comparison, case.outcome),
            case.target or "both",
            case.item_id,
            str(case.repeat),
            failure_text(case.failure_b or case.failure_a),
        )
        for case in changed[:SHOWN_ROWS]
    )
    columns = ("outcome", "target", "item", "repeat", "failure")
    return TextTable("Cases to look at", columns, rows, 5, len(changed) - len(rows))


_URGENCY = {
    outcome: place
    for place, outcome in enumerate(
        (
            Outcome.REGRESSED,
            Outcome.DIFFERENT_FAILURE,
            Outcome.SAME_FAILURE,
            Outcome.NEW,
            Outcome.NOT_RUN,
            Outcome.MISSING,
        )
    )
}


def _is_remarkable(case: CaseComparison) -> bool:
    return case.outcome in _URGENCY and (case.outcome is not Outcome.NEW or case.failed_b)
