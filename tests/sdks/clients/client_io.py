"""What every client of this folder is told (argv: base URLs, a file of PCM or text) and how it answers (JSON).

Each STT client sends all its audio, waits until it has seen a partial, and then ends the stream.
"""

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

HTTP, WEBSOCKET, SOURCE = sys.argv[1:4]
KEY = "not-a-real-key"
CHUNK = 3200
"""100 ms of 16 kHz PCM."""


def pcm() -> bytes:
    return Path(SOURCE).read_bytes()


def chunks() -> Iterator[bytes]:
    whole = pcm()
    return (whole[start : start + CHUNK] for start in range(0, len(whole), CHUNK))


def text() -> str:
    return Path(SOURCE).read_text("utf-8")


def answer(**facts: Any) -> None:
    print(json.dumps(facts))
