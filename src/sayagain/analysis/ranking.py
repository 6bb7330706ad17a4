"""Ranks with ties: a target stands behind those that are better beyond doubt, and ties with the rest.

Two targets are compared over the items that both have a value for, by the 95% interval of the paired difference
of the metric's first figure (the pooled rate of an error rate, the median of anything else). When it holds 0
they tie. The rank of a target is 1 + the number of targets that are better; being tied is not transitive, so a
target may tie with two that do not tie with each other. Nothing corrects for the number of comparisons.
"""

from collections.abc import Mapping, Sequence
from itertools import combinations

from sayagain.analysis.cases import Cases, GatheredRun, Slot
from sayagain.analysis.metrics import Pair, Resampling, compare_metric
from sayagain.analysis.model import Change
from sayagain.records import Record


class Rank(Record, frozen=True, kw_only=True):
    """The place of a target, from 1, and the ranked targets it cannot be told apart from."""

    rank: int
    ties: tuple[str, ...]


def rank(metric: str, run: GatheredRun, targets: Sequence[str], how: Resampling) -> Mapping[str, Rank]:
    """Rank targets by a metric; each must have enough independent units for an interval of its own."""
    by_target = {target: _by_item(target, run.cases) for target in targets}
    better_than: dict[str, int] = dict.fromkeys(targets, 0)
    ties: dict[str, list[str]] = {target: [] for target in targets}
    for one, other in combinations(targets, 2):
        shared = sorted(by_target[one].keys() & by_target[other].keys())
        pairs = [
            Pair(by_target[one][slot], by_target[other][slot], how.cluster_of(slot.item_digest)) for slot in shared
        ]
        meanings = run.meanings.get(one, {}), run.meanings.get(other, {})
        change = compare_metric(metric, pairs, meanings, (), how).change
        if change is Change.BETTER:
            better_than[one] += 1
        elif change is Change.WORSE:
            better_than[other] += 1
        else:
            ties[one].append(other)
            ties[other].append(one)
    return {target: Rank(rank=1 + better_than[target], ties=tuple(ties[target])) for target in targets}


def _by_item(target: str, cases: Cases) -> Cases:
    return {_without_target(slot): case for slot, case in cases.items() if slot.target == target}


def _without_target(slot: Slot) -> Slot:
    return slot._replace(target="")
