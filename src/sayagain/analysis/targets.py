"""One target in two runs, or two targets as if they were one: outcomes, success and every metric."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from sayagain.analysis.cases import GatheredRun
from sayagain.analysis.equivalence import Difference
from sayagain.analysis.metrics import Pair, Resampling, compare_metric, in_order
from sayagain.analysis.model import CaseComparison, Mode, SuccessComparison, TargetComparison
from sayagain.analysis.outcomes import Outcome
from sayagain.analysis.statistics import mcnemar_exact, wilson


def compare_target(
    target: str,
    first: GatheredRun,
    second: GatheredRun,
    cases: Sequence[CaseComparison],
    differences: Sequence[Difference],
    how: Resampling,
    *,
    mode: Mode,
    in_both: bool,
) -> TargetComparison:
    """Compare what two sides have of one target, by the name it has in their slots.

    The order of the rows changes nothing: pairs are taken by item and repeat.
    """
    slots = sorted(slot for slot in first.cases.keys() & second.cases.keys() if slot.target == target)
    pairs = [Pair(first.cases[slot], second.cases[slot], how.cluster_of(slot.item_digest)) for slot in slots]
    meanings = first.meanings.get(target, {}), second.meanings.get(target, {})
    return TargetComparison(
        target=target,
        in_both=in_both,
        outcomes=outcome_counts(cases),
        success=_compare_success(pairs, mode),
        metrics=tuple(
            compare_metric(metric, pairs, meanings, _forbidding(differences, target, metric), how)
            for metric in in_order(meanings[0].keys() | meanings[1].keys())
        ),
    )


def outcome_counts(cases: Iterable[CaseComparison]) -> Mapping[Outcome, int]:
    """Count the outcomes of cases; every outcome is there, also with 0."""
    counts = Counter(case.outcome for case in cases)
    return {outcome: counts[outcome] for outcome in Outcome}


def _forbidding(differences: Sequence[Difference], target: str, metric: str) -> list[str]:
    return [difference.key for difference in differences if difference.forbids(target, metric)]


def _compare_success(pairs: Sequence[Pair], mode: Mode) -> SuccessComparison:
    only_a = sum(pair.a.failed and not pair.b.failed for pair in pairs)
    only_b = sum(pair.b.failed and not pair.a.failed for pair in pairs)
    return SuccessComparison(
        a=wilson(sum(not pair.a.failed for pair in pairs), len(pairs)),
        b=wilson(sum(not pair.b.failed for pair in pairs), len(pairs)),
        only_a_failed=only_a,
        only_b_failed=only_b,
        p_value=None if mode is Mode.REPLAY else mcnemar_exact(only_a, only_b),
    )
