"""Whole processes: the command line as a user starts it, and what it printed."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

Standin = Callable[[str], str]
"""Starts a Wyoming server with a script and returns what --models calls it."""


@dataclass
class Cli:
    """The `sayagain` command in a folder of its own, with a ledger and artifacts there.

    `user` is the id of the user and group that it runs as, when that is not our own; only root may say another.
    """

    folder: Path
    env: dict[str, str] = field(default_factory=dict)
    user: int | None = None
    python: str = sys.executable

    def command(self, *args: str) -> list[str]:
        return [self.python, "-m", "sayagain", *args]

    def environment(self) -> dict[str, str]:
        kept = {name: os.environ[name] for name in ("PATH", "HOME", "LANG") if name in os.environ}
        return kept | {"RUN_ARTIFACT_DIR": "artifacts"} | self.env

    def identity(self) -> dict[str, Any]:
        if self.user is None:
            return {}
        return {"user": self.user, "group": self.user, "extra_groups": ()}

    def start(self, *args: str) -> subprocess.Popen[str]:
        """Start the command and leave it running, as the leader of a group of its own."""
        return subprocess.Popen(
            self.command(*args),
            cwd=self.folder,
            env=self.environment(),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
            **self.identity(),
        )

    def __call__(self, *args: str, code: int = 0) -> subprocess.CompletedProcess[str]:
        """Run the command to its end and require its exit code."""
        done = subprocess.run(
            self.command(*args),
            cwd=self.folder,
            env=self.environment(),
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
            **self.identity(),
        )
        assert done.returncode == code, f"exit {done.returncode}\n{done.stdout}\n{done.stderr}"
        assert "Traceback" not in done.stderr
        return done

    def json(self, *args: str, code: int = 0) -> Any:
        """Run the command with --json and return what it printed."""
        return json.loads(self(*args, "--json", code=code).stdout)

    def artifact(self) -> Path:
        """Return the one artifact that was written."""
        (path,) = (self.folder / "artifacts").glob("*.jsonl")
        return path


def events(stderr: str) -> list[dict[str, Any]]:
    """Return the log events of a process whose stderr was not a terminal."""
    return [json.loads(line) for line in stderr.splitlines() if line.startswith("{")]


def require_whole(report: dict[str, Any]) -> None:
    """Require that no planned case was lost."""
    cases = report["cases"]
    assert cases["planned"] == cases["succeeded"] + cases["failed"] + cases["not_run"]
