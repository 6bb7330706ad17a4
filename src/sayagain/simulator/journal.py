"""The record of what the stand-in really did and when: JSONL, one line an event, on the machine's shared clock.

`t_ns` is `time.perf_counter_ns`: on Linux CLOCK_MONOTONIC, which every process of the machine reads alike, so a
line can be joined with the trace of a client. For something sent it is read right after the write call returned;
for something received, when the message reached the handler. Texts and audio
are named by digest and size, never held.
"""

import time
from typing import IO, Any

import msgspec

_encode = msgspec.json.Encoder().encode

BUFFERED = 64 << 10
"""Bytes of lines that are gathered before a write; closing a connection writes too."""


class Journal:
    """Writes lines to a binary stream, or nowhere."""

    def __init__(self, stream: IO[bytes] | None) -> None:
        self._stream = stream
        self._lines = bytearray()

    def write(self, line: dict[str, Any]) -> None:
        """Add a line."""
        if self._stream is not None:
            self._lines += _encode(line)
            self._lines += b"\n"
            if len(self._lines) >= BUFFERED:
                self.flush()

    def flush(self) -> None:
        """Write what was gathered, whole lines in one call."""
        if self._stream is not None and self._lines:
            self._stream.write(self._lines)
            self._stream.flush()
            self._lines.clear()


class Record:
    """The lines of one connection."""

    def __init__(self, journal: Journal, endpoint: str, connection: int) -> None:
        self._journal = journal
        self._endpoint = endpoint
        self.connection = connection

    def note(self, event: str, t_ns: int | None = None, **facts: Any) -> None:
        """Record an event, now unless said when."""
        line = {
            "t_ns": time.perf_counter_ns() if t_ns is None else t_ns,
            "endpoint": self._endpoint,
            "connection": self.connection,
            "event": event,
        }
        self._journal.write(line | facts)

    def flush(self) -> None:
        """Write out what was gathered."""
        self._journal.flush()
