"""Two runs, or two targets of one run, held against each other.

Values are compared only where both sides have one: a failure is never a number, so it changes an outcome and a
success rate, and never a latency or an error rate.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

from sayagain.analysis.cases import Cases, GatheredCase, Run, Slot, gather
from sayagain.analysis.equivalence import run_differences, settings_differences
from sayagain.analysis.metrics import Resampling
from sayagain.analysis.model import BucketComparison, CaseComparison, Comparison, Mode, Side
from sayagain.analysis.notes import notes, nothing_in_common
from sayagain.analysis.outcomes import Absence, Outcome, of_both, replays
from sayagain.analysis.statistics import SEED
from sayagain.analysis.targets import compare_target, outcome_counts
from sayagain.errors import MismatchError, UsageError
from sayagain.records import Failure, TargetInfo

PERCENTILES = (50.0, 95.0)
"""Those that every comparison gives."""


def compare_runs(
    a: Run,
    b: Run,
    *,
    clusters: Mapping[str, str] | None = None,
    percentiles: Sequence[float] = PERCENTILES,
    seed: int = SEED,
) -> Comparison:
    """Compare run A, before, with run B, after.

    Args:
        a: The run that B is held against.
        b: The other run; when it is a replay of A, the comparison speaks about the replayed cases only.
        clusters: The speaker or recording of an item by the item's digest; an item without is its own cluster.
        percentiles: The percentiles wanted of each metric.
        seed: Seed of the bootstrap.

    Raises:
        MismatchError: Both runs have cases and none in common.
    """
    first, second = gather(a.rows), gather(b.rows)
    mode = Mode.REPLAY if replays(b.header, a.header) else Mode.RUNS
    cases = tuple(_compare_cases(first.cases, second.cases, a, b, mode))
    differences = run_differences(a.header, b.header)
    allowed = tuple(sorted({*a.header.allowed_differences, *b.header.allowed_differences}))
    planned = [[target.key for target in run.header.targets] for run in (a, b)]
    keys = dict.fromkeys([*planned[0], *planned[1], *(case.target for case in cases)])
    common = set(planned[0]) & set(planned[1])
    how = Resampling(clusters or {}, tuple(percentiles), seed)
    return Comparison(
        mode=mode,
        a=_side(a, a.header.run_id),
        b=_side(b, b.header.run_id),
        equivalent=not allowed and not any(difference.refuses for difference in differences),
        differences=differences,
        allowed=allowed,
        notes=tuple(notes(a, b, first.cases, second.cases, cases)),
        outcomes=outcome_counts(cases),
        targets=tuple(
            compare_target(key, first, second, of_key, differences, how, mode=mode, in_both=key in common)
            for key in keys
            if (of_key := [case for case in cases if case.target == key]) or key in common
        ),
        buckets=_compare_buckets(first.cases, second.cases),
        cases=cases,
        seed=seed,
    )


def compare_targets(
    run: Run,
    target_a: str,
    target_b: str,
    *,
    clusters: Mapping[str, str] | None = None,
    percentiles: Sequence[float] = PERCENTILES,
    seed: int = SEED,
) -> Comparison:
    """Compare two targets of one run item by item; `target_b` is held against `target_a`.

    The other arguments are those of `compare_runs`.

    Raises:
        UsageError: The run has no such target, the two are one, or they are of different benchmarks.
        MismatchError: They have no item in common.
    """
    info_a, info_b = (_target_info(run, key) for key in (target_a, target_b))
    if info_a.key == info_b.key or info_a.benchmark is not info_b.benchmark:
        raise UsageError(f"name two targets of one benchmark: {info_a.key!a} and {info_b.key!a} are not that")
    gathered = gather(run.rows)
    first, second = (gathered.of_target(info.key, renamed="") for info in (info_a, info_b))
    cases = tuple(_compare_cases(first.cases, second.cases, run, run, Mode.TARGETS))
    how = Resampling(clusters or {}, tuple(percentiles), seed)
    compared = compare_target("", first, second, cases, (), how, mode=Mode.TARGETS, in_both=True)
    return Comparison(
        mode=Mode.TARGETS,
        a=_side(run, info_a.key),
        b=_side(run, info_b.key),
        equivalent=True,
        differences=tuple(settings_differences(info_a, info_b)),
        allowed=(),
        notes=(),
        outcomes=outcome_counts(cases),
        targets=(compared,),
        buckets=_compare_buckets(first.cases, second.cases),
        cases=cases,
        seed=seed,
    )


def _target_info(run: Run, key: str) -> TargetInfo:
    """Find a target by its key, or by its key without the benchmark where that is enough."""
    targets = run.header.targets
    found = [target for target in targets if key in (target.key, target.key.partition(":")[2])]
    if len(found) != 1:
        known = ", ".join(f"{target.key!a}" for target in targets)
        raise UsageError(f"there is {'no' if not found else 'more than one'} target {key!a}; the run has {known}")
    return found[0]


def _compare_cases(first: Cases, second: Cases, a: Run, b: Run, mode: Mode) -> Iterator[CaseComparison]:
    if first and second and not first.keys() & second.keys():
        raise MismatchError(nothing_in_common(a.header, b.header))
    only_in_a = Absence(a, first, b, Outcome.MISSING)
    only_in_b = Absence(b, second, a, Outcome.NEW)
    for slot, case in first.items():
        other = second.get(slot)
        if other is None:
            yield _compared(slot, only_in_a.of(case), case, None)
        else:
            yield _compared(slot, of_both(case, other, across_targets=mode is Mode.TARGETS), case, other)
    for slot, case in second.items():
        if slot not in first:
            yield _compared(slot, only_in_b.of(case), None, case)


def _compared(slot: Slot, outcome: Outcome, a: GatheredCase | None, b: GatheredCase | None) -> CaseComparison:
    return CaseComparison(
        outcome=outcome,
        target=slot.target,
        item_id=slot.item_id,
        item_digest=slot.item_digest,
        repeat=slot.repeat,
        case_a=a.case_id if a else None,
        case_b=b.case_id if b else None,
        failed_a=bool(a and a.failed),
        failed_b=bool(b and b.failed),
        failure_a=a.failure if a else None,
        failure_b=b.failure if b else None,
    )


def _compare_buckets(first: Cases, second: Cases) -> tuple[BucketComparison, ...]:
    """Return every cause of failure on either side, the largest first, ties by fingerprint."""
    examples: dict[str, Failure] = {}
    counts = [_count_failures(cases.values(), examples) for cases in (first, second)]
    order = sorted(examples, key=lambda key: (-max(count[key] for count in counts), key))
    return tuple(
        BucketComparison(
            fingerprint=key,
            kind=examples[key].kind,
            phase=examples[key].phase,
            code=examples[key].code,
            a=counts[0][key],
            b=counts[1][key],
            example=examples[key].message,
        )
        for key in order
    )


def _count_failures(cases: Iterable[GatheredCase], examples: dict[str, Failure]) -> Counter[str]:
    count: Counter[str] = Counter()
    for case in cases:
        for key, failure in case.failures.items():
            examples.setdefault(key, failure)
            count[key] += 1
    return count


def _side(run: Run, name: str) -> Side:
    return Side(
        name=name,
        run_id=run.header.run_id,
        started=run.header.started,
        status=run.status,
        cases=run.counts,
        version=run.header.runner.version,
        sha256=run.sha256,
    )
