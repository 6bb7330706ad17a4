"""The protocol loop of an engine's process: Wyoming over TCP, one connection at a time.

A second connection waits in the backlog until the first is closed, so no two streams ever share the engine. Two
threads: one reads the socket, so that no client waits while the engine computes; the other runs the
engine and answers at once from there.
"""

import io
import socket
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from itertools import groupby
from queue import Empty, SimpleQueue
from typing import BinaryIO, NoReturn

from wyoming.audio import AudioChunk
from wyoming.event import Event, read_event, write_event

from sayagain.engines.sessions import MalformedEventError, Send, Session

HOST = "127.0.0.1"

OpenSession = Callable[[Send], Session]
"""Makes the session of a new connection, which answers through the function it is given."""


def listen() -> socket.socket:
    """Return a socket that listens on a free port of the loopback interface."""
    return socket.create_server((HOST, 0))


def serve_forever(listener: socket.socket, open_session: OpenSession) -> NoReturn:
    """Serve one connection after the other; none of them can end the process."""
    while True:
        connection, _ = listener.accept()
        with connection:
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            serve(connection, open_session)


def serve(connection: socket.socket, open_session: OpenSession) -> None:
    """Hold one conversation until the client has gone or sends what is not an event."""
    inbox: SimpleQueue[Event | None] = SimpleQueue()
    with connection.makefile("rb") as incoming:
        reader = threading.Thread(target=_read, args=(incoming, inbox), daemon=True)
        reader.start()
        session = open_session(lambda event: connection.sendall(encoded(event)))
        try:
            for event in _arriving(inbox):
                session.handle(event)
        except MalformedEventError:
            print("a malformed event; the connection is closed", file=sys.stderr)
        except OSError as error:
            print(f"the client has gone: {error}", file=sys.stderr)
        finally:
            session.close()
            _hang_up(connection)
            reader.join()


def encoded(event: Event) -> bytes:
    """Return an event as it goes over the wire."""
    buffer = io.BytesIO()
    write_event(event, buffer)
    return buffer.getvalue()


def _hang_up(connection: socket.socket) -> None:
    """End the connection for the reading thread, too."""
    try:
        connection.shutdown(socket.SHUT_RDWR)
    except OSError:
        return  # the client was faster


def _read(incoming: BinaryIO, inbox: "SimpleQueue[Event | None]") -> None:
    """Put every event into the inbox as it arrives, and None when no more can come."""
    try:
        while (event := read_event(incoming)) is not None:
            if not isinstance(event.type, str) or not isinstance(event.data, dict):
                break
            inbox.put(event)
    except Exception as error:  # whatever a stranger sends ends its connection and nothing else
        print(f"the connection is closed: {type(error).__name__}", file=sys.stderr)
    finally:
        inbox.put(None)


def _arriving(inbox: "SimpleQueue[Event | None]") -> Iterator[Event]:
    """Yield events until the end, with audio that is already waiting joined to one chunk."""
    while True:
        waiting = [inbox.get()]
        try:
            while waiting[-1] is not None:
                waiting.append(inbox.get_nowait())
        except Empty:
            pass
        yield from joined(event for event in waiting if event is not None)
        if waiting[-1] is None:
            return


def joined(events: Iterable[Event]) -> Iterator[Event]:
    """Join neighbouring `audio-chunk` events of one format, and leave all others as they are."""
    for layout, group in groupby(events, key=_layout):
        if layout is None:
            yield from group
        else:
            chunks = list(group)
            yield Event(chunks[0].type, chunks[0].data, b"".join(chunk.payload or b"" for chunk in chunks))


def _layout(event: Event) -> str | None:
    """Return what chunks must share to be joined, or None for other events."""
    if not AudioChunk.is_type(event.type):
        return None
    return repr([event.data.get(name) for name in ("rate", "width", "channels")])
