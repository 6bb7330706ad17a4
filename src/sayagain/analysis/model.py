"""What a comparison says, as records: `sayagain compare --json` prints one `Comparison`."""

from collections.abc import Mapping
from enum import StrEnum

from sayagain.analysis.equivalence import Difference
from sayagain.analysis.outcomes import Outcome
from sayagain.analysis.statistics import Estimate
from sayagain.records import CaseCounts, Failure, FailureKind, Phase, Record, RunStatus


class Mode(StrEnum):
    """What is compared: two runs, a run with a replay of its failed cases, or two targets of one run."""

    RUNS = "runs"
    REPLAY = "replay"
    TARGETS = "targets"


class Change(StrEnum):
    """What a metric's difference amounts to, seen from A."""

    BETTER = "better"
    WORSE = "worse"
    DIFFERS = "differs"
    """It differs, and this version does not know which way is better."""
    TIE = "tie"
    """The interval of the difference holds 0."""
    INSUFFICIENT = "insufficient"
    """There is too little for an interval."""


class Side(Record, frozen=True, kw_only=True):
    """One side of a comparison. `name` is a run id, or a target's key when two targets are compared.

    `cases` are those of the run as a whole; `sha256` is the digest of its artifact, where it was read from one.
    """

    name: str
    run_id: str
    started: str
    status: RunStatus
    cases: CaseCounts
    version: str
    sha256: str | None


class CaseComparison(Record, frozen=True, kw_only=True):
    """What became of one case: its id on each side, null where it is not, and its failure, null where it is ok.

    `target` is empty when two targets are compared.
    """

    outcome: Outcome
    target: str
    item_id: str
    item_digest: str
    repeat: int
    case_a: str | None
    case_b: str | None
    failed_a: bool
    failed_b: bool
    failure_a: Failure | None
    failure_b: Failure | None


class BucketComparison(Record, frozen=True, kw_only=True):
    """Failures of one cause: how many cases of each side have it, over all cases that ran."""

    fingerprint: str
    kind: FailureKind
    phase: Phase
    code: str | None
    a: int
    b: int
    example: str


class SuccessComparison(Record, frozen=True, kw_only=True):
    """Success rates over the cases that ran on both sides, as proportions, with Wilson intervals.

    `p_value` is that of the exact McNemar test on the cases that only one side failed. It is null for a replay:
    cases that were chosen because they had failed can only improve.
    """

    a: Estimate
    b: Estimate
    only_a_failed: int
    only_b_failed: int
    p_value: float | None


class FigureComparison(Record, frozen=True, kw_only=True):
    """One figure of a metric (pooled, p50, p95, mean), in its unit, on both sides; the difference is B - A."""

    name: str
    a: Estimate
    b: Estimate
    difference: Estimate


class MetricComparison(Record, frozen=True, kw_only=True):
    """One metric over the `n` cases with a value on both sides, from `clusters` independent units.

    `refused` are the keys for which its values may not be compared; there are no figures then. `version` and
    `unit` are null where the two sides disagree. `change` judges the first figure.
    """

    metric: str
    version: int | None
    unit: str | None
    n: int
    clusters: int
    refused: tuple[str, ...]
    figures: tuple[FigureComparison, ...]
    change: Change | None


class TargetComparison(Record, frozen=True, kw_only=True):
    """Outcomes, success and every metric of one target; `target` is empty when two targets are compared.

    `in_both` says whether both runs planned the target.
    """

    target: str
    in_both: bool
    outcomes: Mapping[Outcome, int]
    success: SuccessComparison
    metrics: tuple[MetricComparison, ...]


class Comparison(Record, frozen=True, kw_only=True):
    """Everything that can be said about two runs or two targets.

    `equivalent` is false when some values may not be compared, as `differences` say, or when one of the runs is a
    replay that was allowed to differ from its parent, in what `allowed` names. `cases` has every case, also those
    that are still ok. `seed` gives the same intervals again.
    """

    mode: Mode
    a: Side
    b: Side
    equivalent: bool
    differences: tuple[Difference, ...]
    allowed: tuple[str, ...]
    notes: tuple[str, ...]
    outcomes: Mapping[Outcome, int]
    targets: tuple[TargetComparison, ...]
    buckets: tuple[BucketComparison, ...]
    cases: tuple[CaseComparison, ...]
    seed: int
