"""The cases of one run, gathered from its rows: what ended how, with which values."""

import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from sayagain.metrics.definitions import UNCHARGED
from sayagain.records import CaseCounts, Failure, ResultRow, RunHeader, RunStatus, Status, Summary


@dataclass(frozen=True)
class Run:
    """One run, wherever it is kept: its header, its rows in any order, and how it ended.

    `sha256` is the digest of the artifact it was read from, where it was read from one.
    """

    header: RunHeader
    rows: Iterable[ResultRow]
    status: RunStatus
    counts: CaseCounts
    sha256: str | None = None

    @classmethod
    def of(
        cls, header: RunHeader, rows: Iterable[ResultRow], summary: Summary, sha256: str | None = None
    ) -> "Run":
        """Build a run from the three kinds of record of an artifact."""
        return cls(header, rows, summary.status, summary.cases, sha256)


class Slot(NamedTuple):
    """What makes two cases of different runs the same one: all that a case id digests, except the settings.

    Equal case ids mean equal slots. Equal slots with different case ids mean that only settings differ.
    """

    target: str
    item_id: str
    item_digest: str
    repeat: int


class Meaning(NamedTuple):
    """What has to be equal before two values of one metric may be compared."""

    version: int
    unit: str


class ErrorCounts(NamedTuple):
    """Errors (S + D + I) and the length N of the reference they were counted against."""

    errors: float
    reference: float


@dataclass(slots=True)
class GatheredCase:
    """One case: the values of its succeeded rows, its error counts, and a failure for each distinct cause.

    `lost` has the reference length of each failed error rate whose failure says something about the target.
    """

    case_id: str
    values: dict[str, float] = field(default_factory=dict)
    counts: dict[str, ErrorCounts] = field(default_factory=dict)
    lost: dict[str, float] = field(default_factory=dict)
    failures: dict[str, Failure] = field(default_factory=dict)
    failed: bool = False
    """Whether any of its rows failed, which is what makes a case failed."""

    @property
    def failure(self) -> Failure | None:
        """The first failure, to show; None when the case succeeded."""
        return next(iter(self.failures.values()), None)

    @property
    def causes(self) -> frozenset[str]:
        """Kind, phase and code of every failure: what failures at different providers can share."""
        return frozenset(_cause(failure) for failure in self.failures.values())


Cases = Mapping[Slot, GatheredCase]
"""The cases of a run, or of a part of it, in the order of its rows."""

Meanings = Mapping[str, frozenset[Meaning]]
"""What each metric means; more than one meaning makes it incomparable with anything."""


@dataclass(frozen=True)
class GatheredRun:
    """The cases of a run, and what each metric means, target by target."""

    cases: Cases
    meanings: Mapping[str, Meanings]

    def of_target(self, target: str, renamed: str | None = None) -> "GatheredRun":
        """Return the part of one target, under another name if one is given."""
        name = target if renamed is None else renamed
        cases = {slot._replace(target=name): case for slot, case in self.cases.items() if slot.target == target}
        return GatheredRun(cases, {name: self.meanings.get(target, {})})


def gather(rows: Iterable[ResultRow]) -> GatheredRun:
    """Gather rows, in any order, into cases. A failure is kept as a failure and never becomes a value."""
    cases: dict[Slot, GatheredCase] = {}
    meanings: dict[str, dict[str, frozenset[Meaning]]] = {}
    for row in rows:
        slot = Slot(sys.intern(row.target), row.item_id, row.item_digest, row.repeat)
        case = cases.get(slot)
        if case is None:
            case = cases[slot] = GatheredCase(row.case_id)
        _add(case, row)
        of_target = meanings.setdefault(row.target, {})
        of_target[row.metric] = of_target.get(row.metric, frozenset()) | {Meaning(row.metric_version, row.unit)}
    return GatheredRun(cases, meanings)


def identity(failure: Failure) -> str:
    """Return what failures of one cause share: the fingerprint, or kind, phase and code where there is none."""
    return failure.fingerprint or _cause(failure)


def _cause(failure: Failure) -> str:
    return "/".join((failure.kind.value, failure.phase.value, failure.code or "-"))


def _add(case: GatheredCase, row: ResultRow) -> None:
    if row.failure is not None:
        case.failures.setdefault(identity(row.failure), row.failure)
    if row.status is Status.FAILED:
        case.failed = True
        _add_lost(case, row)
        return
    if row.value is None:
        return
    metric = sys.intern(row.metric)
    case.values[metric] = row.value
    if row.detail is not None and row.detail.get("N", 0) > 0:
        errors = sum(row.detail.get(kind, 0) for kind in "SDI")
        case.counts[metric] = ErrorCounts(errors, row.detail["N"])


def _add_lost(case: GatheredCase, row: ResultRow) -> None:
    length = (row.detail or {}).get("N", 0)
    if length > 0 and row.failure is not None and row.failure.kind not in UNCHARGED:
        case.lost[sys.intern(row.metric)] = length
