"""Where an artifact goes: a directory here, or any place that an fsspec URL names.

A remote artifact is completed in a temporary directory, by the same writer, and uploaded when it is whole. What
has its name is never replaced.
"""

import contextlib
import inspect
import re
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sayagain.artifact.places import driver_of, local_path, reason_of, shown
from sayagain.artifact.writing import check_directory
from sayagain.errors import ArtifactWriteError, UsageError

if TYPE_CHECKING:
    from fsspec import AbstractFileSystem

PROBE = ".sayagain-writable"
"""Name of the one byte that is uploaded, and removed again, to see whether artifacts can be."""

PROBE_TIMEOUT_S = 30.0
"""Seconds for that upload. A driver's own timeouts, times its retries, can be minutes."""


@dataclass(frozen=True)
class Written:
    """An artifact that was written: its path or URL, and its size in bytes."""

    location: str
    size: int


def check_destination(place: str) -> None:
    """Make sure that an artifact can be written to a directory or an fsspec URL.

    A local directory is created if it is missing. At a URL one byte is uploaded and removed again; credentials
    that may write but not remove leave it there, under the name `PROBE`.

    Raises:
        ArtifactWriteError: It cannot be; the message says what would mend it.
    """
    local = local_path(place)
    if local is not None:
        check_directory(local)
        return
    with _temporary_directory(place) as folder, _explained(place):
        probe = folder / PROBE
        probe.write_bytes(b"\n")
        driver, prefix = _open(place)
        bound = _bound(driver)
        driver.put_file(str(probe), f"{prefix}/{PROBE}", **bound)
        with contextlib.suppress(Exception):
            driver.rm_file(f"{prefix}/{PROBE}", **bound)


def deliver(place: str, write: Callable[[Path], Path]) -> Written:
    """Let an artifact be written to a local directory, or to a temporary one from which it is uploaded.

    Args:
        place: A directory, or an fsspec URL that names one.
        write: Writes the artifact to the directory that it is given and returns its path.

    Raises:
        ArtifactWriteError: It cannot be written, or something has its name; the message says what would mend it.
        Exception: Whatever `write` raises.
    """
    local = local_path(place)
    if local is not None:
        path = write(local)
        return Written(str(path), path.stat().st_size)
    with _temporary_directory(place) as folder:
        path = _completed(place, folder, write)
        with _explained(place):
            driver, prefix = _open(place)
            _upload(driver, path, f"{prefix}/{path.name}")
        return Written(f"{place}{'' if place.endswith('/') else '/'}{path.name}", path.stat().st_size)


def _completed(place: str, folder: Path, write: Callable[[Path], Path]) -> Path:
    try:
        return write(folder)
    except ArtifactWriteError as error:
        raise ArtifactWriteError(f"{error}; what goes to {shown(place)} is completed there, in TMPDIR") from None


@contextlib.contextmanager
def _temporary_directory(place: str) -> Iterator[Path]:
    try:
        directory = tempfile.TemporaryDirectory(prefix="sayagain-")
    except OSError as error:
        raise ArtifactWriteError(
            f"cannot write the artifact to {shown(place)}: it is completed in a directory for temporary files, "
            f"and none can be made ({error.strerror or error}); let TMPDIR name one that can be written"
        ) from None
    with directory as name:
        yield Path(name)


def _open(place: str) -> "tuple[AbstractFileSystem, str]":
    """Return the driver of a URL to write to, and what it calls the place, without a slash at its end."""
    scheme, _, rest = place.partition("://")
    if "::" in scheme or re.search(r"[?#]", rest) or ":" in rest.rpartition("@")[0]:
        raise UsageError(
            "the URL may hold a bucket and a prefix and nothing else: no query, no chain, and no password, which "
            "belongs in the driver's own environment"
        )
    driver, path = driver_of(place)
    return driver, path.rstrip("/")


def _bound(driver: "AbstractFileSystem") -> dict[str, float]:
    """Return the argument that bounds one call; only drivers that have a loop of their own take one."""
    return {"timeout": PROBE_TIMEOUT_S} if getattr(driver, "async_impl", False) else {}


def _upload(driver: "AbstractFileSystem", path: Path, target: str) -> None:
    """Upload a file under a name that nothing has.

    The condition goes with the upload where the driver can send it, as those of S3 and Google Cloud Storage can;
    looking first as well is for the others, and for servers that do not know the condition.
    """
    with contextlib.suppress(PermissionError):  # who may only write is not told what is there
        if driver.exists(target):
            raise FileExistsError
    put: Any = getattr(driver, "_put_file", driver.put_file)
    condition = {"mode": "create"} if "mode" in inspect.signature(put).parameters else {}
    driver.put_file(str(path), target, **condition)


@contextlib.contextmanager
def _explained(place: str) -> Iterator[None]:
    try:
        yield
    except Exception as error:
        reason = reason_of(error, place, "write")
        raise ArtifactWriteError(f"cannot write the artifact to {shown(place)}: {reason}") from None
