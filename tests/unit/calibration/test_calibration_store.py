"""This machine's calibration: kept, found again, and not taken for another's."""

from pathlib import Path

import msgspec
import pytest

from sayagain.calibration.store import save, stored
from sayagain.errors import SayagainError
from sayagain.records import Calibration, CalibrationLevel
from sayagain.runner.identity import runner_info

RUNNER = runner_info(())
FOUND = Calibration(
    measured="2026-01-01T00:00:00.000Z",
    version=RUNNER.version,
    python=RUNNER.python,
    platform=RUNNER.platform,
    levels=(CalibrationLevel(streams=1, samples={"ttft": 3}, p50_ms={"ttft": 0.2}, p99_ms={"ttft": 0.4}),),
)


def test_it_is_found_where_it_was_saved_and_replaces_the_one_before(tmp_path: Path) -> None:
    file = str(tmp_path / "state" / "calibration.json")
    assert stored(file, RUNNER) is None
    save(msgspec.structs.replace(FOUND, measured="2025-01-01T00:00:00.000Z"), file)
    save(FOUND, file)
    assert stored(file, RUNNER) == FOUND
    assert [path.name for path in (tmp_path / "state").iterdir()] == ["calibration.json"]


@pytest.mark.parametrize("content", [b"", b"{}", b"\xff", b'{"measured": 1}'])
def test_a_file_that_is_none_is_ignored(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "calibration.json"
    path.write_bytes(content)
    assert stored(str(path), RUNNER) is None


def test_one_from_another_python_is_ignored(tmp_path: Path) -> None:
    file = str(tmp_path / "calibration.json")
    save(msgspec.structs.replace(FOUND, python="3.0.1"), file)
    assert stored(file, RUNNER) is None


def test_where_it_cannot_be_written_is_said_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("not a folder")
    with pytest.raises(SayagainError, match="SAYAGAIN_CALIBRATION") as caught:
        save(FOUND, str(tmp_path / "file" / "calibration.json"))
    assert "\n" not in str(caught.value)
