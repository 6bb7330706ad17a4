"""Which cases of an artifact are to be run again.

An artifact is a stranger's file: it names cases, and nothing here turns what it says into a path, a host or a
module. What is remembered of it is bounded, however many cases it claims.
"""

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from sayagain.artifact.plaintext import one_line
from sayagain.errors import CorruptArtifactError, MismatchError, UsageError
from sayagain.records import Case, CaseCounts, ResultRow, Status

MOST_CASES = 100_000
"""The most cases that one replay runs."""

MOST_REPEATS = 2**31 - 1
"""The largest repeat number that a ledger can hold."""


@dataclass(frozen=True)
class Selector:
    """What a person asked for; an empty field narrows nothing."""

    buckets: frozenset[str] = frozenset()
    targets: frozenset[str] = frozenset()
    items: frozenset[str] = frozenset()

    def wants(self, target: str, item_id: str) -> bool:
        """Tell whether a case of this target and item is asked for."""
        return (not self.targets or target in self.targets) and (not self.items or item_id in self.items)

    def wants_failure(self, fingerprint: str) -> bool:
        """Tell whether failures with this fingerprint are asked for, by it or by how it begins."""
        return not self.buckets or any(fingerprint.startswith(bucket) for bucket in self.buckets)

    def __str__(self) -> str:
        named = (("bucket", self.buckets), ("target", self.targets), ("item", self.items))
        return " and ".join(f"{name} {one_line(' or '.join(sorted(values)))}" for name, values in named if values)


@dataclass(frozen=True, slots=True)
class CaseName:
    """A case as an artifact names it."""

    target: str
    item_id: str
    item_digest: str
    repeat: int


def failed_cases(rows: Iterable[ResultRow], selector: Selector, repeats: int) -> tuple[CaseName, ...]:
    """Return each case with at least one failed row that is asked for, once, in the order of the rows.

    Args:
        rows: The rows of an artifact.
        selector: What is asked for.
        repeats: How often the artifact's run planned each case.

    Raises:
        CorruptArtifactError: A case has a repeat number that its run did not plan.
        UsageError: More cases are selected than a replay runs.
    """
    selected: dict[CaseName, None] = {}
    for row in rows:
        if not 0 <= row.repeat < repeats:
            raise CorruptArtifactError("a case has a repeat number that its run did not plan")
        if row.failure is None or not selector.wants(row.target, row.item_id):
            continue
        if row.status is Status.FAILED and selector.wants_failure(row.failure.fingerprint or ""):
            selected[CaseName(row.target, row.item_id, row.item_digest, row.repeat)] = None
            _require_bounded(len(selected))
    return tuple(selected)


def cases_never_run(
    planned: Iterable[Case], plan_sha256: str, rows: Iterable[ResultRow], selector: Selector
) -> tuple[CaseName, ...]:
    """Return the planned cases that have no row and are asked for, in the order of the plan.

    Buckets narrow failures only: what never ran has no cause.

    Args:
        planned: The cases of the run's plan, made again.
        plan_sha256: The digest of the run's plan.
        rows: The rows of the run's artifact.
        selector: What is asked for.

    Raises:
        MismatchError: What was made again is not the run's plan.
        UsageError: More cases are selected than a replay runs.
    """
    ran = {row.case_id for row in rows}
    digest = hashlib.sha256()
    selected: list[CaseName] = []
    for case in planned:
        digest.update(case.id.encode())
        if case.id not in ran and selector.wants(case.target.key, case.item.id):
            selected.append(CaseName(case.target.key, case.item.id, case.item.digest, case.repeat))
            _require_bounded(len(selected))
    if digest.hexdigest() != plan_sha256:
        raise MismatchError(
            "The cases that never ran cannot be named: the datasets here do not make the plan of this artifact."
        )
    return tuple(selected)


def with_repeats(cases: Sequence[CaseName], repeat: int, first_free: int) -> tuple[CaseName, ...]:
    """Return the cases as often as asked, round by round, with repeat numbers that their run did not use.

    Raises:
        UsageError: That is more than a replay runs, or than repeat numbers go.
    """
    _require_bounded(len(cases) * repeat)
    if first_free * repeat > MOST_REPEATS:
        raise UsageError(f"The artifact leaves no numbers for {repeat} repeats: leave --repeat out.")
    return tuple(
        CaseName(case.target, case.item_id, case.item_digest, case.repeat + turn * first_free)
        for turn in range(repeat)
        for case in cases
    )


def nothing_selected(selector: Selector, counts: CaseCounts, include_not_run: bool) -> UsageError:
    """Return the error that says why there is nothing to replay."""
    offered = counts.failed + (counts.not_run if include_not_run else 0)
    which = "failed or never ran" if include_not_run else "failed"
    if offered:
        return UsageError(
            f"Nothing to replay: {offered} cases {which} and none matches {selector}. "
            "`sayagain artifact show --failed` lists those that failed."
        )
    missed = f" {counts.not_run} never ran: --include not-run takes them." if counts.not_run > 0 else ""
    return UsageError(f"Nothing to replay: no case of this artifact {which}.{missed}")


def _require_bounded(count: int) -> None:
    if count > MOST_CASES:
        raise UsageError(
            f"More than {MOST_CASES:,} cases are selected: narrow them with --bucket, --target or --item."
        )
