"""Reading an artifact from wherever it lies: a file here, or a copy of what an fsspec URL names."""

import contextlib
import tempfile
from collections.abc import Iterator
from pathlib import Path

from sayagain.artifact.places import driver_of, local_path, reason_of, shown
from sayagain.errors import CorruptArtifactError, UsageError


@contextlib.contextmanager
def local_copy(place: str | Path) -> Iterator[Path]:
    """Give the path of an artifact; one that a URL names is copied to a temporary directory for as long.

    What was checked is then what is read. A CorruptArtifactError that is raised meanwhile names the URL.

    Raises:
        UsageError: It cannot be copied; the message says why.
    """
    local = local_path(place) if isinstance(place, str) else place
    if local is not None:
        yield local
        return
    place = str(place)
    with _temporary_directory(place) as folder:
        copy = Path(folder) / "artifact.jsonl"
        _copy(place, copy)
        try:
            yield copy
        except CorruptArtifactError as error:
            raise type(error)(error.reason, error.line, shown(place)) from None


def _temporary_directory(place: str) -> "tempfile.TemporaryDirectory[str]":
    try:
        return tempfile.TemporaryDirectory(prefix="sayagain-")
    except OSError as error:
        reason = error.strerror or error
        raise UsageError(
            f"cannot read {shown(place)}: no directory can be made for its copy ({reason}); let TMPDIR name one"
        ) from None


def _copy(place: str, copy: Path) -> None:
    try:
        driver, path = driver_of(place)
        driver.get_file(path, str(copy))
    except Exception as error:
        raise UsageError(f"cannot read {shown(place)}: {reason_of(error, place, 'read')}") from None
