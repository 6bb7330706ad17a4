"""Every fault the stand-in can inject, and what sayagain has to make of it.

A fault that is not a failure is one that does no harm (a segment that comes twice, a sample cut in two), or one
that cannot be told from a poor answer (half of the words): a result, then, which its metrics show.
"""

from dataclasses import dataclass
from typing import Any

from sayagain.simulator.faults import Fault, Shape
from sayagain.simulator.protocols import PROTOCOLS

REPORTS = ("auth", "quota", "rate_limited", "concurrency", "bad_request", "session_expired", "server_error")
STATUSES = (401, 402, 403, 404, 429, 500, 503)
OTHER_MODEL = "whisper-rt"
"""A model that no target asks for, by a name that AssemblyAI knows."""

FAULTS: dict[str, dict[str, Any]] = {
    **{f"http-{status}": {"kind": "http_error", "status": status} for status in STATUSES},
    "http-429-after": {"kind": "http_error", "status": 429, "retry_after": 1},
    "refused": {"kind": "refused"},
    "tls": {"kind": "tls_failure"},
    "slow": {"kind": "slow_handshake", "seconds": 60},
    "late": {"kind": "slow_handshake", "seconds": 0.2},
    **{f"reset-{at}": {"kind": "reset", "at": at} for at in ("opening", "audio", "end")},
    "silence": {"kind": "silence"},
    **{f"half-open-{at}": {"kind": "half_open", "at": at} for at in ("audio", "end")},
    "close-1011": {"kind": "close", "code": 1011, "reason": "NET-0001"},
    "close-1008": {"kind": "close", "code": 1008, "at": "opening"},
    "close-4999": {"kind": "close", "code": 4999, "at": "end"},
    **{f"says-{error}": {"kind": "reported_error", "error": error, "at": "opening"} for error in REPORTS},
    **{f"says-{error}-late": {"kind": "reported_error", "error": error, "at": "end"} for error in REPORTS},
    "cut": {"kind": "cut"},
    "malformed": {"kind": "malformed"},
    "oversized": {"kind": "oversized"},
    "wrong-model": {"kind": "wrong_model", "model": OTHER_MODEL},
    "truncated": {"kind": "truncated"},
    "no-final": {"kind": "no_final"},
    "empty-final": {"kind": "empty_final"},
    "empty-done": {"kind": "empty_done"},
    "only-partials": {"kind": "only_partials"},
    "duplicated": {"kind": "duplicated_finals"},
    "repeated": {"kind": "done_repeats"},
    "stall": {"kind": "stall"},
    "no-audio": {"kind": "no_audio"},
    "odd-chunks": {"kind": "odd_chunks"},
    "wav-header": {"kind": "stray_wav_header"},
}
"""A name for each fault, and its rule in a scenario."""

HARMLESS = frozenset({"late", "oversized", "duplicated", "repeated", "odd-chunks", "wav-header"})
TRUNCATED = "truncated"

RETRIED = frozenset({"rate_limited", "connect_refused", "connect_timeout", "connection_lost", "server_error"})
"""The kinds that may pass by themselves."""


@dataclass(frozen=True)
class Expected:
    """The failure that a fault has to end as; `phases` are several where two things happen at once."""

    kind: str
    phases: tuple[str, ...]
    code: str | None = None

    @property
    def retryable(self) -> bool:
        """Whether it is tried again."""
        return self.kind in RETRIED


HTTP_KINDS = {401: "auth", 402: "quota", 403: "auth", 404: "bad_request", 429: "rate_limited"}
HTTP_CODES = {
    "deepgram": {
        401: "INVALID_AUTH",
        402: "ASR_PAYMENT_REQUIRED",
        403: "INSUFFICIENT_PERMISSIONS",
        404: "BAD_REQUEST",
        429: "TOO_MANY_REQUESTS",
        500: "INTERNAL_SERVER_ERROR",
        503: "INTERNAL_SERVER_ERROR",
    },
    "openai": {
        401: "invalid_api_key",
        402: "insufficient_quota",
        403: "permission_denied",
        404: "model_not_found",
        429: "rate_limit_exceeded",
        500: "server_error",
        503: "server_error",
    },
    "elevenlabs": dict.fromkeys(STATUSES, "error"),
}
"""The code that stands beside the status in the body of a refusal, where the provider gives one."""

_AUTH, _QUOTA, _RATE, _CROWD, _BAD, _EXPIRED, _SERVER = REPORTS
_DEEPGRAM_CLOSES: dict[str, tuple[str, str | None]] = {
    _EXPIRED: ("server_error", "1011/NET-0000"),
    _SERVER: ("server_error", "1011/NET-0001"),
    **dict.fromkeys((_AUTH, _QUOTA, _RATE, _CROWD, _BAD), ("bad_request", "1008/DATA-0000")),
}
"""Deepgram says inside an open connection nothing about an account: it does at the upgrade."""

_CARTESIA: dict[str, tuple[str, str | None]] = {
    _AUTH: ("auth", "401/unauthorized"),
    _QUOTA: ("quota", "402/quota_exceeded"),
    _RATE: ("rate_limited", "429/rate_limited"),
    _CROWD: ("rate_limited", "429/concurrency_limited"),
    _BAD: ("bad_request", "400/invalid_request"),
    _EXPIRED: ("server_error", "408/session_expired"),
    _SERVER: ("server_error", "500/internal_error"),
}

SAID: dict[str, dict[str, tuple[str, str | None]]] = {
    "stt-deepgram": {**_DEEPGRAM_CLOSES, _BAD: ("bad_request", "SchemaError")},
    "tts-deepgram": _DEEPGRAM_CLOSES,
    "stt-deepgram-flux": {
        _AUTH: ("auth", "AUTH"),
        _QUOTA: ("quota", "QUOTA"),
        _RATE: ("rate_limited", "RATE_LIMITED"),
        _CROWD: ("rate_limited", "CONCURRENCY"),
        _BAD: ("bad_request", "BAD_REQUEST"),
        _EXPIRED: ("connection_lost", "SESSION_EXPIRED"),
        _SERVER: ("server_error", "INTERNAL_SERVER_ERROR"),
    },
    "stt-assemblyai": {
        _AUTH: ("auth", "1008"),
        _QUOTA: ("quota", "4002"),
        _RATE: ("rate_limited", "4029"),
        _CROWD: ("rate_limited", "3009"),
        _BAD: ("bad_request", "3006"),
        _EXPIRED: ("connection_lost", "3008"),
        _SERVER: ("server_error", "3005"),
    },
    "stt-openai-realtime": {
        _AUTH: ("auth", "invalid_api_key"),
        _QUOTA: ("quota", "insufficient_quota"),
        _RATE: ("rate_limited", "rate_limit_exceeded"),
        _CROWD: ("rate_limited", "concurrency_limit_exceeded"),
        _BAD: ("bad_request", "invalid_value"),
        _EXPIRED: ("connection_lost", "session_expired"),
        _SERVER: ("server_error", "server_error"),
    },
    "stt-elevenlabs": {
        _AUTH: ("auth", "auth_error"),
        _QUOTA: ("quota", "quota_exceeded"),
        _RATE: ("rate_limited", "rate_limited"),
        _CROWD: ("server_error", "resource_exhausted"),
        _BAD: ("bad_request", "invalid_request"),
        _EXPIRED: ("connection_lost", "session_time_limit_exceeded"),
        _SERVER: ("server_error", "transcriber_error"),
    },
    "stt-speechmatics": {
        _AUTH: ("auth", "not_authorised"),
        **dict.fromkeys((_RATE, _CROWD), ("rate_limited", "quota_exceeded")),
        _QUOTA: ("quota", "timelimit_exceeded"),
        _BAD: ("bad_request", "invalid_message"),
        _EXPIRED: ("connection_lost", "session_timeout"),
        _SERVER: ("server_error", "job_error"),
    },
    "stt-gladia": {
        _AUTH: ("auth", "4401"),
        _QUOTA: ("quota", "4402"),
        **dict.fromkeys((_RATE, _CROWD), ("rate_limited", "4429")),
        _BAD: ("bad_request", "4400"),
        _EXPIRED: ("connection_lost", "4403"),
        _SERVER: ("server_error", "4500"),
    },
    "stt-soniox": {
        _AUTH: ("auth", "401"),
        _QUOTA: ("quota", "402"),
        **dict.fromkeys((_RATE, _CROWD), ("rate_limited", "429")),
        _BAD: ("bad_request", "400"),
        _EXPIRED: ("server_error", "408"),
        _SERVER: ("server_error", "503"),
    },
    "stt-cartesia": _CARTESIA,
    "tts-cartesia": _CARTESIA,
    "tts-elevenlabs": {
        _AUTH: ("auth", "invalid_api_key"),
        _QUOTA: ("quota", "quota_exceeded"),
        _RATE: ("rate_limited", "rate_limited"),
        _CROWD: ("rate_limited", "too_many_concurrent_requests"),
        _BAD: ("bad_request", "invalid_request"),
        _EXPIRED: ("idle_timeout", "input_timeout_exceeded"),
        _SERVER: ("server_error", "internal_error"),
    },
    "tts-rime": {
        _AUTH: ("auth", None),
        _QUOTA: ("quota", None),
        **dict.fromkeys((_RATE, _CROWD), ("rate_limited", None)),
        _BAD: ("bad_request", None),
        _EXPIRED: ("connection_lost", None),
        _SERVER: ("server_error", None),
    },
    "tts-hume": {
        _AUTH: ("auth", "auth"),
        _QUOTA: ("quota", "quota"),
        _RATE: ("rate_limited", "rate_limited"),
        _CROWD: ("rate_limited", "concurrency"),
        _BAD: ("bad_request", "bad_request"),
        _EXPIRED: ("connection_lost", "session_expired"),
        _SERVER: ("server_error", "server_error"),
    },
}
"""What each provider's words for an error inside the open connection mean, and the code that is kept of them."""


def possible(protocol: str, label: str) -> bool:
    """Tell whether a protocol can have a fault."""
    dialect, fault = PROTOCOLS[protocol], FAULTS[label]
    (kind,) = [one for one in Fault.__subclasses__() if one.__struct_config__.tag == fault["kind"]]
    late = fault.get("at", "opening") != "opening" and dialect.shape in (Shape.STT_BATCH, Shape.TTS_BATCH)
    return dialect.shape in kind.shapes and fault["kind"] not in dialect.impossible and not late


def expected(protocol: str, label: str) -> Expected | None:
    """Return the failure that a fault has to end as in a protocol, or None when it is none."""
    if label in HARMLESS or label == TRUNCATED:
        return None
    kind, _, rest = label.partition("-")
    by_kind = {"http": _http, "says": _said, "reset": _reset, "close": _closed}
    return by_kind[kind](protocol, rest) if kind in by_kind else _other(protocol, label)


def _shape(protocol: str) -> Shape:
    return PROTOCOLS[protocol].shape


def _answer(protocol: str) -> str:
    """Return the phase in which a protocol's answer is waited for."""
    return "receive" if protocol.startswith("tts") else "finish"


def _early(protocol: str) -> tuple[str, ...]:
    """Return the phases in which the server's first words can arrive: speech starts without waiting for them."""
    return ("receive",) if protocol.startswith("tts") else ("open", "send")


def _request(protocol: str) -> tuple[str, ...]:
    """Return the phase in which an HTTP status refuses."""
    if _shape(protocol) in (Shape.STT_BATCH, Shape.TTS_BATCH):
        return (_answer(protocol),)
    return ("open",) if protocol == "stt-gladia" else ("connect",)


def _http(protocol: str, rest: str) -> Expected:
    status = int(rest.partition("-")[0])
    named = "" if protocol == "stt-openai-realtime" else protocol.split("-")[1]
    code = HTTP_CODES[named].get(status) if named in HTTP_CODES else None
    label = str(status) if code is None else f"{status}/{code}"
    return Expected(HTTP_KINDS.get(status, "server_error"), _request(protocol), label)


def _said(protocol: str, rest: str) -> Expected:
    error = rest.removesuffix("-late")
    kind, code = SAID[protocol][error]
    return Expected(kind, _early(protocol) if error == rest else (_answer(protocol),), code)


def _reset(protocol: str, at: str) -> Expected:
    if at == "opening":
        return Expected("connection_lost", _request(protocol), "ECONNRESET")
    during = _answer(protocol) if at == "end" or protocol.startswith("tts") else "send"
    return Expected("connection_lost", (during,), "1006")


def _closed(protocol: str, code: str) -> Expected:
    if code == "1011":
        return Expected("server_error", ("receive" if protocol.startswith("tts") else "send",), "1011/NET-0001")
    if code == "1008":
        return Expected("auth" if protocol == "stt-assemblyai" else "bad_request", _early(protocol), "1008")
    return Expected("connection_lost", (_answer(protocol),), code)


def _other(protocol: str, label: str) -> Expected:
    answer = (_answer(protocol),)
    quiet = "final_timeout" if protocol.startswith("stt") else "idle_timeout"
    waits = protocol in ("stt-openai-realtime", "stt-speechmatics")
    batch = _shape(protocol) in (Shape.STT_BATCH, Shape.TTS_BATCH)
    match label:
        case "refused":
            return Expected("connect_refused", ("connect",), "ECONNREFUSED")
        case "tls":
            return Expected("tls", ("connect",), "SSLV3_ALERT_HANDSHAKE_FAILURE")
        case "slow" if batch:
            return Expected(quiet, answer)
        case "slow" if protocol == "stt-gladia":
            return Expected("idle_timeout", ("open",))
        case "slow":
            return Expected("connect_timeout", ("connect",))
        case "silence" if waits:
            return Expected("idle_timeout", ("open",))
        case "silence" | "no-final":
            return Expected(quiet, answer)
        case "stall" | "half-open-audio" | "half-open-end":
            return Expected("idle_timeout", answer)
        case "cut":
            return Expected("connection_lost", answer, None if batch else "1006")
        case "malformed":
            return Expected("protocol", answer)
        case "wrong-model":
            return Expected("model_mismatch", _early(protocol))
        case "empty-final" if protocol == "stt-soniox":
            return Expected("protocol", answer)  # its empty final and its empty end are one message
        case "empty-final" | "no-audio":
            return Expected("empty", answer)
        case "empty-done":
            return Expected("protocol", answer)
        case "only-partials" if protocol == "stt-gladia":
            return Expected("protocol", answer)  # a normal close is its end
        case "only-partials":
            return Expected("connection_lost", answer, "1000")
    raise KeyError(label)
