"""Logging: events with stable names on stderr, readable on a terminal and JSON lines elsewhere.

Event names are part of the interface. Of a run: engine_skipped, run_started, case_retried, case_failed,
ledger_retried, loop_fault, run_fault, run_stopping, run_finished, report_not_printed. Of its artifact:
run_artifact_directory_unusable, run_artifact_written, run_artifact_write_failed. Of a ledger: run_interrupted,
runs_not_checked. No event carries a transcript, a prompt or a secret.
"""

import contextlib
import sys
from typing import Any

import structlog
from stamina.instrumentation import RetryDetails, set_on_retry_hooks

from sayagain.errors import LedgerError


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
    set_on_retry_hooks([_ledger_retried])


def logger() -> Any:
    """Return the logger; every call names an event and gives its fields."""
    return structlog.get_logger()


def _ledger_retried(details: RetryDetails) -> None:
    """Say that the ledger is being waited for; retried cases are logged by their executor, who knows them."""
    if isinstance(details.caused_by, LedgerError):
        logger().warning("ledger_retried", reason=str(details.caused_by), waiting_s=round(details.wait_for, 2))


class _CurrentStderr:
    """Writes to whatever stderr is at the moment, so that a live display can take lines above itself."""

    def __init__(self, *args: Any) -> None:
        del args

    def msg(self, message: str) -> None:
        with contextlib.suppress(OSError, ValueError):  # a log that cannot be written must not end a run
            print(message, file=sys.stderr, flush=True)

    log = debug = info = warn = warning = error = critical = exception = msg
