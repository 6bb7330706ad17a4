"""Output that cannot be written: a reader who leaves, a full disk, a stream that is not there."""

import subprocess
import sys
from pathlib import Path

import pytest

SAYAGAIN = [sys.executable, "-m", "sayagain"]


def shell(command: str, folder: Path) -> "subprocess.CompletedProcess[str]":
    line = f"set -o pipefail; {command.replace('sayagain', ' '.join(SAYAGAIN))}"
    return subprocess.run(["bash", "-c", line], cwd=folder, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("command", ["sayagain models list >/dev/full", "sayagain --help >/dev/full"])
def test_a_full_disk_is_said_in_one_line(tmp_path: Path, command: str) -> None:
    done = shell(command, tmp_path)
    assert done.returncode == 1
    assert "No space left" in done.stderr
    assert "fault" not in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_a_reader_who_leaves_is_not_an_error_to_talk_about(tmp_path: Path) -> None:
    done = shell("sayagain models list | head -c 1", tmp_path)
    assert done.stderr == ""


@pytest.mark.parametrize("closed", [">&-", "2>&-", ">&- 2>&-"])
def test_a_stream_that_is_not_there_is_written_to_nowhere(tmp_path: Path, closed: str) -> None:
    assert shell(f"sayagain models list {closed}", tmp_path).returncode == 0


@pytest.mark.engines
@pytest.mark.parametrize("to", [">/dev/full", "| head -c 5", ">&-", "2>/dev/full"])
def test_a_run_goes_on_when_nobody_can_read_about_it(tmp_path: Path, to: str) -> None:
    done = shell(f"sayagain run --models espeak --sample 3 {to}", tmp_path)
    assert done.returncode == 0, done.stderr
    shown = shell("sayagain runs list --json", tmp_path)
    assert '"status":"succeeded"' in shown.stdout.replace(" ", "")
