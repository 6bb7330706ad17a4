import json
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from wyoming.event import Event, read_event

from sayagain.engines.registry import find
from sayagain.engines.server import encoded, joined, listen, serve, serve_forever
from sayagain.engines.sessions import MalformedEventError, Send, Session

FORMAT = {"rate": 16000, "width": 2, "channels": 1}


class Echo(Session):
    """Sends back what it gets; `malformed` and `gate` are words it knows."""

    def __init__(self, send: Send, gate: threading.Event | None = None) -> None:
        super().__init__(find("espeak"), "1", send)
        self.gate = gate
        self.closed = threading.Event()

    def handle(self, event: Event) -> None:
        if event.type == "malformed":
            raise MalformedEventError
        if event.type == "gate" and self.gate is not None:
            self._send(Event("waiting"))
            assert self.gate.wait(10)
        self._send(event)

    def _request(self, event: Event) -> None:
        raise NotImplementedError

    def close(self) -> None:
        self.closed.set()


@contextmanager
def conversation(open_session: Callable[[Send], Session] = Echo) -> Iterator[socket.socket]:
    """Serve one connection in a thread; leaving checks that the server has let go of it."""
    client, served = socket.socketpair()
    client.settimeout(10)
    thread = threading.Thread(target=serve, args=(served, open_session))
    thread.start()
    try:
        yield client
    finally:
        client.close()
        thread.join(10)
        served.close()
        assert not thread.is_alive()


def serving(listener: socket.socket) -> None:
    """Serve in a thread until the listener is closed."""

    def run() -> None:
        with suppress(OSError):
            serve_forever(listener, Echo)

    threading.Thread(target=run, daemon=True).start()


def ask(client: socket.socket, *events: Event) -> None:
    for event in events:
        client.sendall(encoded(event))


def test_events_are_answered_in_order() -> None:
    with conversation() as client, client.makefile("rb") as answers:
        ask(client, Event("one", {"text": "ä\n"}), Event("two", {}, b"\0\n\xff"))
        first, second = read_event(answers), read_event(answers)
    assert first is not None
    assert second is not None
    assert (first.type, first.data) == ("one", {"text": "ä\n"})
    assert (second.type, second.payload) == ("two", b"\0\n\xff")


def test_what_waits_while_the_engine_computes_is_read_and_its_audio_joined() -> None:
    gate = threading.Event()
    with conversation(lambda send: Echo(send, gate)) as client, client.makefile("rb") as answers:
        ask(client, Event("gate"))
        waiting = read_event(answers)
        assert waiting is not None
        assert waiting.type == "waiting"
        for number in range(50):
            ask(client, Event("audio-chunk", FORMAT, bytes([number] * 2)))
        ask(client, Event("audio-stop"))
        client.shutdown(socket.SHUT_WR)
        gate.set()
        rest = list(iter(lambda: read_event(answers), None))
    assert rest[0] is not None
    assert [rest[0].type, rest[-1] and rest[-1].type] == ["gate", "audio-stop"]
    audio = [event for event in rest if event is not None and event.type == "audio-chunk"]
    assert b"".join(event.payload or b"" for event in audio) == bytes(n for n in range(50) for _ in range(2))


def test_only_neighbouring_audio_of_one_format_is_joined() -> None:
    def chunk(pcm: bytes, rate: int = 16000, stamp: int = 0) -> Event:
        return Event("audio-chunk", FORMAT | {"rate": rate, "timestamp": stamp}, pcm)

    events = [
        chunk(b"a"),
        chunk(b"b", stamp=20),
        chunk(b"c", rate=8000),
        Event("audio-stop"),
        Event("x"),
        chunk(b"d"),
    ]
    result = [(event.type, event.payload) for event in joined(events)]
    assert result == [
        ("audio-chunk", b"ab"),
        ("audio-chunk", b"c"),
        ("audio-stop", None),
        ("x", None),
        ("audio-chunk", b"d"),
    ]


def test_a_request_that_ends_with_its_half_of_the_connection_is_still_answered() -> None:
    with conversation() as client, client.makefile("rb") as answers:
        ask(client, Event("question"))
        client.shutdown(socket.SHUT_WR)
        answer = read_event(answers)
    assert answer is not None
    assert answer.type == "question"


def test_a_malformed_event_closes_the_connection() -> None:
    with conversation() as client:
        ask(client, Event("malformed"))
        assert client.recv(1) == b""


def test_a_client_that_leaves_closes_its_session() -> None:
    sessions: list[Echo] = []

    def open_session(send: Send) -> Session:
        sessions.append(Echo(send))
        return sessions[0]

    with conversation(open_session) as client:
        ask(client, Event("hello"))
    assert sessions[0].closed.is_set()


def test_a_client_that_leaves_without_reading_its_answers_does_no_harm() -> None:
    gate = threading.Event()
    with conversation(lambda send: Echo(send, gate)) as client, client.makefile("rb") as answers:
        ask(client, Event("gate"))
        assert read_event(answers) is not None
        ask(client, *(Event("more", {}, bytes(4096)) for _ in range(20)))
        answers.close()
        client.close()
        gate.set()


headers = st.dictionaries(
    st.sampled_from(["type", "data", "data_length", "payload_length", "version"]),
    st.one_of(
        st.none(), st.booleans(), st.integers(-3, 40), st.text(max_size=5), st.lists(st.integers(), max_size=2)
    ),
)


@settings(max_examples=60, deadline=None)
@given(
    st.one_of(
        st.binary(max_size=200),
        st.builds(
            lambda header, tail: json.dumps(header).encode() + b"\n" + tail, headers, st.binary(max_size=60)
        ),
    )
)
def test_no_garbage_does_more_than_end_its_connection(garbage: bytes) -> None:
    with conversation() as client:
        client.sendall(garbage)
        client.shutdown(socket.SHUT_WR)
        while client.recv(65536):
            pass


@pytest.mark.parametrize("length", [10**30, -1, 2**40])
def test_an_absurd_length_ends_the_connection(length: int) -> None:
    with conversation() as client:
        client.sendall(json.dumps({"type": "audio-chunk", "payload_length": length}).encode() + b"\n")
        client.shutdown(socket.SHUT_WR)
        while client.recv(65536):
            pass


def test_the_next_connection_is_served_after_garbage() -> None:
    with listen() as listener:
        serving(listener)
        for garbage in (b"GET / HTTP/1.1\r\n\r\n", b"[]\n", b"\xff\xfe\n", b'{"type": 1}\n'):
            with socket.create_connection(listener.getsockname(), timeout=10) as client:
                client.sendall(garbage)
                client.shutdown(socket.SHUT_WR)
                assert client.recv(1) == b""
        with (
            socket.create_connection(listener.getsockname(), timeout=10) as client,
            client.makefile("rb") as answers,
        ):
            ask(client, Event("hello"))
            answer = read_event(answers)
            assert answer is not None
            assert answer.type == "hello"


def test_a_second_connection_waits_for_the_first_to_close() -> None:
    with listen() as listener:
        serving(listener)
        first = socket.create_connection(listener.getsockname(), timeout=10)
        second = socket.create_connection(listener.getsockname(), timeout=10)
        with first, second, first.makefile("rb") as to_first, second.makefile("rb") as to_second:
            ask(second, Event("second"))
            ask(first, Event("first"))
            assert read_event(to_first) is not None
            second.settimeout(0.0)
            with pytest.raises(BlockingIOError):
                second.recv(1)
            second.settimeout(10)
            first.shutdown(socket.SHUT_RDWR)
            answer = read_event(to_second)
            assert answer is not None
            assert answer.type == "second"
