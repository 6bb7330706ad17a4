"""An engine whose behaviour is a setting, for the tests of the processes around it.

A folder given as a setting is where it says what it has done, and where it waits to be let on.
"""

import os
import sys
import time
from pathlib import Path

from sayagain.engines.interface import Progress, SttEngine, Utterance
from sayagain.engines.registry import EngineInfo
from sayagain.records import Benchmark


class Scripted(SttEngine):
    """Answers audio with the number of bytes it has heard, or with the behaviour it was given."""

    version = "1"

    def __init__(self, behaviour: str = "", folder: str = "") -> None:
        self.behaviour = behaviour
        self.folder = Path(folder)
        if behaviour == "refuse to load":
            raise RuntimeError("the model file is damaged")
        if behaviour == "die while loading":
            print("cannot allocate", file=sys.stderr)
            sys.stderr.flush()
            os._exit(5)
        if behaviour == "never load":
            time.sleep(3600)
        if behaviour == "load when told":
            (self.folder / "loading").touch()
            while not (self.folder / "go").exists():
                time.sleep(0.005)
        if behaviour == "chatter":
            print("a library prints to stdout")
            for number in range(20_000):
                print(f"line {number}", file=sys.stderr)

    def warm_up(self) -> None:
        """Leave a mark."""
        if self.behaviour == "load when told":
            (self.folder / "warm").touch()

    def begin(self) -> Utterance:
        """Start to count."""
        return Counting(self.behaviour)


class Counting(Utterance):
    """Counts bytes."""

    def __init__(self, behaviour: str) -> None:
        self.behaviour = behaviour
        self.heard = 0

    def accept(self, pcm: bytes) -> Progress:
        """Count, or misbehave."""
        if self.behaviour == "exit 3 on audio":
            os._exit(3)
        self.heard += len(pcm)
        return Progress(hypothesis=str(self.heard))

    def finish(self) -> Progress:
        """Tell the count."""
        return Progress(segments=(str(self.heard),), hypothesis=str(self.heard))

    def close(self) -> None:
        """Nothing is held."""


INFO = EngineInfo(
    name="scripted",
    benchmark=Benchmark.STT,
    model="counting",
    language="en-US",
    licence="Apache-2.0",
    author="The sayagain founders",
    url="https://example.org",
    implementation="support.scripted_engine:Scripted",
    description="Counts bytes",
    settings={"behaviour": "", "folder": ""},
)
