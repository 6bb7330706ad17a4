"""One cause, one bucket; two causes, two."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sayagain.failures import MAX_MESSAGE, sanitized
from sayagain.fingerprints import NORMALIZED, fingerprint, normalized_message
from sayagain.records import Failure, FailureKind, Phase

ONE_CAUSE = [
    (
        "request id",
        "model overloaded (request_id: req_011CSHoEeqs5C35K2UUq)",
        "model overloaded (request_id: req_9z)",
    ),
    ("request uuid", "oops 123e4567-e89b-12d3-a456-426614174000", "oops 9f8e7d6c-5b4a-4392-8170-6f5e4d3c2b1a"),
    ("request number", "request 48121 was dropped", "request 7 was dropped"),
    ("bare id", "generation 21m00Tcm4TlvDq8ikWAM failed", "generation 9Zq8Lm22Pw04xKj1aBcD failed"),
    ("ports", "connect to localhost:10300 failed", "connect to localhost:41877 failed"),
    ("engine ports", "engine-a:10300 is gone", "engine-b:10301 is gone"),
    ("IPv4 hosts", "connect to 10.0.0.7:443 failed", "connect to 192.168.1.20:8443 failed"),
    ("IPv6 hosts", "connect to [fe80::1%eth0]:443 failed", "connect to [2001:db8::8:800:200c:417a]:443 failed"),
    ("IPv6 tuples", "Connect call failed ('::1', 10300, 0, 0)", "Connect call failed ('fe80::2', 9, 0, 0)"),
    ("regional hosts", "api.us.provider.com closed", "api-eu.provider.com closed"),
    ("hosts in URLs", "GET https://a.example/v1/x failed", "GET https://b-7.internal:8443/v1/x failed"),
    ("timings", "no answer after 15.002 s", "no answer after 20 s"),
    ("milliseconds", "late by 1200ms", "late by 7ms"),
    ("byte counts", "got 3,200 bytes, expected 6400", "got 12 bytes, expected 99999"),
    ("hashes", "manifest 9f86d081884c7d65 differs", "manifest 60303ae22b998861 differs"),
    ("addresses", "<Task at 0x7f3a2c10d0> failed", "<Task at 0x7f0000ffff> failed"),
    ("ISO times", "at 2025-11-04T10:15:30.123Z it ended", "at 2025-12-31 23:59:59+01:00 it ended"),
    ("HTTP dates", "Date: Tue, 04 Nov 2025 10:15:30 GMT", "Date: Wed, 31 Dec 2025 23:59:59 GMT"),
    ("clock times", "stopped at 10:15:30", "stopped at 9:05:01.250"),
    ("positions", "bad value at line 3 column 17", "bad value at line 120 column 2"),
    ("lists of numbers", "lost frames 3, 4", "lost frames 3, 4, 5, 6"),
    ("case and spaces", "Server  Busy\nnow", "server busy now"),
]

TWO_CAUSES = [
    (
        "HTTP codes",
        "server rejected WebSocket connection: HTTP 401",
        "server rejected WebSocket connection: HTTP 503",
    ),
    ("HTTP versions stay out", "HTTP/1.1 502", "HTTP/1.1 504"),
    ("status codes", "unexpected status code 429", "unexpected status code 500"),
    ("JSON status", '{"status":400}', '{"status":413}'),
    ("reason phrases", "429 Too Many Requests", "503 Service Unavailable"),
    ("close codes", "received 1011 (internal error)", "received 1008 (policy violation)"),
    ("bare close codes", "connection closed: code 1006", "connection closed: code 4008"),
    ("close code, same words", "received 4001 (bye)", "received 4002 (bye)"),
    ("error codes", "error code: 40301", "error code: 40302"),
    ("JSON codes", '{"code": 1001, "msg": "no"}', '{"code": 1002, "msg": "no"}'),
    ("error names", "NET-0001: gone", "NET-0002: gone"),
    ("error letters", "E1042 in stage", "E1043 in stage"),
    ("errno", "[Errno 111] failed", "[Errno 104] failed"),
    ("errno names", "failed: ECONNRESET", "failed: EPIPE"),
    ("exit codes", "engine ended, exit status 137", "engine ended, exit status 1"),
    ("signals", "engine ended by signal 9", "engine ended by signal 11"),
    ("HRESULT", "error 0x80004005", "error 0x80070057"),
    ("models", "unknown model nova-2", "unknown model nova-3"),
    ("formats", "encoding pcm16 is not supported", "encoding pcm24 is not supported"),
    ("sample formats", "use pcm_16000", "use pcm_44100"),
    ("exceptions", "json.decoder.JSONDecodeError", "wyoming.error.DecodeError"),
    ("paths", "POST https://a.example/v1/speak failed", "POST https://a.example/v1/listen failed"),
]


@pytest.mark.parametrize(("one", "other"), [case[1:] for case in ONE_CAUSE], ids=[case[0] for case in ONE_CAUSE])
def test_one_cause_reads_one_way(one: str, other: str) -> None:
    assert normalized_message(one) == normalized_message(other)


@pytest.mark.parametrize(("one", "other"), [case[1:] for case in TWO_CAUSES], ids=[case[0] for case in TWO_CAUSES])
def test_two_causes_read_two_ways(one: str, other: str) -> None:
    assert normalized_message(one) != normalized_message(other)


def failure(message: str = "gone", **changes: object) -> Failure:
    parts = {"kind": FailureKind.PROTOCOL, "phase": Phase.RECEIVE, "message": message, **changes}
    return Failure(**parts)  # type: ignore[arg-type]


def test_kind_phase_code_and_provider_tell_causes_apart() -> None:
    prints = {
        fingerprint(failure(), "a"),
        fingerprint(failure(), "b"),
        fingerprint(failure(kind=FailureKind.EMPTY), "a"),
        fingerprint(failure(phase=Phase.SEND), "a"),
        fingerprint(failure(code="1011"), "a"),
    }
    assert len(prints) == 5


def test_where_the_cut_falls_does_not_change_the_bucket() -> None:
    short = f"request_id: a1 {'word ' * 98}then the end"
    long = f"request_id: a1b2c3d4e5f6a7b8c9d0 {'word ' * 98}then the end"
    one, other = (sanitized(failure(text), text, "a") for text in (short, long))
    assert len(one.message) == len(other.message) == MAX_MESSAGE
    assert one.fingerprint == other.fingerprint


@pytest.mark.parametrize("code", ["Unknown voice: Joe", "x" * 65, "café", "a\nb", ""])
def test_a_code_that_is_text_is_dropped(code: str) -> None:
    assert sanitized(failure(code=code), "gone", "a").code is None


@pytest.mark.parametrize("code", ["1011", "-2", "NET-0001", "CERTIFICATE_VERIFY_FAILED", "error.rate/limit"])
def test_a_code_stays(code: str) -> None:
    assert sanitized(failure(code=code), "gone", "a").code == code


@given(st.text())
def test_any_message_has_a_short_normal_form_on_one_line(message: str) -> None:
    normal = normalized_message(message)
    assert len(normal) <= NORMALIZED
    assert "\n" not in normal


@given(st.integers(0, 10**12), st.integers(0, 10**12))
def test_counts_of_bytes_never_tell_causes_apart(one: int, other: int) -> None:
    assert normalized_message(f"error after {one} bytes") == normalized_message(f"error after {other} bytes")


@given(st.integers(400, 599), st.integers(400, 599))
def test_http_codes_always_tell_causes_apart(one: int, other: int) -> None:
    same = normalized_message(f"refused with HTTP {one}") == normalized_message(f"refused with HTTP {other}")
    assert same == (one == other)


@pytest.mark.parametrize("unit", ["a", "1", "a.", "0:", ":", "a1", "1.", "[", "http ", "id:", "-", "x" * 9 + " "])
def test_long_monotonous_messages_cost_little(unit: str) -> None:
    began = time.process_time()
    normalized_message(unit * 1_000_000)
    assert time.process_time() - began < 5
