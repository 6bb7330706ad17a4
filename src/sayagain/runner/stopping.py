"""Stopping a run early: by a signal, or because its results cannot be kept any more."""

import asyncio
import contextlib
import os
import signal
import sys
from collections.abc import Callable, Iterator

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
"""What stops a run in order: Ctrl-C, an orderly shutdown, a terminal that is gone."""


class Stop:
    """Whether the run is to stop, why, and by which signal.

    Once stopped, no case is started; those in flight have `grace_s` to end by themselves.
    """

    def __init__(self, grace_s: float) -> None:
        self.grace_s = grace_s
        self.reason: str | None = None
        self.signal: signal.Signals | None = None
        self._event = asyncio.Event()

    @property
    def requested(self) -> bool:
        """True once the run is to stop."""
        return self._event.is_set()

    def request(self, reason: str, *, grace_s: float | None = None) -> None:
        """Stop the run; the first reason is the one that counts."""
        if self.reason is None:
            self.reason = reason
            self.grace_s = self.grace_s if grace_s is None else grace_s
        self._event.set()

    async def wait(self) -> None:
        """Wait until the run is to stop."""
        await self._event.wait()

    @contextlib.contextmanager
    def on_signals(self, notify: Callable[[signal.Signals], None]) -> Iterator[None]:
        """Let the first of the signals stop the run, and the second end the process at once.

        A hang-up that was ignored when the process started, as nohup has it, stays ignored. A first signal after
        the cases are over changes nothing that has been decided.
        """
        loop = asyncio.get_running_loop()

        def received(number: signal.Signals) -> None:
            if self.signal is not None:
                _leave(number)
            self.signal = number
            notify(number)
            self.request(f"stopped by {number.name}")

        nohup = signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
        heeded = [number for number in SIGNALS if number is not signal.SIGHUP or not nohup]
        for number in heeded:
            loop.add_signal_handler(number, received, number)
        try:
            yield
        finally:
            for number in heeded:
                loop.remove_signal_handler(number)


def exit_code(number: signal.Signals) -> int:
    """Return the exit code of a process that a signal stopped."""
    return 128 + number


def _leave(number: signal.Signals) -> None:
    """End without a word more: children end when their input closes, and the ledger knows what was committed."""
    with contextlib.suppress(OSError):
        sys.stdout.flush()
        sys.stderr.flush()
    os._exit(exit_code(number))
