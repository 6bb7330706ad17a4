"""Where artifacts go to and come from, without a network: paths, memory:// and drivers that fail as they like."""

import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar

import fsspec
import pytest
from fsspec.implementations.memory import MemoryFileSystem
from hypothesis import given
from hypothesis import strategies as st

from sayagain.artifact import destinations, read_artifact, verify
from sayagain.artifact.copies import local_copy
from sayagain.artifact.destinations import PROBE, Written, check_destination, deliver
from sayagain.artifact.places import is_url, shown
from sayagain.errors import ArtifactWriteError, CorruptArtifactError, UsageError

SECRET = "hunter2/and+more=="
SIGNED = f"https://bucket.example/run.jsonl?X-Amz-Credential=me@example.com&X-Amz-Signature={SECRET}"


class Leaky(MemoryFileSystem):  # type: ignore[misc]
    """A driver whose every refusal holds a signed URL, over two lines."""

    protocol = "leaky"
    raises: Exception

    def put_file(self, *args: Any, **names: Any) -> None:
        raise self.raises

    def get_file(self, *args: Any, **names: Any) -> None:
        raise self.raises


class Blind(MemoryFileSystem):  # type: ignore[misc]
    """A driver for somebody who may write, and may not look or remove."""

    protocol = "blind"
    store: ClassVar[dict[str, Any]] = {}

    def exists(self, *args: Any, **names: Any) -> bool:
        raise PermissionError(SECRET)

    def rm_file(self, *args: Any, **names: Any) -> None:
        raise PermissionError(SECRET)

    def put_file(self, lpath: str, rpath: str, mode: str = "overwrite", **names: Any) -> None:
        if mode == "create" and rpath in self.store:
            raise FileExistsError(SECRET)
        self.pipe_file(rpath, Path(lpath).read_bytes())


fsspec.register_implementation("leaky", Leaky, clobber=True)
fsspec.register_implementation("blind", Blind, clobber=True)


@pytest.fixture(autouse=True)
def own_temporary_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A directory for temporary files that must be empty again when the test is over."""
    directory = tmp_path / "temporary"
    directory.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(directory))
    yield directory
    assert list(directory.iterdir()) == []


@pytest.fixture
def memory() -> Iterator[dict[str, Any]]:
    """What memory:// holds, empty before and after."""
    MemoryFileSystem.store.clear()
    MemoryFileSystem.pseudo_dirs[:] = [""]
    yield MemoryFileSystem.store
    MemoryFileSystem.store.clear()
    MemoryFileSystem.pseudo_dirs[:] = [""]


def deliver_usual(place: str, make: Any) -> Written:
    return deliver(place, lambda directory: make.write(directory, make.usual_rows()))


def test_a_directory_is_written_to_directly(tmp_path: Path, make: Any) -> None:
    written = deliver_usual(str(tmp_path), make)
    assert Path(written.location).parent == tmp_path
    assert Path(written.location).stat().st_size == written.size
    assert verify(written.location).ok


@pytest.mark.parametrize("scheme", ["file", "FILE", "local"])
def test_a_file_url_is_a_directory_here_with_everything_that_is_promised_of_one(
    tmp_path: Path, make: Any, scheme: str
) -> None:
    place = f"{scheme}://{tmp_path}/with%20space"
    check_destination(place)
    path = Path(deliver_usual(place, make).location)
    assert path.parent == tmp_path / "with space"
    assert path.stat().st_mode & 0o777 == 0o600
    with local_copy(f"{scheme}://{tmp_path}/with%20space/{path.name}") as same:
        assert same == path


@pytest.mark.parametrize("place", ["memory://", "memory://nightly", "memory://nightly/", "memory:///a/b"])
def test_an_artifact_is_uploaded_whole_and_its_url_reads_it_back(
    memory: dict[str, Any], make: Any, place: str
) -> None:
    check_destination(place)
    assert list(memory) == []
    written = deliver_usual(place, make)
    assert written.location.startswith(place)
    with local_copy(written.location) as copy:
        assert copy.stat().st_size == written.size
        assert verify(copy).ok
    assert not copy.exists()


def test_what_is_there_is_never_replaced(memory: dict[str, Any], make: Any) -> None:
    written = deliver_usual("memory://a", make)
    (name,) = memory
    before = memory[name].getvalue()
    with pytest.raises(ArtifactWriteError, match="never replaced; move it or choose another place"):
        deliver("memory://a", lambda directory: make.write(directory, []))
    assert memory[name].getvalue() == before
    assert len(before) == written.size


def test_who_may_write_but_not_look_or_remove_writes(make: Any) -> None:
    check_destination("blind://a")
    check_destination("blind://a")
    assert [Path(name).name for name in Blind.store] == [PROBE]
    deliver_usual("blind://a", make)
    with pytest.raises(ArtifactWriteError, match="never replaced"):
        deliver_usual("blind://a", make)


def test_nothing_is_uploaded_of_an_artifact_that_could_not_be_completed(memory: dict[str, Any], make: Any) -> None:
    def fail(directory: Path) -> Path:
        (directory / "begun").write_text("...")
        raise ArtifactWriteError(f"cannot write the artifact to {directory}: the disk is used up; free some space")

    with pytest.raises(ArtifactWriteError, match=r"used up; free some space; what goes to memory://a .* TMPDIR"):
        deliver("memory://a", fail)
    with pytest.raises(ZeroDivisionError):
        deliver("memory://a", lambda _: Path(str(1 // 0)))
    assert list(memory) == []


@pytest.mark.parametrize(
    ("error", "says"),
    [
        (PermissionError(SIGNED + "\nno"), "may not write there; change those or their rights"),
        (FileNotFoundError(SIGNED), "no such place; correct the URL, or create the bucket"),
        (FileExistsError(SIGNED), "never replaced"),
        (NotImplementedError(SIGNED), "cannot write; choose another place"),
        (ImportError(SIGNED), "not installed; install what fsspec needs"),
        (OSError(28, SIGNED), "full; free some space"),
        (OSError(5, SIGNED), "OSError; check the URL, the network"),
        (RuntimeError(SIGNED), "RuntimeError; check the URL, the network"),
    ],
)
def test_an_upload_that_fails_says_what_would_mend_it_and_nothing_that_the_driver_said(
    make: Any, monkeypatch: pytest.MonkeyPatch, error: Exception, says: str
) -> None:
    monkeypatch.setattr(Leaky, "raises", error, raising=False)
    for attempt in (lambda: deliver_usual("leaky://a", make), lambda: check_destination("leaky://a")):
        with pytest.raises(ArtifactWriteError) as caught:
            attempt()
        message = str(caught.value)
        assert says in message
        assert message.startswith("cannot write the artifact to leaky://a: ")
        assert "\n" not in message
        assert SECRET not in message
        assert "example" not in message
        assert caught.value.__cause__ is None


@pytest.mark.parametrize(
    ("code", "shown_code"), [("SlowDown", " (SlowDown)"), (503, " (503)"), (SIGNED, ""), ("two words", "")]
)
@pytest.mark.parametrize("carrier", ["code", "status", "response"])
def test_the_providers_code_is_named_when_it_is_one(
    make: Any, monkeypatch: pytest.MonkeyPatch, code: object, shown_code: str, carrier: str
) -> None:
    cause = RuntimeError(SIGNED)
    vars(cause)[carrier] = {"Error": {"Code": code}} if carrier == "response" else code
    error = OSError(5, SIGNED)
    error.__cause__ = cause
    monkeypatch.setattr(Leaky, "raises", error, raising=False)
    with pytest.raises(ArtifactWriteError, match=r"leaky://a: OSError") as caught:
        deliver_usual("leaky://a", make)
    assert f"OSError{shown_code};" in str(caught.value)
    assert SECRET not in str(caught.value)


@pytest.mark.parametrize(("scheme", "extra"), [("gs", "gcs"), ("gcs", "gcs"), ("s3", "s3"), ("s3a", "s3")])
def test_a_missing_driver_is_named_with_the_extra_that_brings_it(scheme: str, extra: str) -> None:
    program = f"""
import sys
sys.modules |= {{"gcsfs": None, "s3fs": None}}
from sayagain.artifact.copies import local_copy
from sayagain.artifact.destinations import check_destination
from sayagain.errors import ArtifactWriteError, UsageError
try:
    check_destination("{scheme}://bucket/prefix")
except ArtifactWriteError as error:
    print(error)
try:
    local_copy("{scheme}://bucket/run.jsonl").__enter__()
except UsageError as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    mend = f"the driver for {scheme}:// is not installed; pip install 'sayagain[{extra}]'"
    assert done.stdout.splitlines() == [
        f"cannot write the artifact to {scheme}://bucket/prefix: {mend}",
        f"cannot read {scheme}://bucket/run.jsonl: {mend}",
    ]


def test_an_unknown_scheme_is_said(make: Any) -> None:
    with pytest.raises(ArtifactWriteError, match="no driver for s4://; correct the URL"):
        deliver_usual("s4://bucket", make)


@pytest.mark.parametrize(
    "place",
    [
        f"memory://key:{SECRET}@bucket/prefix",
        f"memory://key:{SECRET}?@bucket/prefix",
        f"memory://bucket/prefix?signature={SECRET}",
        f"memory://bucket/prefix#{SECRET}",
        f"simplecache::memory://bucket?{SECRET}",
    ],
)
def test_a_url_with_more_than_a_place_in_it_is_refused_and_its_rest_not_repeated(
    memory: dict[str, Any], make: Any, place: str
) -> None:
    for attempt in (lambda: deliver_usual(place, make), lambda: check_destination(place)):
        with pytest.raises(ArtifactWriteError, match="no query, no chain, and no password") as caught:
            attempt()
        assert "hunter2" not in str(caught.value)
    assert list(memory) == []


@given(user=st.text(max_size=5), before=st.text("ab/?#:@", max_size=5), after=st.text("ab/?#:@", max_size=5))
def test_no_password_and_no_signature_in_a_url_is_ever_shown(user: str, before: str, after: str) -> None:
    password = f"{before}hunter2{after}"
    assert "hunter2" not in shown(f"https://{user}:{password}@host/run.jsonl")
    assert "hunter2" not in shown(f"https://host/run.jsonl?{user}={password}")
    assert "\n" not in shown(f"https://{user}{password}")


def test_a_plain_place_is_shown_as_it_is() -> None:
    assert shown("s3://bucket/nightly/run.jsonl") == "s3://bucket/nightly/run.jsonl"
    assert shown("artifacts/run.jsonl") == "artifacts/run.jsonl"
    assert not is_url("a:b/c")
    assert not is_url("./s3:/b")


def test_without_a_place_for_temporary_files_the_mend_is_said(
    make: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "missing"))
    with pytest.raises(ArtifactWriteError, match=r"none can be made .*; let TMPDIR name one"):
        deliver_usual("memory://a", make)
    with pytest.raises(UsageError, match="TMPDIR"), local_copy("memory://a/b"):
        pass


def test_a_copy_that_cannot_be_made_says_why_and_nothing_that_the_driver_said(
    memory: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(UsageError, match=r"cannot read memory://a/b: there is no such place"):
        local_copy("memory://a/b").__enter__()
    monkeypatch.setattr(Leaky, "raises", RuntimeError(SIGNED), raising=False)
    with pytest.raises(UsageError, match="cannot read leaky://a/b: RuntimeError") as caught:
        local_copy(f"leaky://a/b?signature={SECRET}").__enter__()
    assert SECRET not in str(caught.value)


def test_what_is_corrupt_is_named_by_its_url(memory: dict[str, Any]) -> None:
    fsspec.filesystem("memory").pipe_file("/a/b.jsonl", b"no artifact\n")
    with (
        pytest.raises(CorruptArtifactError, match=r"^memory://a/b.jsonl, line 1: "),
        local_copy("memory://a/b.jsonl") as copy,
    ):
        read_artifact(copy)


def test_a_server_that_never_answers_does_not_hold_up_the_check(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(destinations, "PROBE_TIMEOUT_S", 0.2)
    with socket.create_server(("127.0.0.1", 0)) as server:
        place = f"http://127.0.0.1:{server.getsockname()[1]}/x"
        with pytest.raises(ArtifactWriteError, match="TimeoutError; check the URL, the network"):
            check_destination(place)
