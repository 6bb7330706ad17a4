"""The websocket transport: one websocket an attempt.

A message is stamped with the instant at which the event loop was handed the data that completed it, before that
was parsed; several messages in one piece of data share it.
"""

import asyncio
import contextlib

import aiohttp
from aiohttp import WSMsgType

from sayagain.failures import CaseFailedError, failed
from sayagain.providers.access import Access, Closed, HttpRequest, WebsocketFrame
from sayagain.providers.network import WebsocketCodec, WebsocketStt, WebsocketTts, audio_format_for, json_object
from sayagain.records import Case, EventKind, FailureKind, Limits, Phase, Target
from sayagain.transports.base import Channel, Session
from sayagain.transports.connecting import Contact, NetworkTransport, contacting, is_secure, proxy_for, translated
from sayagain.transports.conversation import refusal, synthesize, transcribe
from sayagain.transports.http import HttpChannel, http_error
from sayagain.transports.pacing import NS_PER_S, now_ns, sleep_until
from sayagain.transports.sending import chunk_seconds
from sayagain.transports.tracing import Tracer

MAX_MESSAGE = 64 * 1024 * 1024
"""The largest message that is accepted, in bytes: far beyond any honest one, and not the memory of the machine."""

TOO_LARGE = 1009
"""The close code for a message that is too large (RFC 6455, 7.4.1)."""

CLOSING_S = 0.5
"""How long the other side is given to answer a close, in seconds."""

WebsocketCodecType = type[WebsocketStt] | type[WebsocketTts]


class WebsocketChannel(Channel[WebsocketFrame]):
    """An open websocket."""

    def __init__(
        self,
        socket: "aiohttp.ClientWebSocketResponse[bool]",
        contact: Contact,
        tracer: Tracer,
        idle_timeout_s: float,
    ) -> None:
        self._socket = socket
        self._contact = contact
        self._tracer = tracer
        self._idle_timeout_s = idle_timeout_s
        self._lifeless = False
        self._pulse: asyncio.Task[None] | None = asyncio.create_task(self._feel_pulse())

    async def send(self, frame: WebsocketFrame) -> None:
        """Send one text or binary message."""
        if isinstance(frame, str):
            await self._socket.send_str(frame)
        elif isinstance(frame, bytes):
            await self._socket.send_bytes(frame)
        else:
            raise TypeError("a close is not sent as a frame")

    async def receive(self) -> tuple[int, WebsocketFrame] | None:
        """Return the next message, or how the provider closed; None when there is nothing more to come.

        Raises a `CaseFailedError` for what the protocol does not allow, and of kind `idle_timeout` when the other
        side does not even answer a ping.
        """
        message = await self._socket.receive()
        at_ns = self._contact.arrived_ns()
        match message.type:
            case WSMsgType.TEXT | WSMsgType.BINARY:
                return at_ns, message.data
            case WSMsgType.CLOSE:
                code = int(message.data) or 1005
                self.close_code = str(code)
                return at_ns, Closed(code, str(message.extra or ""))
        error = message.data if message.type is WSMsgType.ERROR else self._socket.exception()
        if isinstance(error, aiohttp.WebSocketError):
            raise self._forbidden(int(error.code))
        if self._lifeless:
            raise failed(
                FailureKind.IDLE_TIMEOUT,
                self._tracer.phase,
                f"nothing was received for {self._idle_timeout_s:g} s, not even the answer to a ping",
            )
        self.close_code = self.close_code or "1006"
        return None

    async def close(self) -> None:
        """Say goodbye, and do not wait long for the answer."""
        if self._pulse is not None:
            self._pulse.cancel()
            self._pulse = None  # a task that was cancelled holds its frame, and the frame this channel
        with contextlib.suppress(aiohttp.ClientError, OSError):
            await self._socket.close()
        if error := self._socket.exception():
            error.with_traceback(None)  # its frames hold the socket, and the socket holds it

    async def _feel_pulse(self) -> None:
        """Ping after two thirds of the idle timeout without a sign; hang up when the rest brings none either.

        The client library can do so too, but sets two timers anew for every message that arrives.
        """
        quiet_ns = round(self._idle_timeout_s / 1.5 * NS_PER_S)
        patience_ns = round(self._idle_timeout_s * NS_PER_S)
        with contextlib.suppress(aiohttp.ClientError, OSError):
            while True:
                heard_ns = self._contact.arrived_ns()
                if now_ns() < heard_ns + quiet_ns:
                    await sleep_until(heard_ns + quiet_ns)
                    continue
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout((patience_ns - quiet_ns) / NS_PER_S):
                        await self._socket.ping()
                await sleep_until(heard_ns + patience_ns)
                if self._contact.arrived_ns() == heard_ns:
                    self._lifeless = True
                    self._contact.hang_up()
                    return

    def _forbidden(self, code: int) -> CaseFailedError:
        """Return the failure for a message after which we had to close, with the code we closed with."""
        self.close_code = str(code)
        what = "a message that is too large" if code == TOO_LARGE else "a message that its protocol does not allow"
        return failed(FailureKind.PROTOCOL, self._tracer.phase, f"the provider sent {what}", code=self.close_code)


class WebsocketSession(Session):
    """One attempt over a websocket."""

    def __init__(self, session: aiohttp.ClientSession, codec: WebsocketCodecType, access: Access) -> None:
        self._session = session
        self._codec = codec
        self._access = access

    async def attempt(self, case: Case, pcm: bytes, tracer: Tracer, limits: Limits) -> None:
        """Build the codec, ask where to connect if need be, connect and hold the conversation."""
        codec = self._codec(case.target, case.item, self._access)
        tracer.phase = Phase.CONNECT
        if (request := codec.prepare()) is not None:
            await self._prepare(request, codec, limits)
        channel = await self._connect(codec, tracer, limits)
        try:
            if isinstance(codec, WebsocketStt):
                await transcribe(channel, codec, pcm, chunk_seconds(case.target), tracer, limits)
            else:
                await synthesize(channel, codec, case.item.text, tracer, limits)
        finally:
            await channel.close()

    async def _prepare(self, request: HttpRequest, codec: WebsocketCodec, limits: Limits) -> None:
        """Make the request that comes before the websocket; its connection is not the one that is measured."""
        aside = Tracer()
        aside.phase = Phase.OPEN
        channel = HttpChannel(self._session, codec, aside, limits)
        body = b""
        try:
            async with asyncio.timeout(limits.connect_timeout_s + limits.idle_timeout_s):
                await channel.send(request)
                while (arrival := await channel.receive()) is not None:
                    body += arrival[1] if isinstance(arrival[1], bytes) else b""
            codec.prepared(json_object(body))
        except TimeoutError:
            raise failed(FailureKind.IDLE_TIMEOUT, Phase.OPEN, "the opening request was not answered") from None
        except (ValueError, KeyError, TypeError) as error:
            raise failed(
                FailureKind.PROTOCOL, Phase.OPEN, f"an opening answer that makes no sense: {type(error).__name__}"
            ) from None
        finally:
            await channel.close()

    async def _connect(self, codec: WebsocketCodec, tracer: Tracer, limits: Limits) -> WebsocketChannel:
        request = codec.open()
        contact = Contact()
        try:
            with contacting(contact):
                async with asyncio.timeout(limits.connect_timeout_s):
                    socket = await self._session.ws_connect(
                        request.url,
                        headers=dict(request.headers),
                        protocols=request.protocols,
                        proxy=proxy_for(request.url),
                        max_msg_size=MAX_MESSAGE,
                        timeout=aiohttp.ClientWSTimeout(ws_close=CLOSING_S),
                    )
        except aiohttp.WSServerHandshakeError as error:
            if error.status == 101:
                raise translated(error, Phase.CONNECT) from None
            retry_after = error.headers.get("Retry-After") if error.headers else None
            answer = http_error(error.status, contact.refusal, retry_after)
            raise refusal(codec.http_refusal(answer), Phase.CONNECT) from None
        except (aiohttp.ClientError, OSError, ValueError) as error:
            raise translated(error, Phase.CONNECT) from None
        tracer.connection = contact.connection(secure=is_secure(request.url), http_version="1.1", upgraded=True)
        tracer.mark(EventKind.CONNECTED)
        return WebsocketChannel(socket, contact, tracer, limits.idle_timeout_s)


class WebsocketTransport(NetworkTransport):
    """Reaches one target over websockets."""

    def __init__(self, codec: WebsocketCodecType, target: Target, access: Access, limits: Limits) -> None:
        super().__init__(limits)
        self._codec = codec
        self._access = access
        if issubclass(codec, WebsocketStt):
            self.audio_format = audio_format_for(codec, target)
            self.joiner = codec.joiner

    def attempt_with(self, client: aiohttp.ClientSession) -> Session:
        """Return an attempt that builds the codec anew."""
        return WebsocketSession(client, self._codec, self._access)
