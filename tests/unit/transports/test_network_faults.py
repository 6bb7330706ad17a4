"""Every way a provider or the way to it can fail has a kind, a phase and a code, and leaks nothing."""

import socket
import ssl
from collections.abc import AsyncIterator

import pytest
import trustme

from sayagain.records import FailureKind, Phase
from standins.network_standin import application
from support.socket_provider import (
    LIMITS,
    SPEECH,
    UPLOAD,
    WEBSOCKET,
    Kind,
    failure_of,
    mortal_provider,
    serving,
)


@pytest.fixture
async def url() -> AsyncIterator[str]:
    async with serving(application()) as port:
        yield f"http://127.0.0.1:{port}"


ALL = pytest.mark.parametrize("kind", [WEBSOCKET, UPLOAD, SPEECH], ids=["websocket", "upload", "speech"])

STATUSES = [
    (400, FailureKind.BAD_REQUEST, False, "400"),
    (401, FailureKind.AUTH, False, "401"),
    (402, FailureKind.QUOTA, False, "402/ASR_PAYMENT_REQUIRED"),
    (403, FailureKind.AUTH, False, "403"),
    (404, FailureKind.BAD_REQUEST, False, "404"),
    (413, FailureKind.BAD_REQUEST, False, "413"),
    (429, FailureKind.RATE_LIMITED, True, "429"),
    (500, FailureKind.SERVER_ERROR, True, "500"),
    (503, FailureKind.SERVER_ERROR, True, "503"),
]


@ALL
@pytest.mark.parametrize(("status", "expected", "retryable", "code"), STATUSES)
async def test_a_status_that_refuses_has_its_kind_its_code_and_what_the_provider_said(
    url: str, kind: Kind, status: int, expected: FailureKind, retryable: bool, code: str
) -> None:
    failure, retry_after_s = await failure_of(f"{url}/status-{status}", kind)
    assert (failure.kind, failure.retryable, failure.code) == (expected, retryable, code)
    assert failure.message == f"refused with {status}"
    assert retry_after_s == 7


@pytest.mark.parametrize(
    ("word", "kind", "phase", "code"),
    [
        ("close-1008", FailureKind.BAD_REQUEST, Phase.SEND, "1008/DATA-0000"),
        ("close-1011", FailureKind.SERVER_ERROR, Phase.SEND, "1011/NET-0001"),
        ("close-1013", FailureKind.SERVER_ERROR, Phase.SEND, "1013/NET-0001"),
        ("close-1000", FailureKind.CONNECTION_LOST, Phase.FINISH, "1000"),
        ("close-4999", FailureKind.CONNECTION_LOST, Phase.SEND, "4999"),
        ("drop", FailureKind.CONNECTION_LOST, Phase.SEND, "1006"),
        ("silent", FailureKind.FINAL_TIMEOUT, Phase.FINISH, None),
        ("only-partials", FailureKind.FINAL_TIMEOUT, Phase.FINISH, None),
        ("empty", FailureKind.PROTOCOL, Phase.FINISH, None),
        ("garbage", FailureKind.PROTOCOL, Phase.SEND, None),
        ("list", FailureKind.PROTOCOL, Phase.SEND, None),
        ("error", FailureKind.BAD_REQUEST, Phase.SEND, "SchemaError"),
        ("another-model", FailureKind.MODEL_MISMATCH, Phase.SEND, None),
        ("redirect", FailureKind.PROTOCOL, Phase.OPEN, "302"),
        ("no-upgrade", FailureKind.PROTOCOL, Phase.CONNECT, "200"),
        ("slow-handshake", FailureKind.CONNECT_TIMEOUT, Phase.CONNECT, None),
    ],
)
async def test_what_goes_wrong_on_a_websocket_has_a_kind_a_phase_and_a_code(
    url: str, word: str, kind: FailureKind, phase: Phase, code: str | None
) -> None:
    failure, _ = await failure_of(f"{url}/{word}", WEBSOCKET)
    assert (failure.kind, failure.phase, failure.code) == (kind, phase, code)


async def test_a_websocket_that_does_not_even_answer_a_ping_is_an_idle_timeout(url: str) -> None:
    limits = type(LIMITS)(connect_timeout_s=5, idle_timeout_s=0.3, final_timeout_s=30)
    failure, _ = await failure_of(f"{url}/half-open", WEBSOCKET, limits)
    assert failure.kind is FailureKind.IDLE_TIMEOUT
    assert "ping" in failure.message


async def test_a_message_beyond_every_bound_is_a_protocol_failure(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sayagain.transports.websocket.MAX_MESSAGE", 1 << 20)
    failure, _ = await failure_of(f"{url}/big", WEBSOCKET)
    assert (failure.kind, failure.code) == (FailureKind.PROTOCOL, "1009")


@pytest.mark.parametrize(
    ("word", "kind", "phase", "code"),
    [
        ("quota", FailureKind.QUOTA, Phase.FINISH, "429/insufficient_quota"),
        ("redirect", FailureKind.PROTOCOL, Phase.FINISH, "307"),
        ("hang", FailureKind.FINAL_TIMEOUT, Phase.FINISH, None),
        ("garbage", FailureKind.PROTOCOL, Phase.FINISH, None),
        ("empty", FailureKind.EMPTY, Phase.FINISH, None),
        ("another-model", FailureKind.MODEL_MISMATCH, Phase.FINISH, None),
    ],
)
async def test_what_goes_wrong_with_an_upload_has_a_kind_a_phase_and_a_code(
    url: str, word: str, kind: FailureKind, phase: Phase, code: str | None
) -> None:
    failure, _ = await failure_of(f"{url}/{word}", UPLOAD)
    assert (failure.kind, failure.phase, failure.code) == (kind, phase, code)


@pytest.mark.parametrize(
    ("word", "kind"),
    [
        ("hang", FailureKind.IDLE_TIMEOUT),
        ("stall", FailureKind.IDLE_TIMEOUT),
        ("drop", FailureKind.CONNECTION_LOST),
        ("json", FailureKind.PROTOCOL),
        ("empty", FailureKind.EMPTY),
    ],
)
async def test_what_goes_wrong_with_streamed_speech_has_a_kind(url: str, word: str, kind: FailureKind) -> None:
    failure, _ = await failure_of(f"{url}/{word}", SPEECH)
    assert (failure.kind, failure.phase) == (kind, Phase.RECEIVE)


@pytest.mark.parametrize("kind", [WEBSOCKET, SPEECH], ids=["websocket", "speech"])
async def test_a_provider_that_dies_is_a_lost_connection(kind: Kind) -> None:
    with mortal_provider() as url:
        failure, _ = await failure_of(f"{url}/die", kind)
    assert failure.kind is FailureKind.CONNECTION_LOST
    assert failure.retryable


@ALL
async def test_a_port_nobody_listens_on_refuses_the_connection(kind: Kind) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    failure, _ = await failure_of(f"http://127.0.0.1:{port}/ok", kind)
    assert (failure.kind, failure.phase) == (FailureKind.CONNECT_REFUSED, Phase.CONNECT)
    assert failure.code == "ECONNREFUSED"


@ALL
async def test_a_host_name_that_does_not_exist_is_a_dns_failure(kind: Kind) -> None:
    limits = type(LIMITS)(connect_timeout_s=30, idle_timeout_s=30)
    failure, _ = await failure_of("http://nowhere.invalid/ok", kind, limits)
    assert (failure.kind, failure.phase) == (FailureKind.DNS, Phase.CONNECT)


@ALL
async def test_a_certificate_nobody_vouches_for_is_a_tls_failure(kind: Kind) -> None:
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    trustme.CA().issue_cert("127.0.0.1").configure_cert(context)
    async with serving(application(), ssl_context=context) as port:
        failure, _ = await failure_of(f"https://127.0.0.1:{port}/ok", kind)
    assert (failure.kind, failure.phase) == (FailureKind.TLS, Phase.CONNECT)
    assert failure.code == "CERTIFICATE_VERIFY_FAILED"


@ALL
async def test_a_server_that_speaks_no_tls_is_a_tls_failure(url: str, kind: Kind) -> None:
    failure, _ = await failure_of(f"{url.replace('http:', 'https:')}/ok", kind)
    assert (failure.kind, failure.phase) == (FailureKind.TLS, Phase.CONNECT)


@ALL
async def test_a_server_that_accepts_and_says_nothing_in_tls_is_a_connect_timeout(kind: Kind) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        failure, _ = await failure_of(f"https://127.0.0.1:{server.getsockname()[1]}/ok", kind)
    assert (failure.kind, failure.phase) == (FailureKind.CONNECT_TIMEOUT, Phase.CONNECT)
