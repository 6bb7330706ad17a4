"""Where a run may and may not write its artifact: directories of other users, full, read-only and shared ones."""

import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from support.commands import Cli, Standin, events

STRANGER = 65_532
"""A user with no name and no rights: the one of the container image."""

QUICK = ("--kind", "tts", "--attempts", "1")

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="becoming another user and mounting need root")


@pytest.fixture
def stranger() -> Iterator[Cli]:
    """The command as an unprivileged user, in a folder of that user's own that others can reach."""
    with tempfile.TemporaryDirectory() as name:
        Path(name).chmod(0o755)
        folder = Path(name) / "work"
        folder.mkdir()
        os.chown(folder, STRANGER, STRANGER)
        cli = Cli(folder, env={"HOME": str(folder)}, user=STRANGER)
        if not works(cli):
            cli.python = f"/usr/bin/python{sys.version_info.major}.{sys.version_info.minor}"
            cli.env["PYTHONPATH"] = os.pathsep.join(path for path in sys.path if not is_own_library(path))
            if not works(cli):
                pytest.skip("no interpreter with our packages that another user can reach")
        yield cli


def works(cli: Cli) -> bool:
    """Tell whether the command can be started at all; an interpreter in a closed home cannot."""
    try:
        return (
            subprocess.run(
                cli.command("--version"), env=cli.environment(), capture_output=True, check=False, **cli.identity()
            ).returncode
            == 0
        )
    except OSError:
        return False


def is_own_library(path: str) -> bool:
    """Tell whether a path of modules belongs to this very interpreter, and not to our packages."""
    return Path(path).is_relative_to(sys.base_prefix) or not path


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 64 KiB that is really full after that."""
    directory = tmp_path / "disk"
    directory.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=64k", "none", str(directory)], capture_output=True, check=False
    )
    if mounted.returncode:
        pytest.skip("mounting is not allowed here")
    yield directory
    subprocess.run(["umount", str(directory)], check=True)


def names(stderr: str) -> list[str]:
    return [event["event"] for event in events(stderr)]


def the_event(stderr: str, name: str) -> dict[str, Any]:
    (found,) = (event for event in events(stderr) if event["event"] == name)
    return found


@needs_root
def test_an_unprivileged_user_runs_in_a_directory_of_its_own(stranger: Cli, standin: Standin) -> None:
    stranger("run", "--models", standin("ok"), *QUICK, "--sample", "2", "--require-artifact")
    artifact = stranger.artifact()
    assert artifact.stat().st_uid == STRANGER
    assert artifact.stat().st_mode & 0o777 == 0o600
    assert list(artifact.parent.iterdir()) == [artifact]
    stranger("artifact", "verify", str(artifact))


@needs_root
@pytest.mark.parametrize("owner", [0, 1234])
def test_a_directory_of_another_user_is_reported_before_and_after_and_the_run_is_unaffected(
    stranger: Cli, standin: Standin, owner: int
) -> None:
    """What happens in a container when a host's directory is mounted and --user is forgotten."""
    directory = stranger.folder / "artifacts"
    directory.mkdir(mode=0o755)
    os.chown(directory, owner, owner)
    done = stranger("run", "--models", standin("ok"), *QUICK, "--sample", "2")
    assert names(done.stderr) == [
        "run_artifact_directory_unusable",
        "run_started",
        "run_finished",
        "run_artifact_write_failed",
    ]
    for name in ("run_artifact_directory_unusable", "run_artifact_write_failed"):
        reason = the_event(done.stderr, name)["reason"]
        assert f"belongs to user {owner} with mode 0755, and this program runs as user {STRANGER}" in reason
        assert "change its owner or mode, or run the program (a container: --user) as its owner" in reason
    assert "succeeded" in done.stdout
    assert list(directory.iterdir()) == []
    os.chown(directory, STRANGER, STRANGER)
    stranger("artifact", "export", "latest")
    stranger("artifact", "verify", str(stranger.artifact()))


@needs_root
def test_a_required_artifact_that_cannot_be_written_is_an_error_before_the_first_case(
    stranger: Cli, standin: Standin
) -> None:
    directory = stranger.folder / "artifacts"
    directory.mkdir(mode=0o755)
    model = standin("ok")
    done = stranger("run", "--models", model, *QUICK, "--require-artifact", code=2)
    (line,) = done.stderr.splitlines()
    assert "belongs to user 0" in line
    assert "--user" in line
    assert not (stranger.folder / "sayagain.db").exists()
    stranger.env["SAYAGAIN_REQUIRE_ARTIFACT"] = "true"
    assert "belongs to user 0" in stranger("run", "--models", model, *QUICK, code=2).stderr


@needs_root
def test_a_read_only_directory_of_its_own_is_reported(stranger: Cli, standin: Standin) -> None:
    directory = stranger.folder / "artifacts"
    directory.mkdir()
    os.chown(directory, STRANGER, STRANGER)
    directory.chmod(0o555)
    done = stranger("run", "--models", standin("ok"), *QUICK, "--sample", "1")
    assert "mode 0555" in the_event(done.stderr, "run_artifact_write_failed")["reason"]
    assert list(directory.iterdir()) == []


@needs_root
@pytest.mark.parametrize(("flags", "code"), [((), 0), (("--require-artifact",), 1)])
def test_a_disk_that_fills_up_leaves_the_run_as_it_was_and_no_temporary_file(
    cli: Cli, standin: Standin, small_disk: Path, flags: tuple[str, ...], code: int
) -> None:
    cli.env["RUN_ARTIFACT_DIR"] = str(small_disk)
    done = cli("run", "--models", standin("ok"), *QUICK, "--repeat", "4", *flags, code=code)
    assert names(done.stderr) == ["run_started", "run_finished", "run_artifact_write_failed"]
    assert "used up; free some space" in the_event(done.stderr, "run_artifact_write_failed")["reason"]
    assert list(small_disk.iterdir()) == []
    (run,) = cli.json("runs", "list")
    assert (run["status"], run["counts"]["succeeded"]) == ("succeeded", 120)
    cli("artifact", "export", "latest", "--to", "elsewhere")


@needs_root
def test_a_read_only_file_system_is_reported_before_and_after(
    cli: Cli, standin: Standin, small_disk: Path
) -> None:
    subprocess.run(["mount", "-o", "remount,ro", str(small_disk)], check=True)
    cli.env["RUN_ARTIFACT_DIR"] = str(small_disk)
    done = cli("run", "--models", standin("ok"), *QUICK, "--sample", "1")
    for name in ("run_artifact_directory_unusable", "run_artifact_write_failed"):
        assert "read-only file system; mount it writable" in the_event(done.stderr, name)["reason"]


def test_a_directory_removed_during_the_run_is_not_made_again_and_the_mend_is_said(
    cli: Cli, standin: Standin
) -> None:
    process = cli.start("run", "--models", standin("ok,hang"), *QUICK, "--grace", "0.2", "--idle-timeout", "600")
    assert process.stdout is not None
    assert any(line.startswith("[1/30]") for line in process.stdout)
    directory = cli.folder / "artifacts"
    directory.rmdir()
    process.send_signal(signal.SIGTERM)
    _, stderr = process.communicate(timeout=60)
    assert process.returncode == 143
    reason = the_event(stderr, "run_artifact_write_failed")["reason"]
    assert "does not exist (any more); create it, or mount what it is on, and export the run again" in reason
    assert not directory.exists()
    cli("artifact", "export", "latest")
    cli("artifact", "verify", str(cli.artifact()))


def test_two_runs_at_once_never_collide_in_one_directory_and_one_ledger(cli: Cli, standin: Standin) -> None:
    cli("db", "upgrade")
    processes = [cli.start("run", "--models", standin("ok"), *QUICK, "--sample", "5") for _ in range(2)]
    for process in processes:
        _, stderr = process.communicate(timeout=120)
        assert process.returncode == 0, stderr
    left = sorted((cli.folder / "artifacts").iterdir())
    assert len(left) == 2
    cli("artifact", "verify", *map(str, left))
    runs = {run["run_id"] for run in cli.json("runs", "list")}
    assert {path.stem.rsplit("Z-", 1)[1] for path in left} == runs


def test_a_required_artifact_without_a_place_is_an_error(cli: Cli, standin: Standin) -> None:
    cli.env["RUN_ARTIFACT_DIR"] = ""
    done = cli("run", "--models", standin("ok"), *QUICK, "--require-artifact", code=2)
    assert "set RUN_ARTIFACT_DIR" in done.stderr
