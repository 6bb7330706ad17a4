"""The Wyoming channel over real sockets."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import pytest
from wyoming.event import Event, async_read_event, async_write_event

from sayagain.failures import CaseFailedError
from sayagain.records import FailureKind
from sayagain.transports.pacing import now_ns
from sayagain.transports.wyoming import WyomingChannel

Handler = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


@asynccontextmanager
async def connected(handler: Handler) -> AsyncIterator[WyomingChannel]:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await handler(reader, writer)
        finally:
            writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    channel = await WyomingChannel.connect("127.0.0.1", server.sockets[0].getsockname()[1])
    try:
        yield channel
    finally:
        await channel.close()
        server.close()


async def test_events_go_there_and_back_unchanged() -> None:
    async def echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while event := await async_read_event(reader):
            await async_write_event(event, writer)

    sent = [
        Event("a", {"text": "\u2028 ü", "n": 1}),
        Event("b", {}, b"\n\0\xff"),
        Event("c", {"x": [1]}, b"\1" * 3_000_000),
    ]
    async with connected(echo) as channel:
        for event in sent:
            await channel.send(event)
            arrival = await channel.receive()
            assert arrival is not None
            assert arrival[1] == event


async def test_a_frame_is_stamped_when_its_bytes_came_not_when_it_was_read() -> None:
    async def two(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await async_write_event(Event("first", {}, b"1" * 100), writer)
        await reader.read(1)
        await async_write_event(Event("second", {}, b"2" * 100), writer)

    async with connected(two) as channel:
        await asyncio.sleep(0.05)
        before_reading = now_ns()
        first = await channel.receive()
        await channel.send(Event("go", {}))
        second = await channel.receive()
    assert first is not None
    assert second is not None
    assert first[0] < before_reading < second[0]


async def test_frames_that_came_together_are_stamped_apart_from_frames_that_came_later() -> None:
    released = asyncio.Event()

    async def split(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b'{"type": "one"}\n{"type": "two", "payload_length": 4}\nab')
        await writer.drain()
        await released.wait()
        writer.write(b"cd")
        await writer.drain()

    async with connected(split) as channel:
        one = await channel.receive()
        between = now_ns()
        released.set()
        two = await channel.receive()
    assert one is not None
    assert two is not None
    assert one[0] < between < two[0]
    assert two[1].payload == b"abcd"


@pytest.mark.parametrize(
    "garbage",
    [
        b"not json\n",
        b'{"no": "type"}\n',
        b'"text"\n',
        b"[1]\n",
        b'{"type": "x", "data_length": "many"}\n',
        b"\xff\xfe\n",
    ],
)
async def test_what_is_no_frame_is_a_protocol_failure(garbage: bytes) -> None:
    async def babble(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(garbage)
        await writer.drain()
        await reader.read()

    async with connected(babble) as channel:
        with pytest.raises(CaseFailedError) as caught:
            await channel.receive()
        assert caught.value.failure.kind is FailureKind.PROTOCOL


async def test_the_end_between_frames_is_an_end_and_inside_a_frame_an_error() -> None:
    async def nothing(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.close()

    async def half(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b'{"type": "x", "payload_length": 10}\nabc')
        await writer.drain()
        writer.close()

    async with connected(nothing) as channel:
        assert await channel.receive() is None
    async with connected(half) as channel:
        with pytest.raises(EOFError):
            await channel.receive()


async def test_a_port_where_nobody_listens_refuses() -> None:
    server = await asyncio.start_server(lambda r, w: None, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    server.close()
    await server.wait_closed()
    with pytest.raises(ConnectionRefusedError):
        await WyomingChannel.connect("127.0.0.1", port)
