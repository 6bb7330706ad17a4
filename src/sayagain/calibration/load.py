"""The work that is measured: distinct utterances and prompts, answered by a stand-in at random moments."""

import hashlib
import json
import subprocess
import sys
import wave
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from sayagain.datasets.manifest import MANIFEST_FILE, Dataset, encode
from sayagain.errors import SayagainError
from sayagain.records import Benchmark, Item, SpeechSpan

RATE = 16_000
CHUNK_S = 0.1
"""Longer than most targets' chunks, so that 256 streams are work that two processors can do."""

UTTERANCE_S = 2.0
"""Each is noise: what it sounds like does not matter, only that no two are the same."""

STT = "stt-deepgram"
TTS = "tts-deepgram"
"""The protocols that are spoken; how a message is framed hardly matters, and these are the least work to read."""

TEXT = "so it goes on and on until somebody says that it is enough and everybody may go home"
"""What is heard in every utterance."""

STARTING_S = 30.0
"""How long the stand-in is given to say that it is ready, in seconds."""


class Load(msgspec.Struct, frozen=True, kw_only=True):
    """How much is done: `cases` in each direction, `streams` at once."""

    streams: int
    cases: int


def utterance(number: int) -> bytes:
    """Return the PCM of an utterance: 16-bit mono at `RATE`."""
    noise = np.random.default_rng(number).integers(-8000, 8000, round(RATE * UTTERANCE_S), dtype=np.int16)
    return noise.astype("<i2").tobytes()


def prompt(number: int) -> str:
    """Return a prompt."""
    return f"Say number {number} aloud."


def stagger_s(number: int) -> float:
    """Return how long a case waits before it starts, in seconds: streams that begin together never part again."""
    return float(np.random.default_rng(number).random()) * UTTERANCE_S


def write_datasets(folder: Path, load: Load) -> tuple[Path, Path]:
    """Write the utterances and the prompts; return the two manifests."""
    spoken = folder / "utterances"
    spoken.mkdir()
    heard = _write(spoken, Benchmark.STT, tuple(_item(spoken, number) for number in range(load.cases)))
    prompts = folder / "prompts"
    prompts.mkdir()
    return heard, _write(prompts, Benchmark.TTS, tuple(_prompt(number) for number in range(load.cases)))


@contextmanager
def standing_in(folder: Path) -> Iterator[str]:
    """Run a stand-in in a process of its own; yield its base URL. Its record is `record.jsonl` in the folder.

    Raises:
        SayagainError: It does not start.
    """
    (folder / "scenario.json").write_text(json.dumps(_scenario()), "utf-8")
    command = [
        sys.executable,
        "-m",
        "sayagain",
        "simulate",
        "--scenario",
        "scenario.json",
        "--log",
        "record.jsonl",
    ]
    process = subprocess.Popen(command, cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    try:
        assert process.stdout is not None  # noqa: S101 - asked for above
        announced = process.stdout.readline()
        if not announced:
            raise SayagainError(f"The stand-in did not start (exit {process.wait(STARTING_S)}).")
        yield str(msgspec.json.decode(announced)["base"])
    finally:
        process.communicate(timeout=STARTING_S)


def recorded(folder: Path) -> list[dict[str, Any]]:
    """Return what the stand-in recorded, once it has ended."""
    return [msgspec.json.decode(line) for line in (folder / "record.jsonl").read_bytes().splitlines()]


def _scenario() -> Mapping[str, Any]:
    """Answer at moments that no client can foresee, and often, so that a short run has many of them."""
    return {
        "stt": {
            "first_partial": {"distribution": "uniform", "low_ms": 40, "high_ms": 160},
            "partial_interval": {"distribution": "uniform", "low_ms": 80, "high_ms": 160},
            "finalization": {"distribution": "uniform", "low_ms": 50, "high_ms": 150},
            "fallback": TEXT,
        },
        "tts": {
            "first_audio": {"distribution": "uniform", "low_ms": 50, "high_ms": 150},
            "chunk_interval": {"distribution": "uniform", "low_ms": 60, "high_ms": 120},
            "chunk_ms": 100,
            "ms_per_character": 100,
        },
    }


def _item(folder: Path, number: int) -> Item:
    path = folder / f"{number}.wav"
    with wave.open(str(path), "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(RATE)
        file.writeframes(utterance(number))
    return Item(
        id=f"noise-{number}",
        text=TEXT,
        sha256=hashlib.sha256(path.read_bytes()).hexdigest(),
        audio=path.name,
        duration_s=UTTERANCE_S,
        speech=SpeechSpan(start_s=0.0, end_s=UTTERANCE_S, vad="none"),
    )


def _prompt(number: int) -> Item:
    text = prompt(number)
    return Item(id=f"prompt-{number}", text=text, sha256=hashlib.sha256(text.encode()).hexdigest())


def _write(folder: Path, benchmark: Benchmark, items: tuple[Item, ...]) -> Path:
    dataset = Dataset(
        id=f"calibration-{benchmark}",
        version="1",
        benchmark=benchmark,
        licence="CC0-1.0",
        origin="made for one measurement",
        language="en",
        items=items,
        root=folder,
    )
    path = folder / MANIFEST_FILE
    path.write_bytes(encode(dataset))
    return path
