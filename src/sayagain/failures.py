"""The closed failure taxonomy: what each kind means, and how an exception becomes a failure.

A failure always has a kind and a message. An exception without text is described by its type; a hang is a
`…_timeout`, never an absent value.
"""

import asyncio
import errno
import re
import socket
import ssl
import traceback
from dataclasses import dataclass

import msgspec

from sayagain.records import Failure, FailureKind, Phase

MAX_MESSAGE = 500
"""Code points kept of a sanitized message."""


@dataclass(frozen=True)
class KindInfo:
    """What a failure kind means to a reader, and whether trying again can help."""

    meaning: str
    retryable: bool = False


KINDS: dict[FailureKind, KindInfo] = {
    FailureKind.MISSING_KEY: KindInfo("A credential the target needs is not configured."),
    FailureKind.AUTH: KindInfo("The provider refused the credential."),
    FailureKind.QUOTA: KindInfo("The account has no quota or money left."),
    FailureKind.RATE_LIMITED: KindInfo("The provider asked to slow down.", retryable=True),
    FailureKind.BAD_REQUEST: KindInfo("The provider refused the request as such: model, parameter, size."),
    FailureKind.CONNECT_REFUSED: KindInfo("Nothing listens at the address.", retryable=True),
    FailureKind.DNS: KindInfo("The host name could not be resolved."),
    FailureKind.TLS: KindInfo("The secure connection could not be established."),
    FailureKind.CONNECT_TIMEOUT: KindInfo("The connection was not established in time.", retryable=True),
    FailureKind.IDLE_TIMEOUT: KindInfo("The connection was open but nothing moved on it for too long."),
    FailureKind.FINAL_TIMEOUT: KindInfo("No final answer came after the end of the stream was announced."),
    FailureKind.CASE_TIMEOUT: KindInfo("The case as a whole took longer than it may."),
    FailureKind.CONNECTION_LOST: KindInfo("The connection ended before the answer was complete.", retryable=True),
    FailureKind.SERVER_ERROR: KindInfo("The provider reported a fault of its own.", retryable=True),
    FailureKind.PROTOCOL: KindInfo("The provider sent something its protocol does not allow."),
    FailureKind.EMPTY: KindInfo("The provider answered completely, with nothing in it."),
    FailureKind.AUDIO_FORMAT: KindInfo("The audio is in a form that cannot be used."),
    FailureKind.ENGINE_CRASHED: KindInfo("The local engine's process ended while it was needed."),
    FailureKind.MODEL_MISMATCH: KindInfo("The provider used another model than the one asked for."),
    FailureKind.DATASET: KindInfo("The item's data are missing or are not the data that were pinned."),
    FailureKind.SCORING: KindInfo("The answer is there but this metric could not be computed."),
    FailureKind.CANCELLED: KindInfo("The run was stopped while the case was in flight."),
    FailureKind.INTERNAL: KindInfo("A fault of sayagain itself; please report it."),
}


class CaseFailedError(Exception):
    """Raised inside an attempt by whoever knows exactly what went wrong; carries the failure.

    `retry_after_s` is how long the provider asked to be left alone before the next attempt, in seconds.
    """

    def __init__(self, failure: Failure, retry_after_s: float | None = None) -> None:
        super().__init__(failure.message)
        self.failure = failure
        self.retry_after_s = retry_after_s


def let_go(error: BaseException) -> None:
    """Empty the frames that an error, and those it came from, passed through.

    They hold what was under way, a trace and its audio among it, and often the error itself: without this they
    would live until garbage is collected.
    """
    seen: BaseException | None = error
    while seen is not None:
        traceback.clear_frames(seen.__traceback__)
        seen = seen.__cause__ or seen.__context__


def failed(
    kind: FailureKind,
    phase: Phase,
    message: str,
    *,
    code: str | None = None,
    retryable: bool | None = None,
    retry_after_s: float | None = None,
) -> CaseFailedError:
    """Build the exception for a failure; retryable follows the kind unless it is said."""
    return CaseFailedError(
        Failure(
            kind=kind,
            phase=phase,
            message=message.strip() or KINDS[kind].meaning,
            code=code,
            retryable=KINDS[kind].retryable if retryable is None else retryable,
        ),
        retry_after_s,
    )


def classify(error: BaseException, phase: Phase) -> Failure:
    """Turn any exception of an attempt into a failure with a kind, a phase and a non-empty message.

    A `CaseFailedError` already knows; network errors are told apart by their type and errno; everything else is
    `internal`, because it was not foreseen. The message is not sanitized yet.
    """
    if isinstance(error, CaseFailedError):
        return error.failure
    kind, code = _kind_of(error, phase)
    text = str(error).strip() or KINDS[kind].meaning
    return failed(kind, phase, f"{type(error).__name__}: {text}", code=code).failure


_LOST = {errno.ECONNRESET, errno.EPIPE, errno.ECONNABORTED, errno.ENOTCONN, errno.ESHUTDOWN}
_UNREACHABLE = {errno.EHOSTUNREACH, errno.ENETUNREACH, errno.ENETDOWN}


def _kind_of(error: BaseException, phase: Phase) -> tuple[FailureKind, str | None]:
    match error:
        case asyncio.CancelledError():
            return FailureKind.CANCELLED, None
        case TimeoutError():
            return _timeout_kind(phase), None
        case socket.gaierror():
            return FailureKind.DNS, str(error.errno) if error.errno is not None else None
        case ssl.SSLError():
            return FailureKind.TLS, getattr(error, "reason", None)
        case asyncio.IncompleteReadError() | EOFError():
            return FailureKind.CONNECTION_LOST, None
        case OSError():
            code = errno.errorcode.get(error.errno or 0)
            if isinstance(error, ConnectionRefusedError) or error.errno in _UNREACHABLE:
                return FailureKind.CONNECT_REFUSED, code
            if isinstance(error, ConnectionError) or error.errno in _LOST:
                return FailureKind.CONNECTION_LOST, code
            return FailureKind.INTERNAL, code
        case _:
            return FailureKind.INTERNAL, None


def _timeout_kind(phase: Phase) -> FailureKind:
    if phase is Phase.CONNECT:
        return FailureKind.CONNECT_TIMEOUT
    if phase is Phase.FINISH:
        return FailureKind.FINAL_TIMEOUT
    return FailureKind.IDLE_TIMEOUT


_CODE_SHAPE = re.compile(r"[\w.:/+-]{1,64}", re.ASCII)


def sanitized(failure: Failure, message: str, provider: str) -> Failure:
    """Return the failure with its redacted message fingerprinted and cut to its longest form.

    The fingerprint is of the whole message, because where a cut falls depends on the length of ids and numbers. A
    code that does not look like one (64 ASCII letters, digits and `. : / + - _` at most) is dropped: it comes
    from outside, and text does not belong there.
    """
    # The patterns take longer to compile than this module to import, and few need them.
    from sayagain.fingerprints import fingerprint

    code = failure.code if failure.code and _CODE_SHAPE.fullmatch(failure.code) else None
    clean = msgspec.structs.replace(failure, message=message, code=code)
    return msgspec.structs.replace(clean, message=message[:MAX_MESSAGE], fingerprint=fingerprint(clean, provider))
