"""How fast artifacts are written and verified, beside the bare JSON encoder and decoder, which are the limit.

    python benchmarks/artifact_speed.py [ROWS]

Everything happens on one core and in memory: writing goes to /dev/shm where there is one. Memory is measured in
a process of its own for each size. One row in ten is failed, of 40 causes; a case has six rows.
"""

import hashlib
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec

from sayagain.artifact import verify, write_artifact
from sayagain.artifact.schema import ArtifactRecord
from sayagain.records import (
    Benchmark,
    Failure,
    FailureKind,
    Limits,
    Phase,
    ResultRow,
    RunHeader,
    RunnerInfo,
    RunStatus,
    Status,
    TargetInfo,
)

METRICS = ("ttft", "ttfs", "finalization", "audio_to_final", "wer", "cer")
ROUNDS = 3


def header(cases: int) -> RunHeader:
    """Return the run record of a run over four targets."""
    targets = tuple(
        TargetInfo(
            key=f"stt:provider-{number}/model",
            benchmark=Benchmark.STT,
            provider=f"provider-{number}",
            model="model",
            voice=None,
            settings={"language": "en"},
            settings_sha256="0" * 64,
            adapter="wyoming/1",
            secrets=(),
        )
        for number in range(4)
    )
    runner = RunnerInfo(
        name="sayagain", version="0", sha=None, python="3", platform="Linux-x86_64", contract="0" * 64
    )
    return RunHeader(
        schema="1.0",
        run_id=f"speed-{cases}-{os.getpid()}-{time.monotonic_ns()}",
        kind="stt",
        started="2025-11-04T10:15:30Z",
        scheduled=None,
        runner=runner,
        datasets=(),
        targets=targets,
        limits=Limits(),
        repeat=1,
        cases=cases,
        plan_sha256="0" * 64,
        metrics=dict.fromkeys(METRICS, 1),
        normalizer="whisper-normalizer/0.1",
    )


def rows(count: int) -> Iterator[ResultRow]:
    """Yield rows as a ledger would: made one by one, with digests and numbers that differ."""
    failures = [
        Failure(
            kind=FailureKind.IDLE_TIMEOUT,
            phase=Phase.RECEIVE,
            message=f"nothing was received for 15 s after step {number}",
            code="1011",
            fingerprint=f"{number:016x}",
        )
        for number in range(40)
    ]
    for number in range(count):
        case, place = divmod(number, len(METRICS))
        if place == 0:
            case_digest = hashlib.sha256(case.to_bytes(8, "big")).hexdigest()
        failure = failures[case % 40] if case % 10 == 0 else None
        yield ResultRow(
            case_id=case_digest[:32],
            target=f"stt:provider-{case % 4}/model",
            item_id=f"utterance-{case // 4:06d}",
            item_digest=case_digest,
            repeat=0,
            metric=METRICS[place],
            metric_version=1,
            value=None if failure else 412.123456789 + number,
            unit="ms",
            status=Status.FAILED if failure else Status.SUCCEEDED,
            reason=None,
            detail={"S": 1, "D": 0, "I": 0, "N": 9} if place > 3 and not failure else None,
            failure=failure,
            transcript_sha256=case_digest,
            transcript_chars=42,
            attempts=1,
            started="2025-11-04T10:15:31.123456Z",
            connect_ms=18.25,
            loop_lag_ms=0.4375,
        )


def written(made: Iterator[ResultRow] | list[ResultRow], count: int, directory: Path) -> Path:
    """Write an artifact of `count` rows."""
    cases = -(-count // len(METRICS))
    return write_artifact(
        directory,
        header(cases),
        made,
        status=RunStatus.PARTIAL,
        reason=None,
        finished="2025-11-04T10:20:00Z",
        planned=cases,
    )


def best(work: Callable[[], object]) -> float:
    """Return the shortest CPU time of a few rounds, in seconds."""
    times = []
    for _ in range(ROUNDS):
        began = time.process_time()
        work()
        times.append(time.process_time() - began)
    return min(times)


def peak_memory(verb: str, count: int, directory: Path) -> float:
    """Return the peak memory, in MB, of a fresh process that writes or verifies `count` rows."""
    command = [sys.executable, __file__, "--child", verb, str(count), str(directory)]
    return float(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def child(verb: str, count: int, directory: Path) -> None:
    """Do one thing and print this process's peak memory in MB."""
    if verb == "write":
        written(rows(count), count, directory).rename(directory / f"rows-{count}.jsonl")
    else:
        assert verify(directory / f"rows-{count}.jsonl").ok
    status = Path("/proc/self/status").read_text()  # Linux; getrusage would count the parent's memory too
    print(int(status.partition("VmHWM:")[2].split()[0]) / 1024)


def report(verb: str, count: int, took_s: float, limit: str, limit_s: float) -> None:
    """Print a speed beside its limit."""
    print(
        f"{verb:7} {count / took_s:9,.0f} rows/s   bare {limit} {count / limit_s:9,.0f} rows/s   "
        f"{took_s / limit_s:.1f} times the limit's time"
    )


def main(count: int) -> None:
    """Print the figures."""
    base = "/dev/shm" if Path("/dev/shm").is_dir() else None  # noqa: S108 - memory, not a place for secrets
    with tempfile.TemporaryDirectory(dir=base) as name:
        directory = Path(name)
        made = list(rows(count))
        encoder = msgspec.json.Encoder()
        encode_s = best(lambda: encoder.encode_lines(made))
        write_s = best(lambda: written(made, count, directory))
        path = written(made, count, directory)
        lines = path.read_bytes().split(b"\n")[1:-2]
        decoder = msgspec.json.Decoder(ArtifactRecord)
        decode_s = best(lambda: [decoder.decode(line) and None for line in lines])
        verify_s = best(lambda: verify(path))
        assert verify(path).ok
        report("write", count, write_s, "encoder", encode_s)
        report("verify", count, verify_s, "decoder", decode_s)
        print(f"size    {path.stat().st_size / count:10.0f} bytes a row")
        for size in (10_000, 100_000, 1_000_000):
            write_mb, verify_mb = (peak_memory(verb, size, directory) for verb in ("write", "verify"))
            print(f"memory  {size:10,} rows: write {write_mb:.0f} MB, verify {verify_mb:.0f} MB")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--child"]:
        child(sys.argv[2], int(sys.argv[3]), Path(sys.argv[4]))
    else:
        main(int(sys.argv[1]) if len(sys.argv) > 1 else 60_000)
