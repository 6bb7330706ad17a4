"""What the ledger gives back: a run with its counts, a case with its attempts, the counts of a target."""

from sayagain.records import Attempt, CaseCounts, Failure, Record, RunHeader, RunStatus, Status


class RunView(Record, frozen=True, kw_only=True):
    """A run as the ledger knows it now."""

    run_id: str
    kind: str
    status: RunStatus
    reason: str | None
    started: str
    finished: str | None
    counts: CaseCounts
    header: RunHeader


class TargetCounts(Record, frozen=True, kw_only=True):
    """How the recorded cases of one target ended."""

    target: str
    succeeded: int
    failed: int


class CaseView(Record, frozen=True, kw_only=True):
    """A recorded case with every attempt; traces come without audio, which is never kept.

    `started`, `connect_ms` and `loop_lag_ms` are those of the attempt that decided the case. A case that failed
    only because a metric could not be computed has that metric's failure.
    """

    position: int
    case_id: str
    target: str
    item_id: str
    item_digest: str
    repeat: int
    status: Status
    failure: Failure | None
    transcript: str | None
    started: str
    connect_ms: float | None
    loop_lag_ms: float
    attempts: tuple[Attempt, ...]
