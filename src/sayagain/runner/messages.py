"""Messages between a run and its child processes: msgpack, each preceded by its length in four bytes, big-endian.

Here is the child's end; the run's own is `sayagain.runner.child`.
"""

import contextlib
import os
import select
import sys
import time
from collections import deque

import msgspec

from sayagain.records import Record

PIECE = 1 << 20
"""The most bytes that are read at once."""


def framed(message: Record) -> bytes:
    """Return a message as it is sent."""
    content = msgspec.msgpack.encode(message)
    return len(content).to_bytes(4, "big") + content


class Inbox:
    """Takes whole messages off a file descriptor, together when they come together."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._unfinished = bytearray()
        self._messages: deque[bytes] = deque()
        self._ended = False

    def take(self, most: int, due_s: float = 0.0) -> list[bytes]:
        """Return the next messages: at least one, and at most `most`; none when the input has ended.

        Waits for the first as long as it takes, and for more until `time.monotonic` has reached `due_s`. A message
        that was cut off is none.
        """
        while not self._ended and len(self._messages) < most:
            patience_s = max(0.0, due_s - time.monotonic()) if self._messages else None
            ready, _, _ = select.select((self._descriptor,), (), (), patience_s)
            if not ready:
                break
            self._read()
        return [self._messages.popleft() for _ in range(min(most, len(self._messages)))]

    def _read(self) -> None:
        piece = os.read(self._descriptor, PIECE)
        self._ended = not piece
        self._unfinished += piece
        start = 0
        while len(self._unfinished) >= start + 4:
            end = start + 4 + int.from_bytes(self._unfinished[start : start + 4], "big")
            if len(self._unfinished) < end:
                break
            self._messages.append(bytes(self._unfinished[start + 4 : end]))
            start = end
        del self._unfinished[:start]


class Outbox:
    """Sends messages over a file descriptor."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    def put(self, message: Record) -> None:
        """Send a message now. When the run is gone nobody hears it; what is left to do is done all the same."""
        with contextlib.suppress(BrokenPipeError):
            rest = memoryview(framed(message))
            while rest:
                rest = rest[os.write(self._descriptor, rest) :]


def standard_streams(niceness: int) -> tuple[Inbox, Outbox]:
    """Return a child's two ends, and have it stand back: what is being measured must not wait for it.

    What a library prints goes to standard error from now on: on standard output it would look like an answer.
    """
    os.nice(niceness)
    outbox = Outbox(os.dup(sys.stdout.fileno()))
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    return Inbox(sys.stdin.fileno()), outbox
