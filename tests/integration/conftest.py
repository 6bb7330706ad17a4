"""Whole processes: the command line as a user starts it, and servers that follow a script."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.commands import Cli, Standin

STANDIN = Path(__file__).parents[1] / "standins" / "wyoming_standin.py"


@pytest.fixture
def standin() -> Iterator[Standin]:
    """Start scripted Wyoming servers, each in a process of its own."""
    processes: list[subprocess.Popen[str]] = []

    def start(script: str) -> str:
        process = subprocess.Popen(
            [sys.executable, str(STANDIN), script], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        processes.append(process)
        assert process.stdout is not None
        return f"wyoming/127.0.0.1:{process.stdout.readline().strip()}"

    yield start
    for process in processes:
        process.communicate()


@pytest.fixture
def cli(tmp_path: Path) -> Cli:
    """The command in an empty folder."""
    return Cli(tmp_path)
