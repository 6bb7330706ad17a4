"""Runs against the stand-in: every target under every fault at once, each at an endpoint of its own."""

import asyncio
import hashlib
import json
import math
import re
import struct
import subprocess
import sys
import wave
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from sayagain.config import Settings
from sayagain.datasets import load
from sayagain.datasets.manifest import Dataset, encode
from sayagain.ledger import open_ledger
from sayagain.providers.catalog import Entry
from sayagain.records import Benchmark, Item, Limits, SpeechSpan, Target
from sayagain.report.progress import Silence
from sayagain.runner.candidate import Candidate
from sayagain.runner.cloud import transport_of
from sayagain.runner.plan import make_plan
from sayagain.runner.preflight import assemble
from sayagain.runner.run import run_prepared
from sayagain.transports.base import Transport

TEXT = "a fox ran over the dog"
RATE = 16_000
SECONDS = 0.4


def protocol_of(entry: Entry) -> str:
    """Return the stand-in's name for the protocol that a target of the catalog speaks."""
    target = entry.target()
    if target.provider == "openai":
        shape = "batch" if target.settings.get("mode") == "batch" else "realtime"
        return "tts-openai" if target.benchmark == "tts" else f"stt-openai-{shape}"
    flux = "-flux" if "flux" in target.model else ""
    return f"{target.benchmark}-{target.provider}{flux}"


@dataclass(frozen=True)
class Place:
    """A target of the catalog under a name of its own, at an endpoint of the stand-in that has one fault."""

    entry: Entry
    label: str
    fault: Mapping[str, Any]

    @property
    def endpoint(self) -> str:
        """The endpoint's name."""
        target = self.entry.target()
        return re.sub("[^a-zA-Z0-9]+", "-", f"{target.key}-{self.label}").strip("-")

    @property
    def target(self) -> Target:
        """The target, with the fault in the name of its model; what is asked of the provider is unchanged."""
        target = self.entry.target(self.entry.load_codec().version)
        return msgspec.structs.replace(target, model=f"{target.model}+{self.label}")

    def table(self) -> dict[str, Any]:
        """Return the endpoint's table in the scenario."""
        return {"protocol": protocol_of(self.entry), "faults": [self.fault]}

    def candidate(self, directory: Mapping[str, Any]) -> Candidate:
        """Return the target as a run takes it."""
        keys = dict.fromkeys(self.entry.provider.keys, "not-a-real-key")
        url, target = directory[self.endpoint]["http"], self.target

        def connect(limits: Limits) -> Transport:
            return transport_of(self.entry.load_codec(), target, url, keys, limits)

        return Candidate(target, connect)


@contextmanager
def simulator(folder: Path, scenario: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Run the stand-in in a process of its own; yield what it says when it is ready. Its record is truth.jsonl."""
    (folder / "scenario.json").write_text(json.dumps(scenario), "utf-8")
    command = [sys.executable, "-m", "sayagain", "simulate", "--scenario", "scenario.json", "--log", "truth.jsonl"]
    process = subprocess.Popen(command, cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        yield json.loads(process.stdout.readline())
    finally:
        process.communicate(timeout=30)


def recorded(folder: Path) -> list[dict[str, Any]]:
    """Return what the stand-in recorded, once it has ended."""
    return [json.loads(line) for line in (folder / "truth.jsonl").read_text("utf-8").splitlines()]


def write_datasets(folder: Path, utterances: int = 1) -> tuple[Path, Path]:
    """Write a dataset of short utterances that sound and one of prompts; return their manifests."""
    spoken, prompted = folder / "spoken", folder / "prompted"
    items = [_utterance(spoken, number) for number in range(utterances)]
    prompts = [_prompt(number) for number in range(utterances)]
    return (
        _manifest(spoken, "spoken", "stt", items),
        _manifest(prompted, "prompted", "tts", prompts),
    )


def _utterance(folder: Path, number: int) -> Item:
    folder.mkdir(exist_ok=True)
    path = folder / f"{number}.wav"
    step = (300 + number) * 2 * math.pi / RATE
    samples = [round(9000 * math.sin(index * step)) | 1 for index in range(round(RATE * SECONDS))]
    with wave.open(str(path), "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(RATE)
        file.writeframes(struct.pack(f"<{len(samples)}h", *samples))
    return Item(
        id=f"tone-{number}",
        text=TEXT,
        sha256=hashlib.sha256(path.read_bytes()).hexdigest(),
        audio=path.name,
        duration_s=SECONDS,
        speech=SpeechSpan(start_s=0.0, end_s=SECONDS, vad="by hand"),
    )


def _prompt(number: int) -> Item:
    text = f"Say number {number}."
    return Item(id=f"prompt-{number}", text=text, sha256=hashlib.sha256(text.encode()).hexdigest())


def _manifest(folder: Path, dataset: str, benchmark: str, items: list[Item]) -> Path:
    folder.mkdir(exist_ok=True)
    content = Dataset(
        id=dataset,
        version="1",
        benchmark=Benchmark(benchmark),
        licence="CC0",
        origin="a test",
        language="en",
        items=tuple(items),
        root=folder,
    )
    path = folder / "manifest.json"
    path.write_bytes(encode(content))
    return path


def run(folder: Path, places: list[Place], limits: Limits, scenario: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Run every place once and return the lines of the artifact."""
    manifests = write_datasets(folder)
    tables = {place.endpoint: place.table() for place in places}
    with simulator(folder, {**scenario, "endpoints": tables}) as ready:
        candidates = [place.candidate(ready["endpoints"]) for place in places]
        datasets = [load(str(manifest), folder) for manifest in manifests]
        targets = tuple(candidate.target for candidate in candidates)
        settings = Settings(db=f"sqlite:///{folder / 'ledger.db'}", artifact_dir=str(folder / "artifacts"))
        plan = make_plan(datasets, targets, size=None, seed=0, repeat=1)
        prepared = assemble(settings, plan, candidates, limits=limits)
        with open_ledger(settings.db) as ledger:
            outcome = asyncio.run(run_prepared(prepared, ledger, settings.db, Silence()))
    assert outcome.artifact is not None, outcome
    return [json.loads(line) for line in Path(outcome.artifact).read_text("utf-8").splitlines()]
