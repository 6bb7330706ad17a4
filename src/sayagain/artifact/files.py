"""A new file in a directory: temporary until it is whole and durable, then named without replacing anything.

Everything happens relative to the opened directory and follows no symbolic link in it.
"""

import contextlib
import errno
import os
import secrets
import stat
from collections.abc import Iterator
from pathlib import Path

from sayagain.errors import ArtifactWriteError

_NO_HARD_LINKS = frozenset({errno.EPERM, errno.EOPNOTSUPP, errno.ENOTSUP, errno.ENOSYS, errno.EMLINK, errno.EXDEV})
_NO_DIRECTORY_SYNC = frozenset({errno.EINVAL, errno.ENOTSUP, errno.EOPNOTSUPP, errno.EBADF})
_FULL = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})


class NewFile:
    """A file that is being written in a directory and has no name yet."""

    def __init__(self, directory: Path, directory_fd: int, temporary: str, file: int) -> None:
        self._directory = directory
        self._directory_fd = directory_fd
        self._temporary = temporary
        self._file = file

    def write(self, octets: bytes) -> None:
        """Append bytes; raise ArtifactWriteError when that is not possible."""
        with explained(self._directory):
            remaining = memoryview(octets)
            while remaining:
                remaining = remaining[os.write(self._file, remaining) :]

    def sync(self) -> None:
        """Make the bytes durable; raise ArtifactWriteError when that is not possible."""
        with explained(self._directory):
            os.fsync(self._file)

    def keep_as(self, name: str) -> None:
        """Make the file durable under a name; raise ArtifactWriteError when something has that name."""
        self.sync()
        with explained(self._directory):
            _name(self._directory_fd, self._temporary, name)
            _sync_directory(self._directory_fd)


@contextlib.contextmanager
def new_file(directory: Path) -> Iterator[NewFile]:
    """Open a new file that only its owner can read, mode 0600 or less; unless it was kept, it is gone afterwards.

    Raises ArtifactWriteError, which says what would mend it, when the directory does not take one.
    """
    with explained(directory):
        directory_fd = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        temporary = f".sayagain-{secrets.token_hex(8)}.tmp"
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        with explained(directory):
            file = os.open(temporary, flags, 0o600, dir_fd=directory_fd)
        try:
            yield NewFile(directory, directory_fd, temporary, file)
        finally:
            os.close(file)
            with contextlib.suppress(FileNotFoundError):
                os.unlink(temporary, dir_fd=directory_fd)
    finally:
        os.close(directory_fd)


@contextlib.contextmanager
def explained(directory: Path) -> Iterator[None]:
    """Turn an error of the operating system into an ArtifactWriteError that says what would mend it."""
    try:
        yield
    except OSError as error:
        raise ArtifactWriteError(f"cannot write the artifact to {directory}: {_mend(error, directory)}") from error


def _mend(error: OSError, directory: Path) -> str:
    mends = {
        **dict.fromkeys(
            _FULL, "the disk, quota or file size limit is used up; free some space or choose another directory"
        ),
        errno.EROFS: "it is on a read-only file system; mount it writable or choose another directory",
        errno.ENAMETOOLONG: "the name is too long; choose a directory with a shorter one",
        errno.EEXIST: "this run's artifact is there and is never replaced; move it or choose another directory",
        errno.ENOENT: "it does not exist (any more); create it, or mount what it is on, and export the run again",
        errno.ESTALE: "it does not exist any more; mount what it is on and export the run again",
        errno.ENOTDIR: "it is not a directory; choose one",
        errno.ELOOP: "it is a circle of symbolic links; choose a directory",
    }
    if error.errno in (errno.EACCES, errno.EPERM):
        return _permissions(directory)
    return mends.get(error.errno or 0) or f"{error.strerror or error}; mend this or choose another directory"


def _permissions(directory: Path) -> str:
    """Name the owner of the directory, or of the nearest one above it that exists, and who we are."""
    for place in (directory, *directory.absolute().parents):
        with contextlib.suppress(OSError):
            owner = place.stat()
            return (
                f"{'it' if place == directory else place} belongs to user {owner.st_uid} with mode "
                f"{stat.S_IMODE(owner.st_mode):04o}, and this program runs as user {os.geteuid()}; change its "
                "owner or mode, or run the program (a container: --user) as its owner"
            )
    return f"this program runs as user {os.geteuid()}, who may not look at it; run it as the directory's owner"


def _name(directory_fd: int, temporary: str, name: str) -> None:
    """Give the file its name unless something has it, a dangling link included; then FileExistsError."""
    try:
        os.link(temporary, name, src_dir_fd=directory_fd, dst_dir_fd=directory_fd, follow_symlinks=False)
    except OSError as error:
        if error.errno not in _NO_HARD_LINKS:
            raise
        _name_without_links(directory_fd, temporary, name)


def _name_without_links(directory_fd: int, temporary: str, name: str) -> None:
    """Claim the name with an empty file and replace that: all that a file system without hard links allows."""
    os.close(os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600, dir_fd=directory_fd))
    try:
        os.rename(temporary, name, src_dir_fd=directory_fd, dst_dir_fd=directory_fd)
    except OSError:
        os.unlink(name, dir_fd=directory_fd)
        raise


def _sync_directory(directory_fd: int) -> None:
    try:
        os.fsync(directory_fd)
    except OSError as error:
        if error.errno not in _NO_DIRECTORY_SYNC:
            raise
