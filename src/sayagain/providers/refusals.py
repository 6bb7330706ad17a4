"""How providers say no: tables from HTTP statuses, close codes and error codes to kinds of failure.

Statuses follow RFC 9110, close codes RFC 6455 section 7.4 and the IANA registry of close codes. A provider adds
what its own documentation says in tables of its own, which win over these.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sayagain.records import FailureKind


@dataclass(frozen=True)
class Rule:
    """What a code means; `retryable` None means: as the kind says."""

    kind: FailureKind
    retryable: bool | None = None


STATUSES: Mapping[int, Rule] = {
    401: Rule(FailureKind.AUTH),
    402: Rule(FailureKind.QUOTA),
    403: Rule(FailureKind.AUTH),
    408: Rule(FailureKind.SERVER_ERROR, retryable=True),
    415: Rule(FailureKind.AUDIO_FORMAT),
    425: Rule(FailureKind.SERVER_ERROR, retryable=True),
    429: Rule(FailureKind.RATE_LIMITED),
    501: Rule(FailureKind.SERVER_ERROR, retryable=False),
    505: Rule(FailureKind.SERVER_ERROR, retryable=False),
}

CLOSES: Mapping[int, Rule] = {
    1002: Rule(FailureKind.PROTOCOL),
    1003: Rule(FailureKind.BAD_REQUEST),
    1007: Rule(FailureKind.BAD_REQUEST),
    1008: Rule(FailureKind.BAD_REQUEST),
    1009: Rule(FailureKind.BAD_REQUEST),
    1010: Rule(FailureKind.PROTOCOL),
    1011: Rule(FailureKind.SERVER_ERROR),
    1012: Rule(FailureKind.SERVER_ERROR),
    1013: Rule(FailureKind.SERVER_ERROR),
    1014: Rule(FailureKind.SERVER_ERROR),
    3000: Rule(FailureKind.AUTH),
    3003: Rule(FailureKind.AUTH),
}

ERRORS: Mapping[str, Rule] = {
    "insufficient_quota": Rule(FailureKind.QUOTA),
    "quota_exceeded": Rule(FailureKind.QUOTA),
    "invalid_api_key": Rule(FailureKind.AUTH),
    "rate_limit_exceeded": Rule(FailureKind.RATE_LIMITED),
    "server_error": Rule(FailureKind.SERVER_ERROR),
}
"""Error codes that several providers share. Quota often comes as a 429, so a code wins over its status."""

_WORDS: tuple[tuple[FailureKind, re.Pattern[str]], ...] = (
    (FailureKind.RATE_LIMITED, re.compile("rate_?limit|too_many|concurren|throttl")),
    (FailureKind.QUOTA, re.compile("quota|credit|insufficient_funds|payment|billing|balance")),
    (FailureKind.AUTH, re.compile("auth|api_key|forbidden|permission|credential")),
    (FailureKind.CONNECTION_LOST, re.compile("session_(has_)?(expired|timeout|timed_out)")),
    (FailureKind.BAD_REQUEST, re.compile("invalid|malformed|unsupported|bad_request|not_found")),
)
"""What the words of a code mean, in the order in which they are looked for."""

_CODE = re.compile(r"[A-Za-z][A-Za-z0-9_.-]{0,47}|\d{1,6}")
_DESCRIPTIONS = ("message", "err_msg", "error_message", "detail", "details", "reason", "description", "title")
_CODES = ("code", "err_code", "error_code", "status", "type", "error_type", "slug")


def status_rule(status: int) -> Rule:
    """Return what an HTTP status of 300 or more means."""
    if status in STATUSES:
        return STATUSES[status]
    if status >= 500:
        return Rule(FailureKind.SERVER_ERROR)
    return Rule(FailureKind.BAD_REQUEST if status >= 400 else FailureKind.PROTOCOL)


def worded(code: str) -> Rule | None:
    """Return what a code that is in no table seems to say, by the words it is made of, or None."""
    words = re.sub(r"[^a-z]+", "_", re.sub(r"(?<=[a-z])(?=[A-Z])", "_", code).casefold())
    return next((Rule(kind) for kind, pattern in _WORDS if pattern.search(words)), None)


def plain_code(value: Any) -> str | None:
    """Return a stranger's error code when it has the shape of one, or None: a sentence is not a code."""
    if isinstance(value, bool) or not isinstance(value, str | int):
        return None
    return str(value) if _CODE.fullmatch(str(value)) else None


def described(body: bytes | str) -> tuple[str | None, str]:
    """Return the code and message in the body of a refusal, in any of the shapes in use; never raises.

    Those are JSON objects with a message and a code, by themselves or under `error` or `detail`; anything that is
    not JSON has no code and its own first 300 characters as message, and a web page has no message either.
    """
    content = body.decode("utf-8", "replace") if isinstance(body, bytes) else body
    try:
        value = json.loads(content)
    except (ValueError, RecursionError):
        brief = " ".join(content[:300].split())
        return None, "" if brief.startswith("<") else brief
    return described_value(value)


def described_value(value: Any) -> tuple[str | None, str]:
    """Do the same for decoded JSON."""
    if isinstance(value, list):
        value = value[0] if value else None
    if isinstance(value, str):
        return None, value
    if not isinstance(value, dict):
        return None, ""
    for name in ("error", "detail", "details"):
        if isinstance(inner := value.get(name), dict):
            code, message = described_value(inner)
            if code or message:
                return code or _first_code(value), message or _first_text(value)
    return _first_code(value), _first_text(value) or (
        value["error"] if isinstance(value.get("error"), str) else ""
    )


def _first_code(value: Mapping[str, Any]) -> str | None:
    return next((code for name in _CODES if (code := plain_code(value.get(name)))), None)


def _first_text(value: Mapping[str, Any]) -> str:
    return next((found for name in _DESCRIPTIONS if isinstance(found := value.get(name), str) and found), "")
