"""Logging: events with stable names on stderr, readable on a terminal and JSON lines elsewhere.

Event names are part of the interface: run_started, case_retried, case_failed, run_stopping, run_finished,
run_interrupted, run_artifact_written, run_artifact_write_failed. No event carries a transcript, a prompt or a
secret.
"""

import sys
from typing import Any

import structlog


def configure() -> None:
    """Set up logging for a command; libraries' own loggers are left alone."""
    terminal = sys.stderr.isatty()
    structlog.configure(
        processors=[
            structlog.contextvars.merge_contextvars,
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="%H:%M:%S" if terminal else "iso", utc=not terminal),
            structlog.processors.EventRenamer("event"),
            structlog.dev.ConsoleRenderer() if terminal else structlog.processors.JSONRenderer(),
        ],
        logger_factory=_CurrentStderr,
        cache_logger_on_first_use=False,
    )


def logger() -> Any:
    """Return the logger; every call names an event and gives its fields."""
    return structlog.get_logger()


class _CurrentStderr:
    """Writes to whatever stderr is at the moment, so that a live display can take lines above itself."""

    def __init__(self, *args: Any) -> None:
        del args

    def msg(self, message: str) -> None:
        print(message, file=sys.stderr, flush=True)

    log = debug = info = warn = warning = error = critical = exception = msg
