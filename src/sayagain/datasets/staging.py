"""Making a folder appear whole or not at all."""

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sayagain.errors import UsageError


@contextmanager
def staged_folder(destination: Path, *, replace: bool) -> Iterator[Path]:
    """Give an empty folder that becomes `destination` when the block ends, and vanishes when it raises.

    It lies on the same file system, in the nearest folder above the destination that exists, under a hidden name.

    Raises:
        UsageError: The destination cannot be written, or exists and is not to be replaced.
    """
    base = next(folder for folder in destination.absolute().parents if folder.is_dir())
    try:
        temporary = Path(tempfile.mkdtemp(prefix=f".{destination.name}-", dir=base))
        try:
            stage = temporary / "new"
            stage.mkdir()
            yield stage
            _move(stage, destination, replace=replace)
        finally:
            shutil.rmtree(temporary, ignore_errors=True)
    except OSError as error:
        raise UsageError(f"{destination} cannot be written: {error.strerror or error}.") from error


def _move(stage: Path, destination: Path, *, replace: bool) -> None:
    destination.parent.mkdir(parents=True, exist_ok=True)
    replaced = stage.with_name("replaced")
    if destination.exists():
        if not replace:
            raise UsageError(f"{destination} has come to exist meanwhile; nothing was written.")
        destination.rename(replaced)
    try:
        stage.rename(destination)
    except OSError:
        if replaced.exists():
            replaced.rename(destination)
        raise
