"""A provider for tests: Deepgram's websockets and OpenAI's HTTP endpoints; the path says how it behaves.

The first part of every path is a word: a base URL of `http://HOST:PORT/stall` makes a server that stalls. In a
process of its own (`python network_standin.py`) it prints its port, and `die` kills it in the middle of an answer.
"""

import asyncio
import json
import math
import os
import struct
import sys
import threading
from collections.abc import Iterator

from aiohttp import WSMsgType, web

RATE = 24_000
NEVER = 3600.0


def tone(seconds: float = 0.2) -> bytes:
    count = int(RATE * seconds)
    return struct.pack(f"<{count}h", *(int(9000 * math.sin(2 * math.pi * 440 * n / RATE)) for n in range(count)))


def wav_header(length: int = 0xFFFFFFFF) -> bytes:
    form = struct.pack("<4sIHHIIHH", b"fmt ", 16, 1, 1, RATE, 2 * RATE, 2, 16)
    return struct.pack("<4sI4s", b"RIFF", length, b"WAVE") + form + struct.pack("<4sI", b"data", length)


def results(text: str, final: bool, arch: str = "nova-3") -> str:
    channel = {"alternatives": [{"transcript": text}]}
    metadata = {"model_info": {"name": f"general-{arch}", "arch": arch}}
    return json.dumps({"type": "Results", "is_final": final, "channel": channel, "metadata": metadata})


async def refuse(word: str) -> web.Response:
    status = int(word.split("-")[1])
    codes = {402: "ASR_PAYMENT_REQUIRED"}
    body = {"err_code": codes.get(status, ""), "err_msg": f"refused with {status}"}
    return web.json_response(body, status=status, headers={"Retry-After": "7"})


async def speech_socket(request: web.Request) -> web.StreamResponse:
    word = request.match_info["word"]
    if word.startswith("status-"):
        return await refuse(word)
    if word == "redirect":
        return web.Response(status=302, headers={"Location": "/ok/v1/listen"})
    if word == "slow-handshake":
        await asyncio.sleep(NEVER)
    if word == "no-upgrade":
        return web.Response(text="hello")
    socket = web.WebSocketResponse(max_msg_size=0, autoping=True)
    await socket.prepare(request)
    transport = request.transport
    assert transport is not None
    if word == "half-open":
        assert isinstance(transport, asyncio.Transport)
        transport.pause_reading()
        await asyncio.sleep(NEVER)
    heard = False
    async for message in socket:
        if message.type is WSMsgType.BINARY and not heard:
            heard = True
            await first_audio(word, socket, transport)
        elif message.type is WSMsgType.TEXT and json.loads(message.data)["type"] == "CloseStream":
            await the_end(word, socket)
    return socket


async def first_audio(word: str, socket: web.WebSocketResponse, transport: asyncio.BaseTransport) -> None:
    if word.startswith("close-") and word != "close-1000":
        reason = "DATA-0000 cannot be decoded" if word == "close-1008" else "NET-0001 nothing came"
        await socket.close(code=int(word.split("-")[1]), message=reason.encode())
    elif word == "drop":
        assert isinstance(transport, asyncio.Transport)
        transport.abort()
    elif word == "die":
        os._exit(1)
    elif word == "garbage":
        await socket.send_str("this is not JSON")
    elif word == "list":
        await socket.send_str("[]")
    elif word == "another-model":
        await socket.send_str(results("ten", final=False, arch="nova-2"))
    elif word == "error":
        await socket.send_str(json.dumps({"type": "Error", "variant": "SchemaError", "description": "no"}))
    elif word != "silent":
        await socket.send_str(results("ten", final=False))


async def the_end(word: str, socket: web.WebSocketResponse) -> None:
    if word in ("silent", "only-partials"):
        return
    if word == "big":
        await socket.send_str(results("ten of clubs", final=True)[:-1] + f', "padding": "{"x" * (3 << 20)}"}}')
    elif word != "empty":
        await socket.send_str(results("ten of", final=True))
        await socket.send_str(results("clubs", final=True))
    if word != "close-1000":
        await socket.send_str(json.dumps({"type": "Metadata", "duration": 1.0}))
    await socket.close()


async def transcribed(request: web.Request) -> web.StreamResponse:
    word = request.match_info["word"]
    if word.startswith("status-"):
        return await refuse(word)
    if word == "quota":
        error = {"error": {"code": "insufficient_quota", "message": "You exceeded your quota"}}
        return web.json_response(error, status=429)
    if word == "redirect":
        return web.Response(status=307, headers={"Location": "/ok/v1/audio/transcriptions"})
    if word == "hang":
        await asyncio.sleep(NEVER)
    if word == "garbage":
        return web.Response(text="<html>hello</html>", content_type="text/html")
    if word == "empty":
        return web.json_response({"text": ""})
    answer = {"text": "ten of clubs", "padding": "x" * (3 << 20 if word == "big" else 0)}
    if word == "another-model":
        answer["model"] = "tiny"
    return web.json_response(answer)


async def spoken(request: web.Request) -> web.StreamResponse:
    word = request.match_info["word"]
    if word.startswith("status-"):
        return await refuse(word)
    if word == "hang":
        await asyncio.sleep(NEVER)
    if word == "json":
        return web.json_response({"error": "sorry"})
    response = web.StreamResponse(headers={"Content-Type": "audio/pcm"})
    await response.prepare(request)
    pcm = b"" if word == "empty" else tone()
    for number, piece in enumerate(pieces(wav_header() + pcm if word == "wav" else pcm, 1001)):
        await response.write(piece)
        if number == 2 and word == "stall":
            await asyncio.sleep(NEVER)
        if number == 2 and word == "drop":
            assert isinstance(request.transport, asyncio.Transport)
            request.transport.abort()
            break
        if number == 2 and word == "die":
            await asyncio.sleep(0.05)  # what was written leaves the process before it ends
            os._exit(1)
    await response.write_eof()
    return response


def pieces(data: bytes, size: int) -> Iterator[bytes]:
    for start in range(0, len(data), size):
        yield data[start : start + size]


def content(field: object) -> object:
    """Return the bytes of a file of a form, or any other field as it is."""
    if isinstance(field, web.FileField):
        with field.file:
            return field.file.read()
    return field


def application(requests: list[dict[str, object]] | None = None) -> web.Application:
    """Return the stand-in; what its HTTP endpoints are asked goes into `requests`."""
    asked: list[dict[str, object]] = [] if requests is None else requests

    async def transcriptions(request: web.Request) -> web.StreamResponse:
        asked.append({name: content(value) for name, value in (await request.post()).items()})
        return await transcribed(request)

    async def speech(request: web.Request) -> web.StreamResponse:
        asked.append(await request.json())
        return await spoken(request)

    app = web.Application(client_max_size=1 << 30)
    app.router.add_get("/{word}/v1/listen", speech_socket)
    app.router.add_post("/{word}/v1/audio/transcriptions", transcriptions)
    app.router.add_post("/{word}/v1/audio/speech", speech)
    return app


async def main() -> None:
    runner = web.AppRunner(application())
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    print(runner.addresses[0][1], flush=True)
    loop, ended = asyncio.get_running_loop(), asyncio.Event()

    def wait_for_end() -> None:
        sys.stdin.read()
        loop.call_soon_threadsafe(ended.set)

    threading.Thread(target=wait_for_end, daemon=True).start()
    await ended.wait()
    await runner.cleanup()


if __name__ == "__main__":
    asyncio.run(main())
