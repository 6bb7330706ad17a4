"""The results of a run, per target, for its tables: one pass over the rows, keeping numbers and case ids only."""

from array import array
from collections.abc import Iterable, Mapping

import numpy as np

from sayagain.metrics.definitions import UNCHARGED
from sayagain.metrics.flags import is_flagged
from sayagain.records import Record, ResultRow, Status


class Distribution(Record, frozen=True, kw_only=True):
    """How one metric came out over the cases of a target, in the metric's unit.

    `n` values made the figures, which are null when there was none. `undefined` rows succeeded without a value
    and `failed` rows failed: n + undefined + failed rows were owed. Percentiles are linearly interpolated
    between order statistics (Hyndman and Fan 1996, type 7; numpy's `linear`).
    """

    unit: str
    n: int
    undefined: int
    failed: int
    mean: float | None
    p50: float | None
    p95: float | None


class ErrorRate(Record, frozen=True, kw_only=True):
    """A pooled error rate: the sum of S + D + I ÷ the sum of N over the answered cases, in percent.

    `percent_with_failures` counts a failed case as if its whole reference had been left out: `reference_failed` is
    the sum of N of those cases, which is added to D and to N. Failures for which no target is to blame (see
    `UNCHARGED`) stay out of it. Both are null when there is nothing to divide by. `insertions_without_reference`
    are those of cases with an empty reference, kept apart. Where a judge heard synthesized speech, `floor_percent`
    is its own pooled rate on human speech.
    """

    percent: float | None
    percent_with_failures: float | None
    substitutions: int
    deletions: int
    insertions: int
    reference: int
    reference_failed: int
    insertions_without_reference: int
    floor_percent: float | None = None


class TargetSummary(Record, frozen=True, kw_only=True):
    """What one target's cases came to: a case is failed when any of its rows is failed.

    `flagged` counts the values of time that were taken while the measuring loop was late; see `metrics.flags`.
    """

    target: str
    cases_succeeded: int
    cases_failed: int
    metrics: Mapping[str, Distribution]
    error_rates: Mapping[str, ErrorRate]
    flagged: int = 0

    @property
    def primary(self) -> str:
        """The error rate to judge by: `cer` where it has values that `wer` cannot have, else `wer`."""
        n = {name: self.metrics[name].n if name in self.metrics else 0 for name in ("wer", "cer")}
        return "cer" if n["cer"] > n["wer"] else "wer"


def aggregate(rows: Iterable[ResultRow]) -> tuple[TargetSummary, ...]:
    """Summarize the rows of a run, in any order, per target; targets and metrics in order of first appearance."""
    targets: dict[str, _TargetTally] = {}
    for row in rows:
        tally = targets.get(row.target)
        if tally is None:
            tally = targets[row.target] = _TargetTally()
        tally.add(row)
    return tuple(tally.summary(target) for target, tally in targets.items())


class _TargetTally:
    """What has been seen of one target."""

    def __init__(self) -> None:
        self.cases: set[str] = set()
        self.failed_cases: set[str] = set()
        self.flagged = 0
        self.metrics: dict[str, _MetricTally] = {}

    def add(self, row: ResultRow) -> None:
        self.cases.add(row.case_id)
        if row.status is Status.FAILED:
            self.failed_cases.add(row.case_id)
        self.flagged += is_flagged(row)
        metric = self.metrics.get(row.metric)
        if metric is None:
            metric = self.metrics[row.metric] = _MetricTally(row.unit)
        metric.add(row)

    def summary(self, target: str) -> TargetSummary:
        return TargetSummary(
            target=target,
            cases_succeeded=len(self.cases) - len(self.failed_cases),
            cases_failed=len(self.failed_cases),
            metrics={name: metric.distribution() for name, metric in self.metrics.items()},
            error_rates={
                name: metric.errors.error_rate() for name, metric in self.metrics.items() if metric.errors.seen
            },
            flagged=self.flagged,
        )


class _MetricTally:
    """The values and counts of one metric of one target."""

    def __init__(self, unit: str) -> None:
        self.unit = unit
        self.values = array("d")
        self.undefined = 0
        self.failed = 0
        self.errors = _ErrorTally()

    def add(self, row: ResultRow) -> None:
        if row.status is Status.FAILED:
            self.failed += 1
            self.errors.add_failed(row)
            return
        if row.value is None:
            self.undefined += 1
        else:
            self.values.append(row.value)
        if row.detail is not None and "N" in row.detail:
            self.errors.add(row.detail)

    def distribution(self) -> Distribution:
        mean = p50 = p95 = None
        if self.values:
            values = np.frombuffer(self.values, dtype=np.float64)
            mean = float(values.mean())
            p50, p95 = (float(value) for value in np.percentile(values, [50, 95], method="linear"))
        return Distribution(
            unit=self.unit,
            n=len(self.values),
            undefined=self.undefined,
            failed=self.failed,
            mean=mean,
            p50=p50,
            p95=p95,
        )


class _ErrorTally:
    """Sums of S, D, I and N."""

    def __init__(self) -> None:
        self.seen = False
        self.substitutions = self.deletions = self.insertions = self.reference = 0
        self.insertions_without_reference = self.reference_failed = 0
        self.floor: tuple[int, int] = (0, 0)

    def add(self, detail: Mapping[str, float]) -> None:
        self.seen = True
        self.floor = (int(detail.get("floor_errors", 0)), int(detail.get("floor_words", 0)))
        if not detail["N"]:
            self.insertions_without_reference += int(detail["I"])
            return
        self.substitutions += int(detail["S"])
        self.deletions += int(detail["D"])
        self.insertions += int(detail["I"])
        self.reference += int(detail["N"])

    def add_failed(self, row: ResultRow) -> None:
        if row.detail is None or "N" not in row.detail:
            return
        self.seen = True
        if row.failure is not None and row.failure.kind not in UNCHARGED:
            self.reference_failed += int(row.detail["N"])

    def error_rate(self) -> ErrorRate:
        errors = self.substitutions + self.deletions + self.insertions
        return ErrorRate(
            percent=_percent(errors, self.reference),
            percent_with_failures=_percent(errors + self.reference_failed, self.reference + self.reference_failed),
            substitutions=self.substitutions,
            deletions=self.deletions,
            insertions=self.insertions,
            reference=self.reference,
            reference_failed=self.reference_failed,
            insertions_without_reference=self.insertions_without_reference,
            floor_percent=_percent(*self.floor),
        )


def _percent(errors: int, reference: int) -> float | None:
    return 100 * errors / reference if reference else None
