"""Runs, rows and failures to write artifacts of."""

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest

from sayagain.artifact import write_artifact
from sayagain.records import (
    Benchmark,
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
)

STT, TTS = "stt:moonshine/tiny", "tts:piper/voice/joe"
DIGEST = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"


def header(cases: int = 3, **changes: Any) -> RunHeader:
    """Return a run record with an STT and a TTS target."""
    targets = tuple(
        TargetInfo(
            key=key,
            benchmark=Benchmark(key[:3]),
            provider=key[4:].split("/")[0],
            model=key.split("/")[1],
            voice="joe" if key == TTS else None,
            settings={"language": "en", "rate": 16000, "gain": None, "fast": True, "speed": 1.5},
            settings_sha256=DIGEST,
            adapter="wyoming/1",
            secrets=("PIPER_API_KEY",) if key == TTS else (),
        )
        for key in (STT, TTS)
    )
    datasets = (
        DatasetInfo(
            id="librivox-en",
            version="1",
            sha256=DIGEST,
            benchmark=Benchmark.STT,
            items_planned=2,
            item_ids_sha256=DIGEST,
            sample=2,
            seed=7,
        ),
    )
    parts: dict[str, Any] = {
        "schema": "1.0",
        "run_id": "0198c5f2a3b4",
        "kind": "both",
        "started": "2025-11-04T10:15:30.123456Z",
        "scheduled": "2025-11-04T10:15:00Z",
        "runner": RunnerInfo(
            name="sayagain",
            version="0.1.0",
            sha="863e684",
            python="3.11.7",
            platform="Linux-x86_64",
            contract=DIGEST,
        ),
        "datasets": datasets,
        "targets": targets,
        "limits": Limits(),
        "repeat": 1,
        "cases": cases,
        "plan_sha256": DIGEST,
        "metrics": {"ttfs": 1, "wer": 1, "ttfa": 2},
        "normalizer": "whisper-normalizer/0.1.15",
        "replay_of": ReplayOf(run_id="0198c5f0", artifact_sha256=DIGEST),
        "allowed_differences": ("contract",),
    }
    return RunHeader(**{**parts, **changes})


def failure(number: int = 1, **changes: Any) -> Failure:
    """Return a sanitized failure; another number is another cause."""
    parts: dict[str, Any] = {
        "kind": FailureKind.IDLE_TIMEOUT,
        "phase": Phase.RECEIVE,
        "message": f"nothing came, {number}",
        "code": "1011",
        "fingerprint": f"{number:016x}",
    }
    return Failure(**{**parts, **changes})


def row(case: int = 1, metric: str = "ttfs", fails: Failure | None = None, **changes: Any) -> ResultRow:
    """Return a row of a case, which succeeded unless it has a failure."""
    parts: dict[str, Any] = {
        "case_id": f"{case:032x}",
        "target": TTS if metric == "ttfa" else STT,
        "item_id": f"utterance-{case}",
        "item_digest": DIGEST,
        "repeat": 0,
        "metric": metric,
        "metric_version": 2 if metric == "ttfa" else 1,
        "value": None if fails else 100.0 * case + 0.5,
        "unit": "%" if metric == "wer" else "ms",
        "status": Status.FAILED if fails else Status.SUCCEEDED,
        "reason": None,
        "detail": {"S": 1, "D": 0, "I": 0, "N": 9} if metric == "wer" and not fails else None,
        "failure": fails,
        "transcript_sha256": None if fails else DIGEST,
        "transcript_chars": None if fails else 42,
        "attempts": 1,
        "started": "2025-11-04T10:15:31.5Z",
        "connect_ms": 18.25,
        "loop_lag_ms": 0.4375,
    }
    return ResultRow(**{**parts, **changes})


def write(directory: Path, rows: Iterable[ResultRow], run: RunHeader | None = None, **changes: Any) -> Path:
    """Write an artifact of rows."""
    run = run or header()
    parts: dict[str, Any] = {
        "status": RunStatus.PARTIAL,
        "reason": None,
        "finished": "2025-11-04T10:16:40Z",
        "planned": run.cases,
    }
    return write_artifact(directory, run, rows, **{**parts, **changes})


def usual_rows() -> list[ResultRow]:
    """Return the rows of two cases of three planned: one succeeded, one failed, one never ran."""
    return [
        row(1, "ttfs"),
        row(1, "wer"),
        row(2, "ttfa", failure(1), item_id="prompt \u2028 naïve 👍"),
    ]


class Make:
    """The builders, for tests."""

    STT, TTS, DIGEST = STT, TTS, DIGEST
    header = staticmethod(header)
    failure = staticmethod(failure)
    row = staticmethod(row)
    write = staticmethod(write)
    usual_rows = staticmethod(usual_rows)


@pytest.fixture(scope="session")
def make() -> type[Make]:
    """Return the builders."""
    return Make


@pytest.fixture(scope="session")
def golden() -> Path:
    """Return the artifact that every later version must read."""
    return Path(__file__).parent / "golden" / "schema-1.jsonl"


@pytest.fixture
def change(tmp_path: Path, golden: Path) -> Callable[[bytes, bytes], Path]:
    """Return a function that writes the golden artifact with one part of it changed."""

    def changed(old: bytes, new: bytes) -> Path:
        content = golden.read_bytes()
        assert content.count(old) >= 1
        path = tmp_path / "changed.jsonl"
        path.write_bytes(content.replace(old, new, 1))
        return path

    return changed
