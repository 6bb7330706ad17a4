"""Trying a refused operation again for as long as the refusal may pass."""

from collections.abc import Callable
from typing import TypeVar

import stamina

from sayagain.errors import LedgerError

Answer = TypeVar("Answer")


def retrying(operation: Callable[[], Answer], timeout_s: float) -> Answer:
    """Return what the operation returns, trying again for up to `timeout_s` seconds while its refusal may pass.

    The operation must be one whose repetition changes nothing, because a lost answer looks like a refusal.

    Raises:
        LedgerError: The refusal will not pass, or did not pass in time.
    """
    try:
        # A context, not a decorator: a decorator's log line would quote the arguments, which hold transcripts.
        for attempt in stamina.retry_context(
            on=_may_pass, attempts=None, timeout=timeout_s, wait_initial=0.1, wait_max=2.0, wait_jitter=0.1
        ):
            with attempt:
                return operation()
    except LedgerError as error:
        if not error.transient:
            raise
        raise LedgerError(f"{error}; gave up after {timeout_s:g} s", transient=True) from None
    raise AssertionError("unreachable: the loop returns or raises")


def _may_pass(error: Exception) -> bool:
    return isinstance(error, LedgerError) and error.transient
