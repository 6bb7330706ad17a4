"""An artifact is there whole, or not at all, and then the reason says what would mend it."""

import errno
import json
import math
import os
import stat
import subprocess
import sys
import tempfile
import textwrap
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sayagain.artifact import check_directory, read_artifact, verify
from sayagain.artifact.lines import MAX_LINE_BYTES
from sayagain.artifact.writing import artifact_name
from sayagain.errors import ArtifactWriteError
from sayagain.failures import KINDS
from sayagain.records import Failure, FailureKind, Phase, ResultRow

NOBODY = 65534


def content(directory: Path) -> list[str]:
    return sorted(path.name for path in directory.iterdir())


def test_an_artifact_is_named_after_its_start_and_run(tmp_path: Path, make: Any) -> None:
    path = make.write(tmp_path, make.usual_rows())
    assert path == tmp_path / "run-20251104T101530Z-0198c5f2a3b4.jsonl"
    assert content(tmp_path) == [path.name]


@pytest.mark.parametrize(
    ("run_id", "started", "name"),
    [
        ("../../etc/x", "2025-11-04T10:15:30+00:00", "run-20251104T101530Z-..-..-etc-x.jsonl"),
        ("a b\n", "2025-11-04 10:15:30Z", "run-20251104T101530Z-a-b-.jsonl"),
        ("", "yesterday", "run-unknown-unknown.jsonl"),
    ],
)
def test_a_name_never_leaves_the_directory(make: Any, run_id: str, started: str, name: str) -> None:
    assert artifact_name(make.header(run_id=run_id, started=started)) == name


@pytest.mark.parametrize(("umask", "mode"), [(0o022, 0o600), (0o000, 0o600), (0o277, 0o400)])
def test_only_the_owner_can_read_it(tmp_path: Path, make: Any, umask: int, mode: int) -> None:
    before = os.umask(umask)
    try:
        path = make.write(tmp_path, make.usual_rows())
    finally:
        os.umask(before)
    assert stat.S_IMODE(path.stat().st_mode) == mode


def test_counts_and_buckets_come_from_the_rows(tmp_path: Path, make: Any) -> None:
    summary = read_artifact(make.write(tmp_path, make.usual_rows(), reason="stopped")).summary
    assert (summary.rows, summary.rows_failed, summary.records) == (3, 1, 4)
    assert (summary.cases.succeeded, summary.cases.failed, summary.cases.not_run) == (1, 1, 1)
    assert [bucket.metrics for bucket in summary.buckets] == [("ttfa",)]
    assert summary.reason == "stopped"


@pytest.mark.parametrize("number", [math.nan, math.inf, -math.inf])
def test_a_number_that_is_not_finite_is_null_with_a_reason(tmp_path: Path, make: Any, number: float) -> None:
    rows = [
        make.row(1, value=number, connect_ms=number, loop_lag_ms=number, detail={"S": 1.0, "N": number}),
        make.row(2, value=number, reason="no reference"),
        make.row(3, value=1.7e308, connect_ms=1.7e308),
    ]
    path = make.write(tmp_path, rows)
    first, second, third = read_artifact(path).rows()
    assert (first.value, first.connect_ms, first.loop_lag_ms, first.detail) == (None, None, None, {"S": 1.0})
    assert first.reason == "a number was not finite"
    assert second.reason == "no reference"
    assert (third.value, third.reason) == (1.7e308, None)
    assert verify(path).ok


def test_a_failure_that_was_never_sanitized_does_not_say_what_it_says(tmp_path: Path, make: Any) -> None:
    raw = Failure(
        kind=FailureKind.AUTH, phase=Phase.OPEN, message="key sk-123 for jane@example.com", code="a secret"
    )
    path = make.write(tmp_path, [make.row(1, fails=raw)])
    (row,) = read_artifact(path).rows()
    assert row.failure is not None
    assert row.failure.message == KINDS[FailureKind.AUTH].meaning
    assert row.failure.code is None
    assert row.failure.fingerprint is not None
    assert b"sk-123" not in path.read_bytes()


def test_lone_surrogates_are_replaced(tmp_path: Path, make: Any) -> None:
    cause = make.failure(1, message="bad \ud800", code="\ud800", fingerprint="\ud800")
    rows = [make.row(1, item_id="a\ud800b", detail={"\udfff": 1.0}), make.row(2), make.row(3, fails=cause)]
    path = make.write(tmp_path, rows, make.header(run_id="x", normalizer="\ud800"))
    assert verify(path).ok
    assert [row.item_id for row in read_artifact(path).rows()] == ["a\ufffdb", "utterance-2", "utterance-3"]


@given(text=st.text(st.characters(min_codepoint=0, max_codepoint=0x10FFFF)), value=st.floats() | st.none())
def test_whatever_a_row_holds_what_is_written_verifies(
    tmp_path_factory: pytest.TempPathFactory, make: Any, text: str, value: float | None
) -> None:
    row = make.row(1, item_id=text, reason=text, unit=text, started=text, value=value, detail={text: value or 0.0})
    assert verify(make.write(tmp_path_factory.mktemp("any"), [row])).problem is None


def test_a_record_longer_than_a_line_may_be_is_refused(tmp_path: Path, make: Any) -> None:
    with pytest.raises(ArtifactWriteError, match="longer than"):
        make.write(tmp_path, [make.row(1, item_id="x" * MAX_LINE_BYTES)])
    assert content(tmp_path) == []


def test_long_rows_are_written_one_by_one(tmp_path: Path, make: Any) -> None:
    rows = [make.row(number, item_id="x" * 1_000_000) for number in range(9)]
    assert verify(make.write(tmp_path, rows, make.header(9))).ok


def test_rows_that_do_not_follow_each_other_are_refused(tmp_path: Path, make: Any) -> None:
    with pytest.raises(ArtifactWriteError, match=r"row 3"):
        make.write(tmp_path, [make.row(1), make.row(2), make.row(1, "wer")])
    assert content(tmp_path) == []


@pytest.mark.parametrize(("cases", "planned"), [(3, 4), (1, 1)])
def test_a_plan_that_does_not_fit_the_rows_is_refused(tmp_path: Path, make: Any, cases: int, planned: int) -> None:
    with pytest.raises(ArtifactWriteError, match="please report this"):
        make.write(tmp_path, make.usual_rows(), make.header(cases), planned=planned)
    assert content(tmp_path) == []


class LedgerGoneError(Exception):
    """What the ledger raises in the middle of its rows."""


@pytest.mark.parametrize("error", [LedgerGoneError, KeyboardInterrupt, OSError])
def test_when_the_rows_end_in_an_error_it_passes_and_nothing_stays(
    tmp_path: Path, make: Any, error: type[BaseException]
) -> None:
    def rows() -> Iterator[ResultRow]:
        yield from (make.row(number) for number in range(2000))
        raise error

    with pytest.raises(error):
        make.write(tmp_path, rows(), make.header(2000))
    assert content(tmp_path) == []


@pytest.mark.parametrize("kind", ["file", "link to a file", "dangling link", "directory"])
def test_what_has_the_name_is_never_replaced_or_followed(tmp_path: Path, make: Any, kind: str) -> None:
    directory = tmp_path / "artifacts"
    directory.mkdir()
    taken, other = directory / artifact_name(make.header()), tmp_path / "other"
    if kind == "file":
        taken.write_text("precious")
    elif kind == "directory":
        taken.mkdir()
    else:
        taken.symlink_to(other)
        if kind == "link to a file":
            other.write_text("precious")
    with pytest.raises(ArtifactWriteError, match="never replaced; move it"):
        make.write(directory, make.usual_rows())
    assert content(directory) == [taken.name]
    assert other.exists() == (kind == "link to a file")
    if kind in ("file", "link to a file"):
        assert taken.read_text() == "precious"


def test_a_link_in_place_of_the_temporary_file_is_not_followed(
    tmp_path: Path, make: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    directory, other = tmp_path / "artifacts", tmp_path / "other"
    directory.mkdir()
    other.write_text("precious")
    monkeypatch.setattr("sayagain.artifact.files.secrets.token_hex", lambda _: "known")
    (directory / ".sayagain-known.tmp").symlink_to(other)
    with pytest.raises(ArtifactWriteError):
        make.write(directory, make.usual_rows())
    assert other.read_text() == "precious"
    assert content(directory) == [".sayagain-known.tmp"]


def test_many_runs_at_once_never_collide(tmp_path: Path, make: Any) -> None:
    def run(number: int) -> Path:
        path: Path = make.write(tmp_path, make.usual_rows(), make.header(run_id=f"run-{number}"))
        return path

    with ThreadPoolExecutor(8) as pool:
        paths = list(pool.map(run, range(24)))
    assert content(tmp_path) == sorted(path.name for path in paths)
    assert all(verify(path).ok for path in paths)


def test_of_two_exports_of_one_run_at_once_one_is_kept(tmp_path: Path, make: Any) -> None:
    def run(_: int) -> bool:
        try:
            make.write(tmp_path, (make.row(number) for number in range(3000)), make.header(3000))
        except ArtifactWriteError:
            return False
        return True

    with ThreadPoolExecutor(4) as pool:
        assert sum(pool.map(run, range(4))) == 1
    (name,) = content(tmp_path)
    assert verify(tmp_path / name).ok


@pytest.mark.parametrize("code", [errno.EPERM, errno.EOPNOTSUPP, errno.ENOSYS])
def test_a_file_system_without_hard_links_will_do(
    tmp_path: Path, make: Any, monkeypatch: pytest.MonkeyPatch, code: int
) -> None:
    def no_links(*_: object, **__: object) -> None:
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(os, "link", no_links)
    path = make.write(tmp_path, make.usual_rows())
    assert content(tmp_path) == [path.name]
    assert verify(path).ok
    with pytest.raises(ArtifactWriteError, match="never replaced"):
        make.write(tmp_path, make.usual_rows())
    assert verify(path).ok


def test_without_hard_links_a_failed_rename_leaves_nothing(
    tmp_path: Path, make: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSYS, "no")

    monkeypatch.setattr(os, "link", refuse)
    monkeypatch.setattr(os, "rename", refuse)
    with pytest.raises(ArtifactWriteError):
        make.write(tmp_path, make.usual_rows())
    assert content(tmp_path) == []


def test_a_file_system_that_cannot_sync_directories_will_do(
    tmp_path: Path, make: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    sync = os.fsync

    def only_files(file: int) -> None:
        if stat.S_ISDIR(os.fstat(file).st_mode):
            raise OSError(errno.EINVAL, "no")
        sync(file)

    monkeypatch.setattr(os, "fsync", only_files)
    assert verify(make.write(tmp_path, make.usual_rows())).ok


def test_file_and_directory_are_durable_before_the_name_is_told(
    tmp_path: Path, make: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[str] = []
    sync, link = os.fsync, os.link

    def noted_sync(file: int) -> None:
        calls.append("directory" if stat.S_ISDIR(os.fstat(file).st_mode) else "file")
        sync(file)

    def noted_link(*args: Any, **names: Any) -> None:
        calls.append("name")
        link(*args, **names)

    monkeypatch.setattr(os, "fsync", noted_sync)
    monkeypatch.setattr(os, "link", noted_link)
    make.write(tmp_path, make.usual_rows())
    assert calls == ["file", "name", "directory"]


def test_a_directory_removed_while_rows_are_written_is_reported(tmp_path: Path, make: Any) -> None:
    directory = tmp_path / "artifacts"
    directory.mkdir()

    def rows() -> Iterator[ResultRow]:
        yield from (make.row(number) for number in range(1000))
        for name in content(directory):
            (directory / name).unlink()
        directory.rmdir()
        yield make.row(1000)

    with pytest.raises(ArtifactWriteError, match="does not exist"):
        make.write(directory, rows(), make.header(1001))
    assert content(tmp_path) == []


def test_a_directory_renamed_while_rows_are_written_keeps_its_artifact(tmp_path: Path, make: Any) -> None:
    directory = tmp_path / "artifacts"
    directory.mkdir()

    def rows() -> Iterator[ResultRow]:
        yield make.row(1)
        directory.rename(tmp_path / "moved")
        directory.mkdir()

    name = make.write(directory, rows()).name
    assert content(tmp_path / "moved") == [name]
    assert content(directory) == []


@pytest.mark.parametrize(
    ("place", "mend"),
    [
        ("missing", "does not exist"),
        ("a file", "not a directory"),
        ("a file/below", "not a directory"),
        ("long" * 100, "too long"),
        ("circle", "circle of symbolic links"),
    ],
)
def test_a_place_that_is_no_directory_is_named_with_the_mend(
    tmp_path: Path, make: Any, place: str, mend: str
) -> None:
    (tmp_path / "a file").write_text("")
    (tmp_path / "circle").symlink_to(tmp_path / "circle")
    with pytest.raises(ArtifactWriteError, match=mend) as caught:
        make.write(tmp_path / place, make.usual_rows())
    assert str(tmp_path / place) in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_run_id_too_long_for_a_name_is_reported(tmp_path: Path, make: Any) -> None:
    with pytest.raises(ArtifactWriteError, match="too long"):
        make.write(tmp_path, [], make.header(run_id="x" * 300))
    assert content(tmp_path) == []


def in_a_process(body: str, directory: Path) -> str:
    """Run code in a process of its own, with the builders at hand, and return what it prints."""
    program = textwrap.dedent(f"""
        import os, resource, sys
        import numpy  # now: another user may not reach this interpreter's library
        sys.path.insert(0, {str(Path(__file__).parent)!r})
        from conftest import header, row, write
        from sayagain.artifact import check_directory
        from sayagain.errors import ArtifactWriteError
        from pathlib import Path
        directory = Path({str(directory)!r})
        rows = (row(number) for number in range(2000))
        try:
            {{body}}
        except ArtifactWriteError as error:
            print(error)
    """).replace("{body}", textwrap.indent(textwrap.dedent(body).strip(), " " * 4).strip())
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_full_disk_is_reported_and_nothing_stays(tmp_path: Path) -> None:
    """A limit on the size of files makes a write end as it does on a full disk: in the middle, with an error."""
    said = in_a_process(
        """
        resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))
        write(directory, rows, header(2000))
        """,
        tmp_path,
    )
    assert "used up; free some space" in said
    assert content(tmp_path) == []


@pytest.mark.skipif(os.geteuid() != 0, reason="mounting needs root")
def test_a_really_full_file_system_is_reported_and_nothing_stays(tmp_path: Path, make: Any) -> None:
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=64k", "none", str(tmp_path)], capture_output=True, check=False
    )
    if mounted.returncode:
        pytest.skip("mounting is not allowed here")
    try:
        with pytest.raises(ArtifactWriteError, match="used up; free some space"):
            make.write(tmp_path, (make.row(number) for number in range(2000)), make.header(2000))
        assert content(tmp_path) == []
        subprocess.run(["mount", "-o", "remount,ro", str(tmp_path)], check=True)
        with pytest.raises(ArtifactWriteError, match="read-only file system"):
            check_directory(tmp_path)
    finally:
        subprocess.run(["umount", str(tmp_path)], check=True)


@pytest.fixture
def open_directory() -> Iterator[Path]:
    """Return a directory that other users can reach; pytest closes its own to them, now and again."""
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name) / "artifacts"
        directory.mkdir()
        directory.parent.chmod(0o755)
        if any(not parent.stat().st_mode & 0o001 for parent in directory.parents):
            pytest.skip("temporary directories are closed to other users here")
        yield directory


AS_NOBODY = f"os.setgroups([]); os.setgid({NOBODY}); os.setuid({NOBODY})" if os.geteuid() == 0 else "pass"


@pytest.mark.parametrize(
    ("verb", "place"),
    [
        ("write(directory, rows, header(2000))", "."),
        ("check_directory(directory)", "."),
        ("check_directory(directory)", "below/it"),
    ],
)
def test_a_directory_that_is_not_ours_is_reported_with_its_owner(
    open_directory: Path, verb: str, place: str
) -> None:
    directory = open_directory
    directory.chmod(0o555)
    try:
        said = in_a_process(f"{AS_NOBODY}\n{verb}", directory / place)
    finally:
        directory.chmod(0o755)
    user = NOBODY if os.geteuid() == 0 else os.geteuid()
    assert f"belongs to user {os.geteuid()} with mode 0555, and this program runs as user {user};" in said
    assert "--user" in said
    assert content(directory) == []


@pytest.mark.skipif(os.geteuid() != 0, reason="becoming another user needs root")
def test_an_unprivileged_user_writes_to_a_directory_of_its_own(open_directory: Path) -> None:
    directory = open_directory
    os.chown(directory, NOBODY, NOBODY)
    verb = "check_directory(directory); write(directory, rows, header(2000))"
    assert in_a_process(f"{AS_NOBODY}\n{verb}", directory) == ""
    (name,) = content(directory)
    assert (directory / name).stat().st_uid == NOBODY
    assert verify(directory / name).ok


def test_the_check_creates_a_missing_directory_and_leaves_it_empty(tmp_path: Path) -> None:
    check_directory(tmp_path / "a" / "b")
    check_directory(str(tmp_path / "a" / "b"))
    assert content(tmp_path / "a" / "b") == []


@pytest.mark.parametrize("place", ["a file", "a file/below", "dangling"])
def test_the_check_reports_a_place_that_cannot_be_a_directory(tmp_path: Path, place: str) -> None:
    (tmp_path / "a file").write_text("")
    (tmp_path / "dangling").symlink_to(tmp_path / "nowhere")
    with pytest.raises(ArtifactWriteError):
        check_directory(tmp_path / place)


def test_a_directory_behind_a_link_will_do(tmp_path: Path, make: Any) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    check_directory(tmp_path / "link")
    make.write(tmp_path / "link", make.usual_rows())
    assert len(content(tmp_path / "real")) == 1


def test_memory_does_not_grow_with_the_rows(tmp_path: Path) -> None:
    """Twenty megabytes of rows in a process that may grow by ten."""
    said = in_a_process(
        """
        write(directory, (row(number) for number in range(2000)), header(2000))
        limit = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize() + 10_000_000
        resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
        write(directory, (row(number) for number in range(40_000)), header(40_000, run_id="long"))
        print("written")
        """,
        tmp_path,
    )
    assert said == "written\n"
    assert (tmp_path / "run-20251104T101530Z-long.jsonl").stat().st_size > 20_000_000


def test_no_host_name_is_in_it(tmp_path: Path, make: Any) -> None:
    """The golden header holds what a real one does; nothing in writing adds the machine's name."""
    for line in make.write(tmp_path, make.usual_rows()).read_bytes().split(b"\n")[:-1]:
        assert os.uname().nodename not in _texts(json.loads(line))


def _texts(value: Any) -> set[str]:
    if isinstance(value, dict):
        return set().union(*map(_texts, value.values()), value)
    if isinstance(value, list):
        return set().union(*map(_texts, value))
    return {value} if isinstance(value, str) else set()
