"""Who executes a run, and how another process finds out that it is gone."""

import hashlib
import os
import socket
from pathlib import Path

import psutil

from sayagain.records import Record

START_TOLERANCE_S = 5.0
"""How far two readings of one process's start may lie apart: the system's clock is corrected now and then."""


class Owner(Record, frozen=True, kw_only=True):
    """The process that executes a run: its id, its start in seconds since 1970, and a digest of its host.

    Equal digests mean that process ids can be compared; the host's name cannot be read from it.
    """

    pid: int
    started: float
    host: str

    @classmethod
    def current(cls) -> "Owner":
        """Return this process."""
        process = psutil.Process()
        return cls(pid=process.pid, started=process.create_time(), host=host_digest())

    @property
    def is_here(self) -> bool:
        """Whether its process id means anything where this code runs."""
        return self.host == host_digest()

    def is_alive(self) -> bool:
        """Return whether the process still runs; another one that was given its id does not count.

        Only meaningful when `is_here`.
        """
        try:
            process = psutil.Process(self.pid)
            if process.status() == psutil.STATUS_ZOMBIE:
                return False
            return abs(process.create_time() - self.started) <= START_TOLERANCE_S
        except psutil.NoSuchProcess:
            return False
        except psutil.AccessDenied:
            return True


def host_digest() -> str:
    """Return a digest (32 hex digits) of the machine and, on Linux, of the process-id namespace."""
    parts = [socket.gethostname(), _machine_id(), _pid_namespace()]
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:32]


def _machine_id() -> str:
    try:
        return Path("/etc/machine-id").read_text(encoding="utf-8").strip()
    except OSError:
        return ""


def _pid_namespace() -> str:
    try:
        return str(os.stat("/proc/self/ns/pid").st_ino)  # noqa: PTH116 - follows the link to the namespace
    except OSError:
        return ""
