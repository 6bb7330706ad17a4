"""A damaged file is found out, and the first wrong line is named."""

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sayagain.artifact import verify
from sayagain.errors import UnsupportedSchemaError
from sayagain.records import RunStatus


def test_a_whole_file_verifies(golden: Path) -> None:
    found = verify(golden)
    assert found.ok
    assert (found.rows, found.cases) == (5, 3)
    assert found.file_sha256 == hashlib.sha256(golden.read_bytes()).hexdigest()
    assert found.header is not None
    assert found.summary is not None


@pytest.mark.parametrize(
    ("old", "new", "line", "problem"),
    [
        (b'"value":100.5', b'"value":101.5', 7, "digest"),
        (b'"succeeded"', b'"Succeeded"', 2, "Invalid enum value"),
        (b'"seed":7', b'"seed":8', 7, "digest"),
        (b'"rows":5', b'"rows":6', 7, "rows is not"),
        (b'"rows_failed":2', b'"rows_failed":1', 7, "rows_failed is not"),
        (b'"not_run":2', b'"not_run":1', 7, "cases is not"),
        (b'"records":6', b'"records":7', 7, "records is not"),
        (b'"count":1', b'"count":2', 7, "buckets is not"),
        (b'"example":"nothing', b'"example":"Nothing', 7, "buckets is not"),
        (b'"failures_unlisted":0', b'"failures_unlisted":1', 7, "failures_unlisted is not"),
        (b'"status":"partial"', b'"status":"succeeded"', 7, "not every case succeeded"),
    ],
)
def test_damage_is_found_and_the_line_named(
    change: Callable[[bytes, bytes], Path], old: bytes, new: bytes, line: int, problem: str
) -> None:
    found = verify(change(old, new))
    assert not found.ok
    assert found.line == line
    assert problem in str(found.problem)
    assert not found.torn


def test_something_after_the_summary_is_found(tmp_path: Path, golden: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(golden.read_bytes() + b"\n")
    found = verify(path)
    assert (found.line, found.problem) == (8, "there is something after the summary")


def test_lines_in_another_order_are_found(tmp_path: Path, golden: Path) -> None:
    lines = golden.read_bytes().split(b"\n")
    lines[1], lines[2] = lines[2], lines[1]
    path = tmp_path / "a.jsonl"
    path.write_bytes(b"\n".join(lines))
    assert "digest" in str(verify(path).problem)


def resealed(rows: list[bytes], golden: Path, path: Path) -> Path:
    """Write rows with a digest that is right for them."""
    lines = golden.read_bytes().split(b"\n")
    before = b"\n".join([lines[0], *rows, b""])
    summary = json.loads(lines[-2])
    summary["sha256"] = hashlib.sha256(before).hexdigest()
    path.write_bytes(before + json.dumps(summary).encode() + b"\n")
    return path


def test_rows_of_a_case_that_do_not_follow_each_other_are_found(tmp_path: Path, golden: Path) -> None:
    rows = golden.read_bytes().split(b"\n")[1:-2]
    found = verify(resealed([rows[0], rows[2], rows[1], rows[3], rows[4]], golden, tmp_path / "a.jsonl"))
    assert (found.line, found.problem) == (4, "the rows of a case do not follow each other")


def test_the_first_of_several_wrong_lines_is_named(tmp_path: Path, golden: Path) -> None:
    rows = golden.read_bytes().split(b"\n")[1:-2]
    path = resealed([rows[0], rows[2], rows[1], rows[3], b"x"], golden, tmp_path / "a.jsonl")
    assert verify(path).line == 4


@settings(max_examples=60)
@given(cut=st.integers(1, 4000))
def test_a_torn_file_is_reported_as_torn_with_what_is_whole(
    tmp_path_factory: pytest.TempPathFactory, golden: Path, cut: int
) -> None:
    content = golden.read_bytes()[:-cut]
    path = tmp_path_factory.mktemp("torn") / "a.jsonl"
    path.write_bytes(content)
    found = verify(path)
    assert found.torn
    assert found.rows == min(5, max(0, content.count(b"\n") - 1))
    assert found.line == content.count(b"\n") + 1


@settings(max_examples=150)
@given(data=st.data())
def test_no_single_changed_byte_before_the_summary_goes_unseen(
    tmp_path_factory: pytest.TempPathFactory, golden: Path, data: st.DataObject
) -> None:
    content = bytearray(golden.read_bytes())
    at = data.draw(st.integers(0, content.rindex(b'{"record":"summary"') - 1))
    content[at] ^= data.draw(st.integers(1, 255))
    path = tmp_path_factory.mktemp("flip") / "a.jsonl"
    path.write_bytes(content)
    try:
        assert not verify(path).ok
    except UnsupportedSchemaError:
        assert b'"schema":"1.0"' not in content


def test_another_major_version_is_rejected(change: Callable[[bytes, bytes], Path]) -> None:
    with pytest.raises(UnsupportedSchemaError):
        verify(change(b'"schema":"1.0"', b'"schema":"2.0"'))


@pytest.mark.parametrize("status", list(RunStatus))
def test_what_is_written_verifies(tmp_path: Path, make: Any, status: RunStatus) -> None:
    rows = [make.row(1), make.row(1, "wer")] if status is RunStatus.SUCCEEDED else make.usual_rows()
    cases = 1 if status is RunStatus.SUCCEEDED else 3
    assert verify(make.write(tmp_path, rows, make.header(cases), status=status)).problem is None


def test_a_run_without_rows_verifies(tmp_path: Path, make: Any) -> None:
    assert verify(make.write(tmp_path, [], status=RunStatus.FAILED, finished=None)).ok


def test_a_long_run_with_many_causes_verifies(tmp_path: Path, make: Any) -> None:
    rows = (make.row(number, "ttfs", make.failure(number)) for number in range(7_000))
    found = verify(make.write(tmp_path, rows, make.header(7_000)))
    assert found.ok
    assert found.summary is not None
    assert found.summary.failures_unlisted == 6_000
