"""What providers on real sockets answer, and how exactly it is timed."""

import asyncio
import os
import subprocess
import sys
import textwrap
from collections.abc import AsyncIterator, Callable
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from pathlib import Path

import pytest
import trustme
from aiohttp import web

from sayagain.providers.access import Access
from sayagain.providers.openai_compatible import OpenAICompatibleTts
from sayagain.records import AudioFormat, EventKind
from sayagain.transports.connecting import Contact, contacting, open_session, proxy_for
from sayagain.transports.http import HttpChannel, retry_after_s
from sayagain.transports.pacing import now_ns
from sayagain.transports.tracing import Tracer
from sayagain.transports.websocket import WebsocketChannel
from standins.network_standin import RATE, application, tone
from support.socket_provider import (
    PATIENT,
    PCM,
    SECRET,
    SPEECH,
    UPLOAD,
    WEBSOCKET,
    Kind,
    attempts,
    serving,
    trace_of,
)


@pytest.fixture
def asked() -> list[dict[str, object]]:
    return []


@pytest.fixture
async def url(asked: list[dict[str, object]]) -> AsyncIterator[str]:
    async with serving(application(asked)) as port:
        yield f"http://127.0.0.1:{port}"


async def test_a_transcript_over_a_websocket_has_every_step_in_its_trace(url: str) -> None:
    trace = await trace_of(f"{url}/ok", WEBSOCKET)
    assert trace.transcript == "ten of clubs"
    kinds = [event.kind for event in trace.events]
    assert kinds[:2] == [EventKind.CONNECTED, EventKind.STREAM_STARTED]
    assert kinds.count(EventKind.AUDIO_SENT) == 5
    assert kinds.index(EventKind.PARTIAL) < kinds.index(EventKind.END_SENT) < kinds.index(EventKind.FINAL)
    assert kinds[-1] is EventKind.DONE


async def test_messages_over_1_mib_are_read_like_any_other(url: str) -> None:
    assert (await trace_of(f"{url}/big", WEBSOCKET)).transcript == "ten of clubs"
    assert (await trace_of(f"{url}/big", UPLOAD)).transcript == "ten of clubs"


async def test_an_upload_carries_the_settings_and_a_wav_file_and_its_clock_starts_when_it_leaves(
    url: str, asked: list[dict[str, object]]
) -> None:
    trace = await trace_of(f"{url}/ok", UPLOAD)
    (form,) = asked
    file = form.pop("file")
    assert form == {"model": "whisper-1", "language": "en"}
    assert isinstance(file, bytes)
    assert file.startswith(b"RIFF")
    assert file.endswith(PCM)
    kinds = [event.kind for event in sorted(trace.events, key=lambda event: event.t_ns)]
    assert set(kinds[:2]) == {EventKind.CONNECTED, EventKind.STREAM_STARTED}
    assert kinds[2:] == [EventKind.AUDIO_SENT, EventKind.END_SENT, EventKind.FINAL, EventKind.DONE]


@pytest.mark.parametrize("word", ["ok", "wav"])
async def test_speech_in_odd_pieces_with_or_without_a_header_is_the_same_audio(url: str, word: str) -> None:
    trace = await trace_of(f"{url}/{word}", SPEECH)
    assert trace.audio == tone()
    assert trace.audio_format == AudioFormat(rate=RATE)
    sent = trace.first(EventKind.TEXT_SENT)
    first = trace.first(EventKind.AUDIO_RECEIVED)
    assert sent is not None
    assert first is not None
    assert 0 < sent.t_ns < first.t_ns


@pytest.mark.parametrize("kind", [UPLOAD, SPEECH], ids=["upload", "speech"])
async def test_a_second_attempt_reuses_the_connection_and_the_trace_says_so(url: str, kind: Kind) -> None:
    async with attempts(f"{url}/ok", kind) as attempt:
        cold, warm = (await attempt(Tracer())).connection, (await attempt(Tracer())).connection
    assert cold is not None
    assert warm is not None
    assert (cold.reused, warm.reused) == (False, True)
    assert cold.tcp_ms is not None
    assert (warm.dns_ms, warm.tcp_ms, warm.tls_ms) == (None, None, None)
    assert (cold.http_version, warm.http_version) == ("1.1", "1.1")


async def test_a_connection_by_name_is_timed_in_its_parts(url: str) -> None:
    connection = (await trace_of(f"{url.replace('127.0.0.1', 'localhost')}/ok", WEBSOCKET)).connection
    assert connection is not None
    assert connection.tls_ms is None
    parts = [connection.dns_ms, connection.tcp_ms, connection.upgrade_ms]
    assert all(part is not None and part > 0 for part in parts)
    assert sum(part or 0 for part in parts) <= connection.total_ms


def test_the_tls_handshake_is_timed_apart(tmp_path: Path) -> None:
    authority = trustme.CA()
    authority.cert_pem.write_to_path(tmp_path / "ca.pem")
    authority.issue_cert("127.0.0.1").private_key_and_cert_chain_pem.write_to_path(tmp_path / "server.pem")
    program = textwrap.dedent(
        """
        import asyncio, ssl, sys
        from standins.network_standin import application
        from support.socket_provider import WEBSOCKET, serving, trace_of

        async def main():
            context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
            context.load_cert_chain(sys.argv[1])
            async with serving(application(), ssl_context=context) as port:
                trace = await trace_of(f"https://127.0.0.1:{port}/ok", WEBSOCKET)
            connection = trace.connection
            assert connection.tls_ms > 0 and connection.tcp_ms > 0 and connection.upgrade_ms > 0, connection
            assert connection.tls_ms + connection.tcp_ms + connection.upgrade_ms <= connection.total_ms

        asyncio.run(main())
        """
    )
    environment = os.environ | {
        "SSL_CERT_FILE": str(tmp_path / "ca.pem"),
        "PYTHONPATH": str(Path(__file__).parents[2]),
    }
    done = subprocess.run(
        [sys.executable, "-c", program, str(tmp_path / "server.pem")],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr


async def test_an_arrival_is_stamped_when_the_loop_gets_the_data_not_when_somebody_reads_it() -> None:
    async def answer(request: web.Request) -> web.StreamResponse:
        socket = web.WebSocketResponse()
        await socket.prepare(request)
        async for message in socket:
            await socket.send_str(message.data)
        return socket

    app = web.Application()
    app.router.add_get("/", answer)
    contact = Contact()
    async with serving(app) as port, open_session(5) as session:
        with contacting(contact):
            socket = await session.ws_connect(f"http://127.0.0.1:{port}/")
        channel = WebsocketChannel(socket, contact, Tracer(), 5)
        before_ns = contact.arrived_ns()
        await channel.send("hello")
        await until(lambda: contact.arrived_ns() != before_ns)
        noticed_ns = now_ns()
        busy_until(noticed_ns + 5_000_000)
        assert await channel.receive() == (contact.arrived_ns(), "hello")
        assert contact.arrived_ns() < noticed_ns
        await channel.close()


async def test_a_piece_of_a_body_is_stamped_when_the_loop_gets_it(url: str) -> None:
    codec = OpenAICompatibleTts(SPEECH.case.target, SPEECH.case.item, Access(f"{url}/stall", {}))
    async with open_session(5) as session:
        channel = HttpChannel(session, codec, Tracer(), PATIENT)
        await channel.send(codec.request("hello"))
        head = await channel.receive()
        assert head is not None
        size = 0
        while size < 3 * 1001:
            arrival = await channel.receive()
            assert arrival is not None
            at_ns, piece = arrival
            assert isinstance(piece, bytes)
            assert head[0] <= at_ns <= now_ns()
            size += len(piece)
        await channel.close()


async def until(condition: Callable[[], bool]) -> None:
    """Let the loop turn until a condition holds."""
    while not condition():  # noqa: ASYNC110 - what is waited for is in the client library, which tells nobody
        await asyncio.sleep(0)


def busy_until(deadline_ns: int) -> None:
    """Keep the loop from turning."""
    while now_ns() < deadline_ns:
        pass


@pytest.mark.parametrize(
    ("value", "seconds"), [(None, None), ("7", 7.0), (" 0 ", 0.0), ("soon", None), ("-1", None), ("1.5", None)]
)
def test_retry_after_is_read_as_seconds_or_ignored(value: str | None, seconds: float | None) -> None:
    assert retry_after_s(value) == seconds


def test_retry_after_may_be_a_date_and_one_that_has_passed_means_now() -> None:
    in_an_hour = retry_after_s(format_datetime(datetime.now(UTC) + timedelta(hours=1), usegmt=True))
    assert in_an_hour is not None
    assert 3500 < in_an_hour <= 3600
    assert retry_after_s("Wed, 21 Oct 2015 07:28:00 GMT") == 0


def test_a_proxy_comes_from_the_environment_and_never_stands_before_this_machine(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("https_proxy", "http://proxy.example:3128")
    monkeypatch.setenv("no_proxy", "inside.example")
    assert proxy_for("wss://api.example/v1?key=x") == "http://proxy.example:3128"
    assert proxy_for("https://api.example/v1") == "http://proxy.example:3128"
    assert proxy_for("https://inside.example/") is None
    assert proxy_for("https://127.0.0.1:8080/") is None
    monkeypatch.delenv("https_proxy")
    assert proxy_for("https://api.example/v1") is None


async def test_the_key_reaches_the_provider_and_no_representation() -> None:
    seen: list[str] = []

    async def answer(request: web.Request) -> web.Response:
        seen.append(request.headers["Authorization"])
        return web.json_response({"text": "ten"})

    app = web.Application()
    app.router.add_post("/v1/audio/transcriptions", answer)
    async with serving(app) as port:
        trace = await trace_of(f"http://127.0.0.1:{port}", UPLOAD, PATIENT)
    assert seen == [f"Bearer {SECRET}"]
    assert SECRET not in repr(trace)
