"""When an engine's process starts to be useful, and when it ends: what ties it to the process that started it."""

import json
import os
import signal
import sys
import threading
from collections.abc import Callable
from typing import Any

Announce = Callable[[dict[str, Any]], None]


def take_stdout() -> Announce:
    """Keep stdout for the one line that the parent reads, and send what libraries print to stderr.

    Returns the function that writes the line, as JSON, and closes the stream.
    """
    stream = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)

    def announce(message: dict[str, Any]) -> None:
        with stream:
            stream.write(json.dumps(message) + "\n")

    return announce


def follow_parent() -> None:
    """End this process when stdin ends, which the kernel brings about however the parent died.

    A terminal's Ctrl-C is the parent's business: it is ignored here.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_exit_at_end_of_stdin, daemon=True).start()


def _exit_at_end_of_stdin() -> None:
    while os.read(0, 4096):
        pass
    sys.stderr.flush()
    os._exit(0)
