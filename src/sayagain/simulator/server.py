"""The stand-in's HTTP server: routes, keys, what strikes before a conversation begins, and the conversations."""

import asyncio
import itertools
import secrets
import socket
import ssl
from collections.abc import Awaitable, Callable
from contextvars import ContextVar
from dataclasses import dataclass, replace
from typing import Any

import msgspec
from aiohttp import web

from sayagain.simulator import faults
from sayagain.simulator.batch import RefusalError, speak, transcribe
from sayagain.simulator.faults import Moment, Shape
from sayagain.simulator.journal import Journal, Record
from sayagain.simulator.plan import Plan
from sayagain.simulator.protocols.base import Opening, StreamDialect, SttDialect, TtsDialect
from sayagain.simulator.protocols.stt_gladia import CREATED, Gladia
from sayagain.simulator.scenario import Endpoint, Scenario, Stt, Tts
from sayagain.simulator.stt import SttConversation
from sayagain.simulator.tts import TtsConversation
from sayagain.simulator.wire import Wire, reset

HOST = "127.0.0.1"
"""The only address there is: a stand-in is nobody else's business."""

HEADER = "X-Sayagain-Simulator"

MESSAGE = "the stand-in was told to answer with this status"

ALERT = b"\x15\x03\x03\x00\x02\x02\x28"
"""A TLS record: fatal alert 40, handshake_failure (RFC 8446, 6)."""

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


_connection: ContextVar[int] = ContextVar("_connection", default=0)
"""The number of the exchange that the running handler serves; 0 for what is no endpoint."""


@web.middleware
async def _unnumbered(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Forget the number of the exchange before, which a reused connection would carry on."""
    _connection.set(0)
    return await handler(request)


@dataclass
class _Visit:
    """One connection on its way to a conversation."""

    plan: Plan
    record: Record
    opening: Opening


class Simulator:
    """Serves a scenario on loopback until it is closed."""

    def __init__(self, scenario: Scenario, journal: Journal, tls: ssl.SSLContext | None = None) -> None:
        self._scenario = scenario
        self._journal = journal
        self._tls = tls
        self._connections = itertools.count(1)
        self._ordinals = {name: itertools.count() for name in scenario.endpoints}
        self._sessions: dict[str, _Visit] = {}
        self._runner: web.AppRunner | None = None
        self._closed_ports: list[socket.socket] = []
        self._alerters: list[asyncio.Server] = []
        self._addresses: dict[str, tuple[str, str]] = {}
        self.base = ""

    async def start(self, port: int = 0) -> None:
        """Open the port (0: any free one) and the ports of endpoints that need their own.

        Raises:
            OSError: The port is taken.
        """
        self._runner = web.AppRunner(self._application(), access_log=None, shutdown_timeout=0.2)
        await self._runner.setup()
        listening = socket.create_server((HOST, port), backlog=1024)
        await web.SockSite(self._runner, listening, ssl_context=self._tls).start()
        self.base = f"{HOST}:{listening.getsockname()[1]}"
        for endpoint in self._scenario.endpoints.values():
            await self._place(endpoint)

    async def close(self) -> None:
        """End every connection and close the ports."""
        if self._runner is not None:
            await self._runner.cleanup()
        for server in self._alerters:
            server.close()
        for closed in self._closed_ports:
            closed.close()
        self._journal.flush()

    @property
    def url(self) -> str:
        """The base URL, under which every default endpoint answers."""
        return f"{'https' if self._tls else 'http'}://{self.base}"

    def directory(self) -> dict[str, Any]:
        """Return where everything is, by the endpoint's name: base URLs, and the path that the protocol adds."""
        return {
            name: {
                "protocol": endpoint.protocol,
                "http": self._addresses[name][0],
                "websocket": self._addresses[name][1],
                "path": endpoint.dialect.path,
            }
            for name, endpoint in self._scenario.endpoints.items()
        }

    async def _place(self, endpoint: Endpoint) -> None:
        """Decide the endpoint's address, and make the port that a fault of the whole endpoint needs."""
        secure, host = self._tls is not None, self.base
        if isinstance(endpoint.own_port, faults.Refused):
            # Bound but not listening: the kernel refuses, and nobody else can take the port meanwhile.
            closed = socket.socket()
            closed.bind((HOST, 0))
            self._closed_ports.append(closed)
            host = f"{HOST}:{closed.getsockname()[1]}"
        elif isinstance(endpoint.own_port, faults.TlsFailure):
            server = await asyncio.start_server(self._alert(endpoint), HOST, 0)
            self._alerters.append(server)
            secure, host = True, f"{HOST}:{server.sockets[0].getsockname()[1]}"
        suffix = "s" if secure else ""
        self._addresses[endpoint.name] = (
            f"http{suffix}://{host}/{endpoint.name}",
            f"ws{suffix}://{host}/{endpoint.name}",
        )

    def _alert(
        self, endpoint: Endpoint
    ) -> Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]:
        async def alert(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            record = Record(self._journal, endpoint.name, next(self._connections))
            try:
                await reader.read(4096)
                writer.write(ALERT)
                record.note("fault", fault="tls_failure")
                await writer.drain()
            except ConnectionError:
                pass
            finally:
                writer.close()

        return alert

    def _application(self) -> web.Application:
        application = web.Application(client_max_size=1 << 30, middlewares=[_unnumbered])
        application.on_response_prepare.append(self._sign)
        for endpoint in self._scenario.endpoints.values():
            prefixes = [f"/{endpoint.name}"] + ([""] if endpoint.name == endpoint.protocol else [])
            for prefix in prefixes:
                self._route(application, endpoint, prefix)
        return application

    def _route(self, application: web.Application, endpoint: Endpoint, prefix: str) -> None:
        path = prefix + endpoint.dialect.path
        if issubclass(endpoint.dialect, Gladia):
            application.router.add_post(path, self._visited(endpoint, self._create))
            application.router.add_get(path, self._join)
        elif issubclass(endpoint.dialect, StreamDialect):
            application.router.add_get(path, self._visited(endpoint, self._converse))
        else:
            application.router.add_post(path, self._visited(endpoint, self._answer))

    @staticmethod
    async def _sign(request: web.Request, response: web.StreamResponse) -> None:
        """Say on every response what this is, and which connection of the journal it belongs to."""
        response.headers[HEADER] = f"1 connection={_connection.get()}"
        response.headers["Server"] = "sayagain-simulator"

    def _visited(
        self, endpoint: Endpoint, serve: Callable[[web.Request, _Visit], Awaitable[web.StreamResponse]]
    ) -> Handler:
        """Return a handler that numbers the connection, checks the key and lets early faults strike first."""

        async def handle(request: web.Request) -> web.StreamResponse:
            record = Record(self._journal, endpoint.name, next(self._connections))
            _connection.set(record.connection)
            plan = Plan(self._scenario, endpoint, next(self._ordinals[endpoint.name]))
            peer = request.get_extra_info("peername")
            fault = None if plan.fault is None else faults.name(plan.fault)
            record.note(
                "request", ordinal=plan.ordinal, client_port=peer[1] if peer else None, planned_fault=fault
            )
            opening = Opening(request.query, request.headers, request.match_info, model=plan.model)
            try:
                early = await self._early(request, plan, record, opening)
                return early if early is not None else await serve(request, _Visit(plan, record, opening))
            except RefusalError as refusal:
                record.note("client_error", message=str(refusal))
                return self._refuse(endpoint, refusal.status, str(refusal))
            except ConnectionError:
                record.note("client_gone")
                return web.Response(status=500)
            finally:
                record.note("closed")
                record.flush()

        return handle

    async def _early(
        self, request: web.Request, plan: Plan, record: Record, opening: Opening
    ) -> web.StreamResponse | None:
        """Do what strikes in place of the upgrade or the answer; None when nothing does."""
        match plan.fault:
            case faults.SlowHandshake(seconds=seconds):
                record.note("fault", fault="slow_handshake")
                await asyncio.sleep(seconds)
            case faults.Reset(at=Moment.OPENING):
                record.note("fault", fault="reset")
                reset(request.transport)
                return web.Response(status=500)
            case faults.HttpError(status=status, retry_after=retry_after):
                response = self._refuse(plan.endpoint, status, MESSAGE)
                if retry_after is not None:
                    response.headers["Retry-After"] = f"{retry_after:g}"
                record.note("fault", fault="http_error", status=status)
                return response
        if self._scenario.require_key and not plan.endpoint.dialect.has_key(opening):
            record.note("client_error", message="there is no key")
            return self._refuse(plan.endpoint, 401, "there is no key where this provider takes it")
        return None

    @staticmethod
    def _refuse(endpoint: Endpoint, status: int, message: str) -> web.Response:
        headers, body = endpoint.dialect.refusal(status, message)
        return web.Response(
            status=status, headers=headers, body=msgspec.json.encode(body), content_type="application/json"
        )

    async def _answer(self, request: web.Request, visit: _Visit) -> web.StreamResponse:
        """Serve an endpoint that is no stream."""
        plan = visit.plan
        behaviour = plan.endpoint.behaviour
        if plan.endpoint.dialect.shape is Shape.STT_BATCH and isinstance(behaviour, Stt):
            return await transcribe(request, visit.opening, plan, behaviour, visit.record)
        if isinstance(behaviour, Tts):
            return await speak(request, visit.opening, plan, behaviour, visit.record)
        raise TypeError(plan.endpoint.protocol)

    async def _create(self, request: web.Request, visit: _Visit) -> web.StreamResponse:
        """Make a session whose websocket has an address of its own (Gladia)."""
        try:
            body = msgspec.json.decode(await request.read() or b"{}", type=dict[str, Any])
        except msgspec.DecodeError:
            raise RefusalError(400, "a JSON object was expected") from None
        token = secrets.token_urlsafe(16)
        self._sessions[token] = replace(visit, opening=replace(visit.opening, body=body))
        url = f"{self._addresses[visit.plan.endpoint.name][1]}{Gladia.path}?token={token}"
        visit.record.note("session_out")
        return web.json_response({"id": token, "created_at": CREATED, "url": url}, status=201)

    async def _join(self, request: web.Request) -> web.StreamResponse:
        """Open the websocket of a session that was made before; each can be used once."""
        visit = self._sessions.pop(request.query.get("token", ""), None)
        if visit is None:
            return web.json_response({"statusCode": 403, "message": "there is no such session"}, status=403)
        _connection.set(visit.record.connection)
        try:
            return await self._converse(request, visit)
        finally:
            visit.record.note("closed")
            visit.record.flush()

    async def _converse(self, request: web.Request, visit: _Visit) -> web.StreamResponse:
        """Upgrade, and hold the conversation."""
        # No compression and no limit: a stand-in measures neither, and a client may send what it likes.
        upgraded = web.WebSocketResponse(compress=False, max_msg_size=0, timeout=2.0)
        if not upgraded.can_prepare(request).ok:
            raise RefusalError(426, "a websocket upgrade was expected")
        await upgraded.prepare(request)
        visit.record.note("upgraded")
        wire = Wire(upgraded, request, visit.record)
        plan, dialect = visit.plan, visit.plan.endpoint.dialect(visit.opening)
        behaviour = plan.endpoint.behaviour
        conversation: SttConversation | TtsConversation
        if isinstance(dialect, SttDialect) and isinstance(behaviour, Stt):
            conversation = SttConversation(wire, dialect, plan, behaviour)
        elif isinstance(dialect, TtsDialect) and isinstance(behaviour, Tts):
            conversation = TtsConversation(wire, dialect, plan, behaviour)
        else:
            raise TypeError(plan.endpoint.protocol)
        try:
            await conversation.run()
        except ConnectionError:
            visit.record.note("client_gone")
        return upgraded
