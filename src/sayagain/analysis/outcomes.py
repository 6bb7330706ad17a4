"""What became of each case between two runs."""

import hashlib
from enum import StrEnum

from sayagain.analysis.cases import Cases, GatheredCase, Run
from sayagain.records import RunHeader


class Outcome(StrEnum):
    """What became of a case from run A to run B."""

    FIXED = "fixed"
    REGRESSED = "regressed"
    SAME_FAILURE = "same_failure"
    """Failed in both for the same causes, which is: with the same fingerprints."""
    DIFFERENT_FAILURE = "different_failure"
    STILL_OK = "still_ok"
    MISSING = "missing"
    """In A only."""
    NEW = "new"
    """In B only."""
    NOT_RUN = "not_run"
    """Planned in both; one of the two was stopped before it."""
    NOT_REPLAYED = "not_replayed"
    """Outside of what a replay ran again."""


def of_both(a: GatheredCase, b: GatheredCase, *, across_targets: bool = False) -> Outcome:
    """Return the outcome of a case that ran in both; targets share causes, not fingerprints, with one another."""
    if not (a.failed or b.failed):
        return Outcome.STILL_OK
    if not b.failed:
        return Outcome.FIXED
    if not a.failed:
        return Outcome.REGRESSED
    same = a.causes == b.causes if across_targets else a.failures.keys() == b.failures.keys()
    return Outcome.SAME_FAILURE if same else Outcome.DIFFERENT_FAILURE


class Absence:
    """Why a case that ran in one run is not in the other, as far as the two headers tell."""

    def __init__(self, present: Run, cases: Cases, absent: Run, otherwise: Outcome) -> None:
        stopped_early = absent.counts.not_run > 0
        self._same_plan = stopped_early and absent.header.plan_sha256 == present.header.plan_sha256
        self._replay = replays(absent.header, present.header)
        self._replays_all = self._replay and stopped_early and absent.header.plan_sha256 == _plan_of_failed(cases)
        self._otherwise = otherwise

    def of(self, case: GatheredCase) -> Outcome:
        """Return the outcome of a case that is in the present run only."""
        if self._same_plan or (self._replays_all and case.failed):
            return Outcome.NOT_RUN
        return Outcome.NOT_REPLAYED if self._replay else self._otherwise


def replays(child: RunHeader, parent: RunHeader) -> bool:
    """Say whether a run names the other one as the parent whose failed cases it ran again."""
    return child.replay_of is not None and child.replay_of.run_id == parent.run_id


def _plan_of_failed(cases: Cases) -> str:
    """Return the digest of the plan that runs every failed case once, in the order of the rows."""
    digest = hashlib.sha256()
    for case in cases.values():
        if case.failed:
            digest.update(case.case_id.encode("utf-8", "surrogatepass"))
    return digest.hexdigest()
