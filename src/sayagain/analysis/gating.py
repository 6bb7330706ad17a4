"""Whether a comparison passes the gates it was asked to pass, and by how much it does not.

A gate that cannot be decided trips: what was not checked must not look as if it had been.
"""

from collections.abc import Iterable, Iterator

from sayagain.analysis.gates import SUCCESS, Gate, Limit, Rule
from sayagain.analysis.model import Comparison, FigureComparison, MetricComparison, Mode, TargetComparison
from sayagain.analysis.outcomes import Outcome
from sayagain.analysis.statistics import Estimate
from sayagain.errors import UsageError
from sayagain.metrics import METRICS
from sayagain.records import Record

_ABSOLUTE = {"pp": ("%", 1), "ms": ("ms", 1), "s": ("ms", 1000), "x": ("x", 1)}
"""The unit of a metric that a unit of a limit is for, and how many of it one is."""

_ROUNDING = 1e-9
"""What the arithmetic of doubles may add to a difference that is exactly at the limit."""

_BOTH = (Outcome.FIXED, Outcome.REGRESSED, Outcome.SAME_FAILURE, Outcome.DIFFERENT_FAILURE, Outcome.STILL_OK)
_NAMED = 5


class GateResult(Record, frozen=True, kw_only=True):
    """What became of one gate: `findings` say by how much it tripped or why it could not be decided."""

    gate: str
    tripped: bool
    findings: tuple[str, ...]


def check_gates(gates: Iterable[Gate], comparison: Comparison) -> tuple[GateResult, ...]:
    """Hold a comparison against gates.

    Raises:
        UsageError: A limit names a target, metric, figure or unit that the comparison cannot have.
    """
    return tuple(_check(gate, comparison) for gate in gates)


def _check(gate: Gate, comparison: Comparison) -> GateResult:
    findings = tuple(_over_limit(gate, comparison) if isinstance(gate, Limit) else _broken_rule(gate, comparison))
    return GateResult(gate=str(gate), tripped=bool(findings), findings=findings)


def _broken_rule(rule: Rule, comparison: Comparison) -> Iterator[str]:
    if not any(comparison.outcomes[outcome] for outcome in _BOTH):
        yield "cannot be decided: no case ran on both sides"
    elif rule is Rule.REGRESSION:
        broken = [case for case in comparison.cases if case.outcome is Outcome.REGRESSED]
        names = [" ".join(part for part in (case.target, case.item_id) if part) for case in broken]
        if broken:
            yield f"succeeded in A and failed in B: {len(broken)} ({_listed(names)})"
    else:
        new = [bucket for bucket in comparison.buckets if bucket.b and not bucket.a]
        names = [f"{bucket.kind} in {bucket.phase}, bucket {bucket.fingerprint}" for bucket in new]
        if new:
            yield f"failures of a cause that A has not: {sum(bucket.b for bucket in new)} ({_listed(names)})"


def _listed(names: list[str]) -> str:
    return ", ".join(names[:_NAMED]) + (", ..." if len(names) > _NAMED else "")


def _over_limit(limit: Limit, comparison: Comparison) -> Iterator[str]:
    """Yield a finding for each concerned target that is over the limit or cannot be decided.

    A target that only one side planned is not concerned; a metric that a target does not owe neither.
    """
    decided = False
    for target in _concerned(limit, comparison):
        metric = _success(target) if limit.metric == SUCCESS else _metric(limit.metric, target)
        if metric is None:
            continue
        decided = True
        finding = _judge(limit, metric)
        if finding:
            yield " ".join(part for part in (target.target, limit.metric, finding) if part)
    if not decided:
        yield f"{limit.metric} cannot be decided: no target of both sides has it"


def _concerned(limit: Limit, comparison: Comparison) -> list[TargetComparison]:
    if comparison.mode is Mode.TARGETS and limit.target is not None:
        raise UsageError(f"--fail-on {str(limit)!a}: two targets are compared, so the gate cannot name one")
    matching = [target for target in comparison.targets if limit.matches(target.target)]
    if comparison.targets and not matching:
        known = ", ".join(f"{target.target!a}" for target in comparison.targets)
        raise UsageError(f"--fail-on {str(limit)!a}: no target has this name; there are {known}")
    names = {metric.metric for target in comparison.targets for metric in target.metrics}
    if limit.metric not in {SUCCESS, *METRICS, *names}:
        known = ", ".join([SUCCESS, *sorted({*METRICS, *names})])
        raise UsageError(f"--fail-on {str(limit)!a}: there is no metric of this name; there are {known}")
    return [target for target in matching if target.in_both]


def _metric(name: str, target: TargetComparison) -> MetricComparison | None:
    return next((metric for metric in target.metrics if metric.metric == name), None)


def _success(target: TargetComparison) -> MetricComparison:
    """Return the success rate in the form of a metric, in percent."""
    a, b = (_percent(rate) for rate in (target.success.a, target.success.b))
    change = None if a.value is None or b.value is None else b.value - a.value
    difference = Estimate(value=change, n=a.n, clusters=a.clusters)
    return MetricComparison(
        metric=SUCCESS,
        version=None,
        unit="%",
        n=a.n,
        clusters=a.clusters,
        refused=(),
        figures=(FigureComparison(name="rate", a=a, b=b, difference=difference),) if a.n else (),
        change=None,
    )


def _percent(rate: Estimate) -> Estimate:
    return Estimate(value=None if rate.value is None else 100 * rate.value, n=rate.n, clusters=rate.clusters)


def _judge(limit: Limit, metric: MetricComparison) -> str | None:
    """Say by how much a metric is over the limit, or why that cannot be decided; None when it is not."""
    if metric.refused:
        return f"cannot be decided: not equivalent ({', '.join(metric.refused)})"
    if not metric.figures:
        return "cannot be decided: no case has a value on both sides"
    figure = _figure(limit, metric)
    allowed = _allowed(limit, metric, figure)
    moved = figure.difference.value
    if allowed is None or moved is None:
        return f"{figure.name} cannot be decided: a share of A's figure needs one above 0"
    if (moved if limit.sign == "+" else -moved) <= allowed + _ROUNDING * max(1.0, allowed):
        return None
    return f"{figure.name} {_movement(figure, metric.unit)}; {limit.sign}{limit.amount:f}{limit.unit} is allowed"


def _figure(limit: Limit, metric: MetricComparison) -> FigureComparison:
    if limit.figure is None:
        return metric.figures[0]
    for figure in metric.figures:
        if figure.name == limit.figure:
            return figure
    known = ", ".join(figure.name for figure in metric.figures)
    raise UsageError(f"--fail-on {str(limit)!a}: {metric.metric} has no figure of this name; it has {known}")


def _allowed(limit: Limit, metric: MetricComparison, figure: FigureComparison) -> float | None:
    """Return the limit in the metric's unit; None when it is relative to something that is not above 0."""
    if limit.unit == "%":
        base = figure.a.value
        return base * float(limit.amount) / 100 if base is not None and base > 0 else None
    unit, scale = _ABSOLUTE[limit.unit]
    if unit != metric.unit:
        fitting = [name for name, (of, _) in _ABSOLUTE.items() if of == metric.unit]
        units = " or ".join([*fitting, "%"])
        raise UsageError(f"--fail-on {str(limit)!a}: {metric.metric} takes a limit in {units}")
    return float(limit.amount) * scale


def _movement(figure: FigureComparison, unit: str | None) -> str:
    difference, change = figure.difference, figure.difference.value or 0.0
    between = f"from {_shown(figure.a.value)} to {_shown(figure.b.value)} {unit or ''}".rstrip()
    interval = (
        f" (n={difference.n}, 95% interval {_shown(difference.low)} to {_shown(difference.high)})"
        if difference.low is not None
        else f" (n={difference.n}{', too few for an interval' if difference.insufficient else ''})"
    )
    return f"{'rose' if change > 0 else 'fell'} by {_shown(abs(change))}, {between}{interval}"


def _shown(value: float | None) -> str:
    return "-" if value is None else f"{value:.4g}"
