"""The Wyoming transport: one TCP connection an attempt, each frame stamped when its last byte arrived."""

import asyncio
import io
import socket
from collections import deque
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from typing import ClassVar, Protocol

from wyoming.event import Event as WireEvent
from wyoming.event import async_read_event, write_event

from sayagain.failures import failed
from sayagain.providers.codec import SttCodec, TtsCodec
from sayagain.records import Case, Connection, EventKind, FailureKind, Limits, Phase
from sayagain.transports.base import Channel, Session, Transport
from sayagain.transports.conversation import synthesize, transcribe
from sayagain.transports.pacing import NS_PER_MS, now_ns
from sayagain.transports.sending import chunk_seconds
from sayagain.transports.tracing import Tracer

MAX_LINE = 16 * 1024 * 1024
"""The longest header line that is accepted, in bytes."""

WyomingCodec = type[SttCodec[WireEvent]] | type[TtsCodec[WireEvent]]


class Address(Protocol):
    """A server ready to be connected to."""

    @property
    def host(self) -> str:
        """Its host name or IP address."""

    @property
    def port(self) -> int:
        """Its TCP port."""


class Endpoint(Protocol):
    """Where the server of a target is, or how one is made ready; whether its process belongs to this run."""

    local: ClassVar[bool]

    async def prepare(self) -> None:
        """Make a server ready before anything is timed."""

    def lease(self) -> AbstractAsyncContextManager[Address]:
        """Return a context that holds a ready server; an error inside it tells whether the server is to blame."""

    async def aclose(self) -> None:
        """Let every server go."""


@dataclass(frozen=True)
class FixedEndpoint:
    """A server somebody else runs, at an address of the local configuration."""

    host: str
    port: int
    local: ClassVar[bool] = False

    async def prepare(self) -> None:
        """Do nothing: it runs, or the first case will say that it does not."""

    @asynccontextmanager
    async def lease(self) -> AsyncIterator[Address]:
        """Hold nothing: every attempt may connect."""
        yield self

    async def aclose(self) -> None:
        """Do nothing: the server is not ours to stop."""


class StampedReader(asyncio.StreamReader):
    """A stream reader that knows when each byte arrived.

    The instant is taken when the event loop hands the bytes over, before any parsing and before the reading
    task is scheduled. Data is read only with `readline` and `readexactly`.
    """

    def __init__(self) -> None:
        super().__init__(limit=MAX_LINE)
        self._arrivals: deque[tuple[int, int]] = deque()
        self._arrived = 0
        self._consumed = 0

    def feed_data(self, data: bytes) -> None:  # type: ignore[override]
        """Take bytes from the loop and note the instant."""
        self._arrived += len(data)
        self._arrivals.append((self._arrived, now_ns()))
        super().feed_data(data)

    async def readline(self) -> bytes:
        """Read a line, counting what is consumed."""
        return self._count(await super().readline())

    async def readexactly(self, n: int) -> bytes:
        """Read n bytes, counting what is consumed."""
        return self._count(await super().readexactly(n))

    def consumed_at(self) -> int:
        """Return the instant at which the last consumed byte arrived."""
        while len(self._arrivals) > 1 and self._arrivals[0][0] < self._consumed:
            self._arrivals.popleft()
        return self._arrivals[0][1] if self._arrivals else now_ns()

    def _count(self, data: bytes) -> bytes:
        self._consumed += len(data)
        return data


class WyomingChannel(Channel[WireEvent]):
    """Wyoming events over one TCP connection."""

    def __init__(self, reader: StampedReader, writer: asyncio.StreamWriter, connection: Connection) -> None:
        self._reader = reader
        self._writer = writer
        self.connection = connection

    @classmethod
    async def connect(cls, host: str, port: int) -> "WyomingChannel":
        """Connect and time the name lookup and the TCP handshake apart; raise OSError when it cannot."""
        loop = asyncio.get_running_loop()
        start = now_ns()
        addresses = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        looked_up = now_ns()
        reader = StampedReader()
        protocol = asyncio.StreamReaderProtocol(reader)
        transport = await _first_that_answers(protocol, [(str(info[4][0]), port) for info in addresses])
        connected = now_ns()
        writer = asyncio.StreamWriter(transport, protocol, reader, loop)
        return cls(
            reader,
            writer,
            Connection(
                total_ms=(connected - start) / NS_PER_MS,
                dns_ms=(looked_up - start) / NS_PER_MS,
                tcp_ms=(connected - looked_up) / NS_PER_MS,
            ),
        )

    async def send(self, frame: WireEvent) -> None:
        """Write one event with a single call to the operating system."""
        encoded = io.BytesIO()
        write_event(frame, encoded)
        self._writer.write(encoded.getbuffer())
        await self._writer.drain()

    async def receive(self) -> tuple[int, WireEvent] | None:
        """Return the next event and when its last byte arrived, or None when the server closed."""
        try:
            event = await async_read_event(self._reader)
        except (KeyError, TypeError, AttributeError) as error:
            raise failed(FailureKind.PROTOCOL, Phase.RECEIVE, "an event without a type arrived") from error
        if event is not None:
            return self._reader.consumed_at(), event
        if self._reader.at_eof():
            return None
        raise failed(FailureKind.PROTOCOL, Phase.RECEIVE, "what arrived is not a Wyoming event")

    async def close(self) -> None:
        """Close at once; whatever was still to be sent is of no use."""
        self._writer.transport.abort()


async def _first_that_answers(
    protocol: asyncio.StreamReaderProtocol, addresses: list[tuple[str, int]]
) -> asyncio.Transport:
    """Connect to the first address that accepts: a name such as localhost has one for each family."""
    refused: OSError | None = None
    for host, port in addresses:
        try:
            transport, _ = await asyncio.get_running_loop().create_connection(lambda: protocol, host, port)
        except OSError as error:
            refused = refused or error
        else:
            return transport
    raise refused or OSError("the name has no address")


class WyomingSession(Session):
    """One attempt against a server that is ready."""

    def __init__(self, address: Address, codec: WyomingCodec) -> None:
        self._address = address
        self._codec = codec

    async def attempt(self, case: Case, pcm: bytes, tracer: Tracer, limits: Limits) -> None:
        """Build the codec, connect and hold the conversation of the case's benchmark."""
        codec = self._codec(case.target, case.item)
        tracer.phase = Phase.CONNECT
        async with asyncio.timeout(limits.connect_timeout_s):
            channel = await WyomingChannel.connect(self._address.host, self._address.port)
        tracer.connection = channel.connection
        tracer.mark(EventKind.CONNECTED)
        try:
            if isinstance(codec, SttCodec):
                await transcribe(channel, codec, pcm, chunk_seconds(case.target), tracer, limits)
            else:
                await synthesize(channel, codec, case.item.text, tracer, limits)
        finally:
            await channel.close()


class WyomingTransport(Transport):
    """Reaches the targets that speak Wyoming, at an endpoint of the local configuration."""

    def __init__(self, endpoint: Endpoint, codec: WyomingCodec) -> None:
        self._endpoint = endpoint
        self._codec = codec
        self.local = endpoint.local
        if issubclass(codec, SttCodec):
            self.audio_format = codec.audio_format
            self.joiner = codec.joiner

    async def prepare(self) -> None:
        """Make the endpoint's server ready."""
        await self._endpoint.prepare()

    @asynccontextmanager
    async def session(self) -> AsyncIterator[Session]:
        """Hold a ready server for one attempt."""
        async with self._endpoint.lease() as address:
            yield WyomingSession(address, self._codec)

    async def aclose(self) -> None:
        """Let the endpoint's servers go."""
        await self._endpoint.aclose()
