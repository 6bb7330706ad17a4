"""How a connection to a provider comes about: one client session a target, each part of a connection timed.

The parts are told apart by aiohttp's tracing and by the protocol object: asyncio makes it when the TCP handshake
is over and connects it when the TLS handshake is over. The same object is handed every piece of data by the event
loop, before any parsing; the instant it notes there is the arrival of whatever that piece completes. That matters:
on loopback and two cores, the median message is stamped 0.07 ms before the reading task wakes with one stream, and
0.37 ms before with 128, which is a third of all the time that passes there.
"""

import asyncio
import ssl
import urllib.request
from abc import abstractmethod
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from contextvars import ContextVar
from functools import partial
from types import SimpleNamespace
from typing import Any
from urllib.parse import urlsplit

import aiohttp
from aiohttp.client_proto import ResponseHandler

from sayagain.failures import CaseFailedError, classify, failed
from sayagain.records import Connection, FailureKind, Limits, Phase
from sayagain.transports.base import Session, Transport
from sayagain.transports.pacing import NS_PER_MS, now_ns

MAX_REFUSAL = 64 * 1024
"""Bytes read of the body of an answer that refuses."""

REFUSAL_S = 2.0
"""How long the body of an answer that refuses is waited for, in seconds."""

_LOOPBACK = ("localhost", "127.0.0.1", "::1")


class Contact:
    """What was seen of one request: how its connection came about and when the request left.

    `size` is the size of the request's body in bytes; `sent` is set when as much has left.
    """

    def __init__(self, size: int = 0) -> None:
        self.started_ns = now_ns()
        self.sent = asyncio.Event()
        self.sent_ns = self.started_ns
        self.protocol: StampingProtocol | None = None
        self.connected_ns: int | None = None
        self.answered_ns: int | None = None
        self.reused = False
        self.refusal = b""
        self._size = size
        self._lookup_ns: int | None = None
        self._looked_up_ns: int | None = None
        self._connecting_ns: int | None = None

    def look_up(self) -> None:
        """The host name is being looked up."""
        self._lookup_ns = now_ns()

    def looked_up(self) -> None:
        """The host name is known."""
        self._looked_up_ns = now_ns()

    def connect(self) -> None:
        """A new connection is being made."""
        self._connecting_ns = now_ns()

    def connected(self) -> None:
        """The new connection is there."""
        self.connected_ns = now_ns()

    def reuse(self) -> None:
        """A connection that was there already is used."""
        self.connected_ns = now_ns()
        self.reused = True

    def left(self, size: int) -> None:
        """The headers (no bytes) or a part of the body is being handed to the operating system."""
        self.sent_ns = now_ns()
        self._size -= size
        if self._size <= 0:
            self.sent.set()

    def arrived_ns(self) -> int:
        """Return when the connection's latest data arrived."""
        return now_ns() if self.protocol is None else self.protocol.arrived_ns or now_ns()

    def hang_up(self) -> None:
        """End the connection at once, whatever the other side thinks of it."""
        if self.protocol is not None and self.protocol.transport is not None:
            self.protocol.transport.abort()

    def connection(self, *, secure: bool, http_version: str | None = None, upgraded: bool = False) -> Connection:
        """Return how the connection came about; with `upgraded`, the websocket upgrade is part of it."""
        connected_ns = self.connected_ns or now_ns()
        upgraded_ns = self.answered_ns if upgraded else None
        fresh = None if self.reused else self.protocol
        return Connection(
            total_ms=_ms(self.started_ns, upgraded_ns or connected_ns) or 0.0,
            dns_ms=_ms(self._lookup_ns, self._looked_up_ns),
            tcp_ms=_ms(self._looked_up_ns or self._connecting_ns, fresh.born_ns) if fresh is not None else None,
            tls_ms=_ms(fresh.born_ns, fresh.made_ns) if fresh is not None and secure else None,
            upgrade_ms=_ms(connected_ns, upgraded_ns),
            reused=self.reused,
            http_version=http_version,
        )


_current: ContextVar[Contact | None] = ContextVar("contact", default=None)


class StampingProtocol(ResponseHandler):
    """aiohttp's protocol, noting the instants of its own birth, its connection and its latest data."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__(loop=loop)
        self.born_ns = now_ns()
        self.made_ns = 0
        self.arrived_ns = 0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Note that TCP, and TLS where there is one, are up."""
        self.made_ns = now_ns()
        super().connection_made(transport)

    def set_response_params(self, **params: Any) -> None:
        """Tell the request that is about to use this connection which one it is."""
        if contact := _current.get():
            contact.protocol = self
        super().set_response_params(**params)

    def data_received(self, data: bytes) -> None:
        """Take data from the loop and note the instant."""
        if data:
            self.arrived_ns = now_ns()
        super().data_received(data)


def open_session(connect_timeout_s: float) -> aiohttp.ClientSession:
    """Return a client session with timed connections; it repeats nothing, follows no redirect, reads no cookie.

    Every connection looks its host up anew, so that the time it takes is part of each connection that is cold.
    """
    connector = aiohttp.TCPConnector(limit=0, use_dns_cache=False)
    # There is no public way to give a connector a protocol; a test says whether this one is still taken.
    connector._factory = partial(StampingProtocol, loop=asyncio.get_running_loop())  # type: ignore[assignment]
    client = aiohttp.ClientSession(
        connector=connector,
        trace_configs=[_tracing()],
        timeout=aiohttp.ClientTimeout(total=None, connect=connect_timeout_s, sock_connect=connect_timeout_s),
        cookie_jar=aiohttp.DummyCookieJar(),
        auto_decompress=True,
        trust_env=False,
    )
    # A request that was reset would be made once more without a word: an attempt that nobody counts.
    client._retry_connection = False
    return client


class NetworkTransport(Transport):
    """Reaches one target through a client session of its own, opened for the first attempt."""

    def __init__(self, limits: Limits) -> None:
        self._connect_timeout_s = limits.connect_timeout_s
        self._client: aiohttp.ClientSession | None = None

    @abstractmethod
    def attempt_with(self, client: aiohttp.ClientSession) -> Session:
        """Return one attempt's session, which uses the client."""

    async def prepare(self) -> None:
        """Do nothing: what a connection costs is part of what is measured."""

    @asynccontextmanager
    async def session(self) -> AsyncIterator[Session]:
        """Offer the client to one attempt."""
        if self._client is None:
            self._client = open_session(self._connect_timeout_s)
        yield self.attempt_with(self._client)

    async def aclose(self) -> None:
        """Close every connection."""
        if self._client is not None:
            await self._client.close()
            self._client = None


@contextmanager
def contacting(contact: Contact) -> Iterator[Contact]:
    """Have the requests made inside the with block, and in tasks started there, noted in a contact."""
    token = _current.set(contact)
    try:
        yield contact
    finally:
        _current.reset(token)


def proxy_for(url: str, proxies: Mapping[str, str] | None = None) -> str | None:
    """Return the proxy that the local environment (`HTTPS_PROXY`, `NO_PROXY`, …) names for a URL, if any."""
    parts = urlsplit(url)
    host = parts.hostname or ""
    if host in _LOOPBACK or urllib.request.proxy_bypass(parts.netloc.rpartition("@")[2]):
        return None
    known = urllib.request.getproxies() if proxies is None else proxies
    scheme = {"wss": "https", "ws": "http"}.get(parts.scheme, parts.scheme)
    return known.get(scheme) or known.get("all")


def is_secure(url: str) -> bool:
    """Tell whether a URL is reached over TLS."""
    return urlsplit(url).scheme in ("https", "wss")


def translated(error: BaseException, phase: Phase) -> CaseFailedError:
    """Return the failure for an error of the client library.

    The message is ours: those of the library quote URLs, whose query may hold a key.
    """
    match error:
        case CaseFailedError():
            return error
        case aiohttp.ClientConnectorDNSError():
            code = classify(error.os_error, phase).code
            return failed(FailureKind.DNS, Phase.CONNECT, "the host name could not be resolved", code=code)
        case aiohttp.ClientConnectorCertificateError():
            return _tls(error.certificate_error)
        case aiohttp.ClientConnectorError():
            return _tls(error.os_error) if isinstance(error, ssl.SSLError) else _unreachable(error.os_error)
        case ssl.SSLError():
            return _tls(error)
        case aiohttp.ClientHttpProxyError():
            code = str(error.status)
            return failed(
                FailureKind.CONNECT_REFUSED, Phase.CONNECT, "the proxy refused", code=code, retryable=False
            )
        case TimeoutError():
            return _timeout(phase)
        case aiohttp.InvalidURL() | aiohttp.NonHttpUrlClientError():
            return failed(FailureKind.BAD_REQUEST, Phase.CONNECT, "the endpoint is no URL that can be reached")
        case aiohttp.ClientResponseError():
            return failed(FailureKind.PROTOCOL, phase, "what answered does not speak its protocol")
        case aiohttp.ClientError() | ConnectionError() | EOFError():
            return _lost(error, phase)
        case _:
            return failed(FailureKind.INTERNAL, phase, f"{type(error).__name__} in the HTTP client")


def _tls(error: BaseException) -> CaseFailedError:
    code = getattr(error, "reason", None)
    said = getattr(error, "verify_message", None) or code or type(error).__name__
    return failed(FailureKind.TLS, Phase.CONNECT, f"the secure connection failed: {said}", code=code)


def _timeout(phase: Phase) -> CaseFailedError:
    if phase is Phase.CONNECT:
        return failed(FailureKind.CONNECT_TIMEOUT, phase, "the connection was not established in time")
    return failed(FailureKind.IDLE_TIMEOUT, phase, "nothing was received for too long")


def _unreachable(error: OSError) -> CaseFailedError:
    known = classify(error, Phase.CONNECT)
    kind = FailureKind.CONNECT_REFUSED if known.kind is FailureKind.INTERNAL else known.kind
    return failed(kind, Phase.CONNECT, "no connection could be made", code=known.code)


def _lost(error: BaseException, phase: Phase) -> CaseFailedError:
    code = classify(error, phase).code if isinstance(error, OSError) else None
    return failed(
        FailureKind.CONNECTION_LOST, phase, "the connection ended before the answer was complete", code=code
    )


def _tracing() -> aiohttp.TraceConfig:
    """Return the hooks that note what the client library does in the current contact."""
    trace = aiohttp.TraceConfig()
    trace.on_dns_resolvehost_start.append(_noting(lambda contact, _: contact.look_up()))
    trace.on_dns_resolvehost_end.append(_noting(lambda contact, _: contact.looked_up()))
    trace.on_connection_create_start.append(_noting(lambda contact, _: contact.connect()))
    trace.on_connection_create_end.append(_noting(lambda contact, _: contact.connected()))
    trace.on_connection_reuseconn.append(_noting(lambda contact, _: contact.reuse()))
    trace.on_request_headers_sent.append(_noting(lambda contact, _: contact.left(0)))
    trace.on_request_chunk_sent.append(_noting(lambda contact, params: contact.left(len(params.chunk))))
    trace.on_request_redirect.append(_refuse_redirect)
    trace.on_request_end.append(_answered)
    return trace


def _noting(note: Callable[[Contact, Any], None]) -> Callable[..., Awaitable[None]]:
    async def hook(session: aiohttp.ClientSession, context: SimpleNamespace, params: Any) -> None:
        if contact := _current.get():
            note(contact, params)

    return hook


async def _answered(
    session: aiohttp.ClientSession, context: SimpleNamespace, params: aiohttp.TraceRequestEndParams
) -> None:
    """Note the arrival of the answer's head, and read why the request was refused while that can be read."""
    contact = _current.get()
    if contact is None:
        return
    contact.answered_ns = contact.arrived_ns()
    if params.response.status >= 300:
        contact.refusal = await read_refusal(params.response)


async def _refuse_redirect(
    session: aiohttp.ClientSession, context: SimpleNamespace, params: aiohttp.TraceRequestRedirectParams
) -> None:
    """Follow no redirect: the headers hold a key, and it was not meant for whoever is named there."""
    raise failed(
        FailureKind.PROTOCOL,
        Phase.OPEN,
        "the provider redirected the request elsewhere; it was not followed",
        code=str(params.response.status),
    )


async def read_refusal(response: aiohttp.ClientResponse) -> bytes:
    """Return the beginning of the body of an answer that refuses, or nothing when it does not come."""
    body = b""
    try:
        async with asyncio.timeout(REFUSAL_S):
            while len(body) < MAX_REFUSAL and (piece := await response.content.read(MAX_REFUSAL - len(body))):
                body += piece
    except (aiohttp.ClientError, OSError, ValueError):
        return body
    return body


def _ms(start_ns: int | None, end_ns: int | None) -> float | None:
    return None if start_ns is None or end_ns is None else max(0, end_ns - start_ns) / NS_PER_MS
