"""A Wyoming server for tests, in a process of its own, whose conversations follow a script.

    python wyoming_standin.py ok,hang,ok

Each conversation (not a `describe`) takes the next word of the script; the last word repeats. The first line it
prints is its port. It ends when its input ends.
"""

import asyncio
import base64
import json
import math
import struct
import sys
import threading
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

from wyoming.asr import Transcript, TranscriptChunk, TranscriptStart, TranscriptStop
from wyoming.audio import AudioChunk, AudioStart, AudioStop
from wyoming.error import Error
from wyoming.event import Event, async_read_event, async_write_event
from wyoming.info import AsrModel, AsrProgram, Attribution, Describe, Info, TtsProgram, TtsVoice

RATE = 16_000
NOBODY = Attribution(name="test", url="")


CANARY = "sk-canary-0123456789abcdef"
"""A secret of the client's that a careless server quotes."""


def everything(said: str) -> str:
    encoded = base64.b64encode(said.encode()).decode()
    return f"{said} {said.upper()} {quote(said)} {encoded} {json.dumps(said)}"


def describe() -> Event:
    common: dict[str, Any] = {"attribution": NOBODY, "installed": True, "description": None, "version": "1"}
    return Info(
        asr=[AsrProgram(name="standin", models=[AsrModel(name="tiny", languages=["en"], **common)], **common)],
        tts=[TtsProgram(name="standin", voices=[TtsVoice(name="tone", languages=["en"], **common)], **common)],
    ).event()


def tone(seconds: float = 0.5) -> bytes:
    samples = (int(9000 * math.sin(2 * math.pi * 440 * n / RATE)) for n in range(int(RATE * seconds)))
    return struct.pack(f"<{int(RATE * seconds)}h", *samples)


class Script:
    def __init__(self, words: list[str]) -> None:
        self._words = words

    def next(self) -> str:
        return self._words.pop(0) if len(self._words) > 1 else self._words[0]


class Conversation:
    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, script: Script) -> None:
        self.reader, self.writer, self.script = reader, writer, script

    async def send(self, *events: Event) -> None:
        for event in events:
            await async_write_event(event, self.writer)

    async def run(self) -> None:
        try:
            while event := await async_read_event(self.reader):
                if Describe.is_type(event.type):
                    await self.send(describe())
                elif event.type == "transcribe":
                    await self.transcribe(self.script.next())
                    return
                elif event.type == "synthesize":
                    await self.synthesize(self.script.next(), str(event.data.get("text")))
                    return
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            self.writer.close()

    async def hold(self) -> None:
        while await self.reader.read(65536):
            pass

    async def transcribe(self, word: str) -> None:
        if word == "error":
            await self.send(Error(text="the model is on fire", code="boom").event())
            return await self.hold()
        started = False
        while event := await async_read_event(self.reader):
            if AudioChunk.is_type(event.type) and not started:
                started = True
                if word == "vanish":
                    return None
                if word == "garbage":
                    self.writer.write(b"this is not a frame\n")
                    await self.writer.drain()
                if word in ("ok", "partial-only", "large"):
                    filler = "x" * (2_000_000 if word == "large" else 3)
                    await self.send(TranscriptStart().event(), TranscriptChunk(text=filler).event())
            if AudioStop.is_type(event.type):
                break
        if word == "close":
            return None
        if word == "hang":
            return await self.hold()
        if word == "empty":
            await self.send(Transcript(text="  ").event())
        elif word == "partial-only":
            await self.send(TranscriptStop().event())
        else:
            await self.send(Transcript(text="ten of clubs").event(), TranscriptStop().event())
        return await self.hold()

    async def synthesize(self, word: str, text: str) -> None:
        if word == "leak":
            await self.send(Error(text=f"no: {everything(CANARY)} {everything(text)}", code="boom").event())
            return await self.hold()
        if word == "error":
            await self.send(Error(text="no voice today", code="bad-request").event())
            return await self.hold()
        if word == "vanish":
            return None
        if word == "hang":
            return await self.hold()
        pcm = {"silent": bytes(RATE), "empty": b""}.get(word, tone())
        await self.send(AudioStart(rate=RATE, width=2, channels=1).event())
        for piece in pieces(pcm, 1001 if word == "odd" else 2048):
            await self.send(AudioChunk(rate=RATE, width=2, channels=1, audio=piece).event())
            if word in ("stall", "close"):
                break
        if word == "close":
            return None
        if word != "stall":
            await self.send(AudioStop().event())
        return await self.hold()


def pieces(pcm: bytes, size: int) -> Iterator[bytes]:
    for start in range(0, len(pcm), size):
        yield pcm[start : start + size]


async def main(words: list[str]) -> None:
    script = Script(words)
    server = await asyncio.start_server(
        lambda reader, writer: Conversation(reader, writer, script).run(), "127.0.0.1", 0, limit=2**24
    )
    print(server.sockets[0].getsockname()[1], flush=True)
    loop, ended = asyncio.get_running_loop(), asyncio.Event()

    def wait_for_end() -> None:
        sys.stdin.read()
        loop.call_soon_threadsafe(ended.set)

    threading.Thread(target=wait_for_end, daemon=True).start()
    await ended.wait()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1].split(",")))
