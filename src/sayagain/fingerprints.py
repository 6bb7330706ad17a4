"""Fingerprints: failures of one cause share one, whatever ids, numbers, hosts and times their messages carry.

The patterns are heuristics for the messages that speech providers, HTTP servers and Python itself write; the
examples they must hold for are a table in the tests. A change that regroups failures raises
`FINGERPRINT_VERSION`.
"""

import hashlib
import re
from http import HTTPStatus

from sayagain.records import Failure

FINGERPRINT_VERSION = 1
NORMALIZED_FROM = 4_000
"""Code points of a sanitized message that its normalized form is made from."""

NORMALIZED = 500
"""Code points of a normalized message that count."""

_UNITS = (
    r"(?:[munµ]?s|secs?|seconds?|minutes?|hours?|[kmg]i?b|bytes?|samples?|frames?|chunks?|items?|times|of|k?hz)"
)
_CODE_WORDS = (
    r"http(?:/\d(?:\.\d)?)?|status(?:[ _-]?code)?|(?:(?:close|error|exit|response|return|reason)[ _-]?)?code"
    r"|errno|error|err|signal|closed(?: with)?|rejected(?: with)?|exit(?:ed)?(?: (?:with|status))?"
)
_REASONS = "|".join(sorted((re.escape(status.phrase) for status in HTTPStatus), key=len, reverse=True))
_CODES = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        # A number named as a code: `HTTP 503`, `"code": 4008`, `[Errno 111]`, `exit status 137`, `0x80004005`.
        rf"\b(?:{_CODE_WORDS})\b[\"']?\s{{0,3}}[:=#(\[]?\s{{0,3}}[\"']?-?(?:0x[0-9a-f]{{1,8}}|\d{{1,6}})\b"
        rf"(?![.:,]\d|\s?{_UNITS}\b|\s?%)",
        # A number that is reported and then explained or not counted: `received 1011 (internal error)`.
        r"\b(?:received|sent|returned|got|with)\s{1,3}\d{3,4}(?=\s{0,3}(?:[(;,.]|$))",
        rf"\b[1-5]\d\d(?=\s{{1,3}}(?:{_REASONS})\b)",
        # A code of letters and digits, in capitals: `NET-0001`, `E1042`, `ERR_42`, `UTF-8`.
        r"(?-i:\b(?!(?:REQ|ID|TRACE|SESSION|CALL|JOB|TASK|MSG|RUN|CASE)[-_]?\d)[A-Z][A-Z_]{0,23}[-_]?\d{1,5}\b)",
    )
)
_KEPT_DIGITS = {ord("0") + digit: 0xE000 + digit for digit in range(10)}
_GIVEN_BACK = {kept: digit for digit, kept in _KEPT_DIGITS.items()}

_ID_OWNERS = (
    r"request|trace|session|correlation|operation|call|stream|conn|connection|span|job|task|message|event"
    r"|generation|run|client|user|account|project|org|organization"
)
_COUNTED = (
    r"req|request|chunk|stream|worker|thread|task|attempt|line|item|session|conn|connection|call|job|frame|seq"
    r"|segment|pid|process|id|message|event"
)
_TOP_LEVELS = (
    "com|net|org|io|ai|dev|app|cloud|co|eu|us|uk|de|fr|local|localdomain|internal|lan|home|svc|test|example"
)
_PLACEHOLDERS = tuple(
    (re.compile(pattern, re.IGNORECASE), placeholder)
    for pattern, placeholder in (
        (r"\b([a-z][a-z0-9+.-]{1,15}://)[^\s/?#\"'<>]+", r"\1<host>"),
        (r"\b[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}\b", "<id>"),
        (rf"\b((?:{_ID_OWNERS})[-_ ]?id[\"']?\s{{0,3}}[:=]\s{{0,3}}[\"']?)[\w.+/-]{{1,128}}=*", r"\1<id>"),
        (rf"\b((?:{_ID_OWNERS})[-_ ]?id\s{{1,3}}[\"']?)(?=[\w.+/-]{{0,127}}\d)[\w.+/-]{{1,128}}=*", r"\1<id>"),
        (
            r"\b(?:(?:mon|tue|wed|thu|fri|sat|sun)[a-z]{0,6},?\s)?\d{1,2}[ -](?:jan|feb|mar|apr|may|jun|jul|aug"
            r"|sep|oct|nov|dec)[a-z]{0,6}[ -]\d{4}(?:\s\d\d:\d\d(?::\d\d)?(?:\s(?:gmt|utc|[+-]\d{4}))?)?",
            "<time>",
        ),
        (r"\b\d{4}-\d\d-\d\d(?:[t ]\d\d:\d\d(?::\d\d(?:[.,]\d+)?)?\s?(?:z\b|[+-]\d\d:?\d\d)?)?", "<time>"),
        (r"(?<![\w:.])\d{1,2}:\d\d(?::\d\d(?:[.,]\d+)?)?(?![\w:])", "<time>"),
        (r"\[[0-9a-f:.]*:[0-9a-f:.]*(?:%\w+)?\](?::\d+)?", "<host>"),
        (r"(?<![\w:])(?:[0-9a-f]{0,4}:){2,7}(?:[0-9a-f]{1,4}|(?<=::))(?:%\w+)?(?![\w:])", "<host>"),
        (r"\b(?:\d{1,3}\.){3}\d{1,3}(?::\d+)?\b", "<host>"),
        (rf"(?<![\w.-])(?:[a-z0-9-]{{1,63}}\.){{1,10}}(?:{_TOP_LEVELS})\b\.?(?::\d+)?", "<host>"),
        (r"(?<![\w.-])(?:[a-z0-9-]{1,63}\.){1,10}[a-z]{2,24}:\d{1,5}\b", "<host>"),
        (r"\blocalhost(?::\d{1,5})?\b", "<host>"),
        (r"\b[a-z][a-z0-9-]{0,62}:\d{4,5}\b", "<host>"),
        (r"\b0x[0-9a-f]{4,}\b", "<id>"),
        (r"\b(?=[0-9a-f]*\d)(?=[0-9a-f]*[a-f])[0-9a-f]{8,}\b", "<id>"),
        (r"\b(?=[a-z]*\d)(?=\d*[a-z])[a-z0-9]{12,}\b", "<id>"),
        (r"\b[a-z]{2,8}[_-](?=[a-z]*\d)(?=\d*[a-z])[a-z0-9]{8,}\b", "<id>"),
        (rf"\b({_COUNTED})([-_ #]?)\d+\b", r"\1\2<n>"),
        # Not the digits of a name, `nova-2` or `pcm16`: those tell causes apart.
        (r"(?<![a-z_\d])(?<![a-z_]-)(?<![a-z_\d]\.)[-+]?\d+(?:[.,]\d+)*", "<n>"),
        (r"(<\w+>)(?:[\s,;]{0,3}\1)+", r"\1"),
        (r"\s+", " "),
    )
)


def normalized_message(message: str) -> str:
    """Return a message with ids, times, hosts, hashes and numbers replaced, so that one cause reads one way.

    HTTP, close and error codes stay, and so do digits that belong to a name: they tell causes apart.
    """
    message = message[:NORMALIZED_FROM]
    for pattern in _CODES:
        message = pattern.sub(lambda match: match.group().translate(_KEPT_DIGITS), message)
    for pattern, placeholder in _PLACEHOLDERS:
        message = pattern.sub(placeholder, message)
    return message.translate(_GIVEN_BACK).strip().casefold()[:NORMALIZED]


def fingerprint(failure: Failure, provider: str) -> str:
    """Return the digest (16 hex digits) that failures of one cause at one provider share.

    It covers the kind, phase, code, provider and the normalized message, which must already be sanitized.
    """
    parts = (
        f"fingerprint/{FINGERPRINT_VERSION}",
        failure.kind.value,
        failure.phase.value,
        failure.code or "",
        provider,
        normalized_message(failure.message),
    )
    return hashlib.sha256("\0".join(parts).encode("utf-8", "surrogatepass")).hexdigest()[:16]
