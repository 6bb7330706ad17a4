"""Runs made by hand, row by row, to be compared."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec

from sayagain.analysis.cases import Run
from sayagain.failures import sanitized
from sayagain.metrics import METRICS
from sayagain.records import (
    Benchmark,
    CaseCounts,
    DatasetInfo,
    Failure,
    FailureKind,
    Limits,
    Phase,
    ReplayOf,
    ResultRow,
    RunHeader,
    RunnerInfo,
    RunStatus,
    Status,
    TargetInfo,
    content_digest,
)

STT = "stt:moonshine/tiny-en"
OTHER = "stt:pocketsphinx/default"
TIMEOUT = Failure(kind=FailureKind.IDLE_TIMEOUT, phase=Phase.RECEIVE, message="nothing was received for 15 s")
LOST = Failure(kind=FailureKind.CONNECTION_LOST, phase=Phase.SEND, message="the connection ended", code="1011")


def target(key: str = STT, **changes: Any) -> TargetInfo:
    benchmark, _, name = key.partition(":")
    provider, _, model = name.partition("/")
    settings: Mapping[str, Any] = changes.pop("settings", {"language": "en"})
    info = TargetInfo(
        key=key,
        benchmark=Benchmark(benchmark),
        provider=provider,
        model=model,
        voice=None,
        settings=settings,
        settings_sha256=content_digest(dict(settings)),
        adapter="wyoming/1",
        secrets=(),
    )
    return msgspec.structs.replace(info, **changes)


def header(run_id: str = "run-a", targets: Sequence[TargetInfo] | None = None, **changes: Any) -> RunHeader:
    contract = changes.pop("contract", "c" * 64)
    made = RunHeader(
        schema="1.0",
        run_id=run_id,
        kind="stt",
        started="2025-11-04T10:15:30Z",
        scheduled=None,
        runner=RunnerInfo(
            name="sayagain", version="0.1.0", sha=None, python="3.11.7", platform="Linux-x86_64", contract=contract
        ),
        datasets=(
            DatasetInfo(
                id="cards",
                version="1",
                sha256="d" * 64,
                benchmark=Benchmark.STT,
                items_planned=0,
                item_ids_sha256="e" * 64,
                sample=None,
                seed=0,
            ),
        ),
        targets=tuple(targets or [target()]),
        limits=Limits(),
        repeat=1,
        cases=0,
        plan_sha256=content_digest(["plan", run_id]),
        metrics={name: 1 for name, info in METRICS.items() if info.benchmark is Benchmark.STT},
        normalizer="normalizer/1",
    )
    return msgspec.structs.replace(made, **changes)


def case(
    item: str,
    values: Mapping[str, float] | None = None,
    *,
    failure: Failure | None = None,
    errors: int = 0,
    words: int = 10,
    key: str = STT,
    repeat: int = 0,
    content: str = "",
    settings: Mapping[str, Any] | None = None,
    version: int = 1,
) -> list[ResultRow]:
    """The rows of one case: its values, `wer` from errors of words, and a failed row for each failure."""
    digest = content_digest([item, content])
    shared: dict[str, Any] = {
        "case_id": content_digest([key, dict(settings or {"language": "en"}), item, digest, repeat])[:32],
        "target": key,
        "item_id": item,
        "item_digest": digest,
        "repeat": repeat,
        "metric_version": version,
        "reason": None,
        "transcript_sha256": None,
        "transcript_chars": None,
        "attempts": 1,
        "started": "2025-11-04T10:15:31Z",
        "connect_ms": None,
        "loop_lag_ms": None,
    }
    if failure is not None:
        provider = key.partition(":")[2].partition("/")[0]
        failed = sanitized(failure, failure.message, provider)
        failed_row: dict[str, Any] = {"value": None, "detail": None, "status": Status.FAILED, "failure": failed}
        return [
            ResultRow(**shared, metric=name, unit=METRICS[name].unit, **failed_row) for name in ("ttfs", "wer")
        ]
    ok: dict[str, Any] = {"status": Status.SUCCEEDED, "failure": None}
    counts = {"S": errors, "D": 0, "I": 0, "N": words}
    rows = [
        ResultRow(**shared, metric=name, unit=METRICS[name].unit, value=value, detail=None, **ok)
        for name, value in (values or {"ttfs": 100.0}).items()
    ]
    wer = ResultRow(**shared, metric="wer", unit="%", value=100 * errors / words, detail=counts, **ok)
    return [*rows, wer]


def run(
    cases: Iterable[Sequence[ResultRow]],
    made: RunHeader | None = None,
    *,
    not_run: int = 0,
    sha256: str | None = None,
) -> Run:
    made = made or header()
    rows = [row for rows in cases for row in rows]
    ids = {row.case_id for row in rows}
    failed = {row.case_id for row in rows if row.status is Status.FAILED}
    counts = CaseCounts(
        planned=len(ids) + not_run, succeeded=len(ids - failed), failed=len(failed), not_run=not_run
    )
    status = RunStatus.PARTIAL if failed or not_run else RunStatus.SUCCEEDED
    return Run(msgspec.structs.replace(made, cases=counts.planned), rows, status, counts, sha256)


def replay_of(parent: Run, **changes: Any) -> RunHeader:
    link = ReplayOf(run_id=parent.header.run_id, artifact_sha256=parent.sha256 or "f" * 64)
    return header("run-b", replay_of=link, **changes)
