"""The stand-in's end of a connection: it writes, notes what it wrote right after writing, and can break things."""

import asyncio
import socket
import struct
from typing import Any

from aiohttp import WSMsgType, web

from sayagain.simulator import faults
from sayagain.simulator.faults import ErrorKind, Fault
from sayagain.simulator.journal import Record
from sayagain.simulator.protocols.base import MESSAGES, Frame, StreamDialect

MALFORMED = '{"type": "Results", "text'
"""A message that no JSON parser takes."""

LOOK_S = 0.05
"""How often a connection that does nothing looks whether the client has left."""


def reset(transport: asyncio.Transport | None) -> None:
    """End a connection with a TCP RST: nothing is lingered for."""
    if transport is not None:
        sock = transport.get_extra_info("socket")
        if sock is not None:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        transport.abort()


async def until_gone(request: web.BaseRequest) -> None:
    """Wait until the client has left."""
    # A handler that waits is told nothing by aiohttp.
    while request.transport is not None and not request.transport.is_closing():  # noqa: ASYNC110
        await asyncio.sleep(LOOK_S)


class Wire:
    """One open websocket and its record."""

    def __init__(self, socket: web.WebSocketResponse, request: web.BaseRequest, record: Record) -> None:
        self._socket = socket
        self._transport = request.transport
        self._request = request
        self.record = record
        self.closing = False

    async def receive(self) -> Frame | None:
        """Return the next message of the client, or None when no more can come."""
        message = await self._socket.receive()
        if message.type in (WSMsgType.BINARY, WSMsgType.TEXT):
            data: Frame = message.data
            return data
        if not self.closing:
            self.record.note("client_gone", code=self._socket.close_code)
        return None

    async def send(self, frame: Frame, event: str | None = None, **facts: Any) -> None:
        """Send a message and, if it matters, note it right after the write."""
        if isinstance(frame, str):
            await self._socket.send_str(frame)
        else:
            await self._socket.send_bytes(frame)
        if event is not None:
            self.record.note(event, size=len(frame), **facts)

    async def close(self, code: int = 1000, reason: str = "") -> None:
        """Close as the provider does; the close is noted when it has been sent, not when it was answered."""
        self.closing = True
        self.record.note("close_out", code=code)
        await self._socket.close(code=code, message=reason.encode())

    async def report(self, dialect: StreamDialect, error: ErrorKind, message: str) -> None:
        """Complain in the provider's own form, and close."""
        report = dialect.report(error, message)
        for frame in report.frames:
            await self.send(frame, "error_out", error=error)
        await self.close(report.code, report.reason)

    def reset(self) -> None:
        """Reset the connection."""
        self.closing = True
        reset(self._transport)

    def cut(self, frame: Frame) -> None:
        """Send the header and half of a frame, then end the connection."""
        payload = frame.encode() if isinstance(frame, str) else frame
        opcode = 0x81 if isinstance(frame, str) else 0x82
        # RFC 6455, 5.2: 126 announces a length of 16 bits. Any length is a lie here, so the shortest form will do.
        stated = struct.pack("!BBH", opcode, 126, max(126, min(len(payload), 0xFFFF)))
        self.closing = True
        if self._transport is not None:
            self._transport.write(stated + payload[: min(len(payload) // 2, 60)])
            self._transport.close()

    async def hold(self, seconds: float) -> None:
        """Neither read nor write any more, for a time or until the server ends; then reset."""
        if self._transport is not None:
            self._transport.pause_reading()
        await asyncio.sleep(seconds)
        self.reset()

    async def strike(self, dialect: StreamDialect, fault: Fault | None) -> None:
        """Do what a fault that strikes at a moment does."""
        if fault is None:
            return
        self.record.note("fault", fault=faults.name(fault))
        match fault:
            case faults.Reset():
                self.reset()
            case faults.HalfOpen(seconds=seconds):
                await self.hold(seconds)
            case faults.Close(code=code, reason=reason):
                await self.close(code, reason)
            case faults.ReportedError(error=error):
                await self.report(dialect, error, MESSAGES[error])


def padded(frame: Frame, size: int) -> Frame:
    """Make a message at least `size` bytes long that says the same: spaces after JSON, silence after PCM."""
    missing = max(size - len(frame), 0)
    return frame + " " * missing if isinstance(frame, str) else frame + bytes(missing + missing % 2)
