"""Artifacts to replay: a real plan over real datasets, its rows made by hand, any part of it changed at will."""

import hashlib
import json
import socket
import tempfile
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from sayagain.artifact import write_artifact
from sayagain.config import Settings
from sayagain.datasets import load
from sayagain.failures import sanitized
from sayagain.metrics import METRICS, owed
from sayagain.records import (
    Case,
    Failure,
    FailureKind,
    Phase,
    ResultRow,
    RunHeader,
    RunStatus,
    Status,
)
from sayagain.runner.plan import Plan, make_plan
from sayagain.runner.preflight import assemble, limits_of
from sayagain.runner.targets import static_candidates

OPENAI_TTS = "tts:openai/gpt-4o-mini-tts/alloy"
OPENAI_STT = "stt:openai/whisper-1"
DEEPGRAM_TTS = "tts:deepgram/aura-2/thalia-en"
QUOTA = Failure(kind=FailureKind.QUOTA, phase=Phase.RECEIVE, message="the quota is used up", code="quota")
LOST = Failure(kind=FailureKind.CONNECTION_LOST, phase=Phase.SEND, message="the connection ended")

Changed = Callable[[RunHeader], RunHeader]


def rows_of(case: Case, failure: Failure | None = None, *, only: str | None = None) -> list[ResultRow]:
    """Return the rows a case owes; all failed, or only that of one metric, or none."""
    rows = []
    for name in owed(case.target):
        fails = failure is not None and only in (None, name)
        shown = sanitized(failure, failure.message, case.target.provider) if failure and fails else None
        rows.append(
            ResultRow(
                case_id=case.id,
                target=case.target.key,
                item_id=case.item.id,
                item_digest=case.item.digest,
                repeat=case.repeat,
                metric=name,
                metric_version=METRICS[name].version,
                value=None if fails else 100.0,
                unit=METRICS[name].unit,
                status=Status.FAILED if fails else Status.SUCCEEDED,
                reason=None,
                detail=None,
                failure=shown,
                transcript_sha256=None,
                transcript_chars=None,
                attempts=1,
                started="2025-11-04T10:15:31Z",
                connect_ms=None,
                loop_lag_ms=0.0,
            )
        )
    return rows


@dataclass
class Parent:
    """A run that is over: its plan, and which of its cases, by their place in it, failed or never ran."""

    settings: Settings
    targets: tuple[str, ...] = (OPENAI_TTS,)
    datasets: tuple[str, ...] = ("prompts-30",)
    failed: dict[int, Failure] = field(default_factory=lambda: {2: QUOTA, 5: LOST, 7: QUOTA})
    not_run: frozenset[int] = frozenset()
    sample: int | None = 10
    repeat: int = 1
    scoring: Failure | None = None
    """A failure of one metric only, of the first case."""

    def plan(self) -> Plan:
        candidates = static_candidates(self.settings, self.targets)
        datasets = [load(name, Path(self.settings.datasets_dir)) for name in self.datasets]
        targets = [candidates[key].target for key in self.targets]
        return make_plan(datasets, targets, size=self.sample, seed=7, repeat=self.repeat)

    def header(self) -> RunHeader:
        plan, candidates = self.plan(), static_candidates(self.settings, self.targets)
        chosen = [candidates[target.key] for target in plan.targets]
        made = assemble(self.settings, plan, chosen, limits=limits_of(self.settings)).header
        return msgspec.structs.replace(made, run_id="parent")

    def cases(self) -> list[Case]:
        return [case for stage in self.plan().stages for case, _ in stage.cases()]

    def failed_ids(self) -> list[str]:
        cases = self.cases()
        return [cases[place].id for place in sorted(self.failed)]

    def rows(self) -> Iterator[ResultRow]:
        for place, case in enumerate(self.cases()):
            if place in self.not_run:
                continue
            if place == 0 and self.scoring is not None:
                yield from rows_of(case, self.scoring, only=owed(case.target)[-1])
            else:
                yield from rows_of(case, self.failed.get(place))

    def write(
        self, folder: Path, change: Changed = lambda header: header, rows: Iterable[ResultRow] | None = None
    ) -> Path:
        """Write an artifact, its header changed by somebody; the digests are those of what is written."""
        header = change(self.header())
        return write_artifact(
            tempfile.mkdtemp(dir=folder),
            header,
            (
                msgspec.structs.replace(row, metric_version=header.metrics[row.metric])
                for row in (self.rows() if rows is None else rows)
            ),
            status=RunStatus.PARTIAL,
            reason=None,
            finished="2025-11-04T10:16:40Z",
            planned=header.cases,
        )


def with_fewer_planned(path: Path, cases: int) -> None:
    """Make an artifact claim that its run planned fewer cases than it ran; its digest is right again."""
    header, *rows, last = (json.loads(line) for line in path.read_text("utf-8").splitlines())
    not_run = last["cases"]["not_run"] - (header["cases"] - cases)
    header["cases"] = cases
    before = "".join(json.dumps(record) + "\n" for record in (header, *rows))
    last["cases"] |= {"planned": cases, "not_run": not_run}
    last["sha256"] = hashlib.sha256(before.encode()).hexdigest()
    path.write_text(before + json.dumps(last) + "\n", "utf-8")


def write_prompts(folder: Path, prompts: dict[str, str], version: str = "1", dataset_id: str = "mine") -> Path:
    """Write a dataset of prompts and return its folder."""
    items = [
        {"id": name, "text": text, "sha256": hashlib.sha256(text.encode()).hexdigest()}
        for name, text in prompts.items()
    ]
    manifest: dict[str, Any] = {
        "format": "sayagain-dataset/1",
        "id": dataset_id,
        "version": version,
        "benchmark": "tts",
        "licence": "CC0-1.0",
        "origin": "these tests",
        "language": "en",
        "items": items,
    }
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "manifest.json").write_text(json.dumps(manifest), "utf-8")
    return folder


class Trap:
    """A port at which nobody must ever call."""

    def __init__(self) -> None:
        self._listening = socket.create_server(("127.0.0.1", 0))
        self._listening.setblocking(False)
        self.address = f"127.0.0.1:{self._listening.getsockname()[1]}"

    def was_called(self) -> bool:
        try:
            self._listening.accept()[0].close()
        except BlockingIOError:
            return False
        return True

    def close(self) -> None:
        self._listening.close()
