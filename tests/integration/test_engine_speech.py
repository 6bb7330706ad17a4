"""The real engines, on real speech, over real sockets."""

import asyncio
import json
import os
import re
import signal
import wave
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from importlib.resources import as_file, files
from itertools import pairwise
from typing import Any

import numpy as np
import psutil
import pytest
import pytest_asyncio
import soxr
from wyoming.asr import Transcribe
from wyoming.audio import AudioChunk, AudioStart, AudioStop
from wyoming.client import AsyncTcpClient
from wyoming.event import Event
from wyoming.info import Describe, Info
from wyoming.tts import Synthesize

from sayagain.engines.host import EnginePool, Lease
from sayagain.engines.registry import ENGINES, find
from sayagain.records import Benchmark

PATIENCE_S = 60.0
CHUNK_BYTES = 640
BUILTIN = files("sayagain.datasets") / "builtin"
INSTALLED = [info.name for info in ENGINES if info.installed()]
RECOGNIZERS = [name for name in INSTALLED if find(name).benchmark is Benchmark.STT]
VOICES = [name for name in INSTALLED if find(name).benchmark is Benchmark.TTS]
SENTENCES = "The table is booked for seven people on Thursday evening. The kitchen closes at ten."

pytestmark = [pytest.mark.engines, pytest.mark.asyncio(loop_scope="module")]


def clips() -> list[tuple[bytes, str]]:
    """Return the PCM and the words of the built-in recordings of read speech."""
    manifest = json.loads((BUILTIN / "librivox-5" / "manifest.json").read_text("utf-8"))
    found = []
    for item in manifest["items"]:
        with as_file(BUILTIN / "librivox-5" / item["audio"]) as path, wave.open(str(path), "rb") as recording:
            assert recording.getparams()[:3] == (1, 2, 16000)
            found.append((recording.readframes(recording.getnframes()), item["text"]))
    return found


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def pools() -> AsyncIterator[dict[str, EnginePool]]:
    """One loaded process of each installed engine."""
    pools = {name: EnginePool(name, 1) for name in INSTALLED}
    await asyncio.gather(*(pool.start() for pool in pools.values()))
    yield pools
    await asyncio.gather(*(pool.aclose() for pool in pools.values()))


@asynccontextmanager
async def connection(pool: EnginePool) -> AsyncIterator[tuple[AsyncTcpClient, Lease]]:
    lease = await pool.acquire()
    healthy = False
    try:
        async with asyncio.timeout(PATIENCE_S), AsyncTcpClient(lease.host, lease.port) as client:
            yield client, lease
        healthy = True
    finally:
        await pool.release(lease, healthy)


async def send_audio(client: AsyncTcpClient, pcm: bytes) -> None:
    for start in range(0, len(pcm), CHUNK_BYTES):
        await client.write_event(AudioChunk(16000, 2, 1, pcm[start : start + CHUNK_BYTES]).event())


async def events_until(client: AsyncTcpClient, last: str) -> list[Event]:
    events = []
    while (event := await client.read_event()) is not None:
        events.append(event)
        if event.type == last:
            return events
    raise EOFError(last)


async def transcribed(client: AsyncTcpClient, pcm: bytes) -> list[Event]:
    await client.write_event(Transcribe(language="en").event())
    await client.write_event(AudioStart(16000, 2, 1).event())
    await send_audio(client, pcm)
    await client.write_event(AudioStop().event())
    return await events_until(client, "transcript-stop")


async def spoken(client: AsyncTcpClient, text: str) -> list[Event]:
    await client.write_event(Synthesize(text).event())
    return await events_until(client, "audio-stop")


def text_of(events: Iterable[Event]) -> str:
    (transcript,) = (event for event in events if event.type == "transcript")
    text: str = transcript.data["text"]
    return text


def audio_of(events: Iterable[Event]) -> bytes:
    return b"".join(event.payload or b"" for event in events if event.type == "audio-chunk")


def shared(expected: str, heard: str) -> float:
    """Return the part of the expected words that occur in what was heard."""
    words, found = (set(re.findall(r"[a-z']+", text.lower())) for text in (expected, heard))
    return len(words & found) / len(words)


def at_16_khz(pcm: bytes, rate: int) -> bytes:
    samples: Any = soxr.resample(np.frombuffer(pcm, "<i2"), rate, 16000)
    resampled: bytes = samples.astype("<i2").tobytes()
    return resampled


@pytest.mark.parametrize("engine", RECOGNIZERS)
async def test_real_speech_is_recognized(engine: str, pools: dict[str, EnginePool]) -> None:
    enough = {"moonshine": 0.7, "pocketsphinx": 0.4}
    for pcm, reference in clips():
        async with connection(pools[engine]) as (client, _):
            assert shared(reference, text_of(await transcribed(client, pcm))) >= enough[engine]


@pytest.mark.parametrize("engine", RECOGNIZERS)
async def test_partials_arrive_while_audio_is_still_to_come(engine: str, pools: dict[str, EnginePool]) -> None:
    pcm, _ = clips()[0]
    half = len(pcm) // 2 // CHUNK_BYTES * CHUNK_BYTES
    async with connection(pools[engine]) as (client, _):
        await client.write_event(AudioStart(16000, 2, 1).event())
        await send_audio(client, pcm[:half])
        before = await events_until(client, "transcript-partial")
        await send_audio(client, pcm[half:])
        await client.write_event(AudioStop().event())
        after = await events_until(client, "transcript-stop")
    assert before[0].type == "transcript-start"
    assert before[-1].data["text"]
    hypotheses = [event.data["text"] for event in before + after if event.type == "transcript-partial"]
    assert len(hypotheses) >= 2
    assert all(one != other for one, other in pairwise(hypotheses))


@pytest.mark.parametrize("engine", RECOGNIZERS)
async def test_chunks_join_to_the_transcript(engine: str, pools: dict[str, EnginePool]) -> None:
    async with connection(pools[engine]) as (client, _):
        events = await transcribed(client, clips()[1][0])
    chunks = [event.data["text"] for event in events if event.type == "transcript-chunk"]
    assert "".join(chunks) == text_of(events) != ""


@pytest.mark.parametrize("engine", RECOGNIZERS)
async def test_what_was_heard_before_changes_nothing(engine: str, pools: dict[str, EnginePool]) -> None:
    recordings = [pcm for pcm, _ in clips()[1:3]]

    async def in_order(order: list[int]) -> dict[int, str]:
        async with connection(pools[engine]) as (client, _):
            return {index: text_of(await transcribed(client, recordings[index])) for index in order}

    assert await in_order([0, 1]) == await in_order([1, 0])


@pytest.mark.parametrize("engine", RECOGNIZERS)
async def test_an_abandoned_utterance_leaves_nothing_behind(engine: str, pools: dict[str, EnginePool]) -> None:
    (first, _), (second, _) = clips()[:2]
    async with connection(pools[engine]) as (client, _):
        alone = text_of(await transcribed(client, second))
    async with connection(pools[engine]) as (client, _):
        await client.write_event(AudioStart(16000, 2, 1).event())
        await send_audio(client, first)
    async with connection(pools[engine]) as (client, _):
        assert text_of(await transcribed(client, second)) == alone


@pytest.mark.parametrize("engine", RECOGNIZERS)
@pytest.mark.parametrize("pcm", [b"", bytes(320), bytes(32000)], ids=["nothing", "10 ms", "1 s"])
async def test_silence_is_answered_and_the_engine_goes_on(
    engine: str, pcm: bytes, pools: dict[str, EnginePool]
) -> None:
    async with connection(pools[engine]) as (client, _):
        assert [event.type for event in await transcribed(client, pcm)][-2:] == ["transcript", "transcript-stop"]
        assert text_of(await transcribed(client, clips()[1][0]))


async def test_an_engine_killed_while_it_listens_is_replaced(pools: dict[str, EnginePool]) -> None:
    pcm, reference = clips()[1]
    pool = pools["moonshine"]
    lease = await pool.acquire()
    async with asyncio.timeout(PATIENCE_S), AsyncTcpClient(lease.host, lease.port) as client:
        await client.write_event(AudioStart(16000, 2, 1).event())
        await send_audio(client, pcm)
        await events_until(client, "transcript-partial")
        os.kill(lease.pid, signal.SIGKILL)
        with pytest.raises((EOFError, ConnectionError)):
            await events_until(client, "never")
    assert await lease.died(PATIENCE_S) == "SIGKILL"
    await pool.release(lease, healthy=False)
    async with connection(pool) as (client, fresh):
        assert fresh.pid != lease.pid
        assert shared(reference, text_of(await transcribed(client, pcm))) >= 0.5


@pytest.mark.parametrize("engine", VOICES)
async def test_speech_is_understood_by_a_recognizer(engine: str, pools: dict[str, EnginePool]) -> None:
    async with connection(pools[engine]) as (client, _):
        events = await spoken(client, SENTENCES)
    rate = events[0].data["rate"]
    async with connection(pools["moonshine"]) as (client, _):
        heard = text_of(await transcribed(client, at_16_khz(audio_of(events), rate)))
    assert shared(SENTENCES, heard) >= 0.5


@pytest.mark.parametrize("engine", VOICES)
async def test_speech_has_one_format_from_start_to_stop(engine: str, pools: dict[str, EnginePool]) -> None:
    async with connection(pools[engine]) as (client, _):
        events = await spoken(client, SENTENCES)
    assert [events[0].type, events[-1].type] == ["audio-start", "audio-stop"]
    assert {event.type for event in events[1:-1]} == {"audio-chunk"}
    formats = {tuple(event.data[name] for name in ("rate", "width", "channels")) for event in events[:-1]}
    assert formats == {(22050, 2, 1)}
    assert all(0 < len(event.payload or b"") <= 4096 for event in events[1:-1])


async def test_piper_says_the_same_text_in_the_same_bytes(pools: dict[str, EnginePool]) -> None:
    async with connection(pools["piper"]) as (client, _):
        first = audio_of(await spoken(client, SENTENCES))
        await spoken(client, "Something else in between.")
        assert audio_of(await spoken(client, SENTENCES)) == first


async def test_espeak_says_the_same_text_in_the_same_time(pools: dict[str, EnginePool]) -> None:
    async with connection(pools["espeak"]) as (client, _):
        first = audio_of(await spoken(client, SENTENCES))
        again = audio_of(await spoken(client, SENTENCES))
    assert abs(len(first) - len(again)) / 2 / 22050 < 0.01


async def test_piper_sends_a_sentence_before_it_works_on_the_next(pools: dict[str, EnginePool]) -> None:
    """Seen by its processor time, which a busy machine does not change, with a listener who leaves early."""
    sentence = "The kitchen closes at ten."
    async with connection(pools["piper"]) as (client, lease):
        start = busy_s(lease)
        await spoken(client, sentence)
        one = busy_s(lease) - start
        await client.write_event(Synthesize(" ".join([sentence] * 100)).event())
        await events_until(client, "audio-chunk")
    async with connection(pools["piper"]) as (client, lease):
        await client.write_event(Describe().event())
        await events_until(client, "info")
        assert busy_s(lease) - start < 50 * one


def busy_s(lease: Lease) -> float:
    times = psutil.Process(lease.pid).cpu_times()
    return float(times.user + times.system)


@pytest.mark.parametrize("engine", VOICES)
async def test_a_listener_who_hangs_up_does_not_cost_the_next_one_anything(
    engine: str, pools: dict[str, EnginePool]
) -> None:
    async with connection(pools[engine]) as (client, _):
        await client.write_event(Synthesize(SENTENCES * 5).event())
        await events_until(client, "audio-start")
    async with connection(pools[engine]) as (client, _):
        assert audio_of(await spoken(client, "Hello."))


@pytest.mark.parametrize("engine", INSTALLED)
async def test_an_engine_describes_what_the_registry_says(engine: str, pools: dict[str, EnginePool]) -> None:
    known = find(engine)
    async with connection(pools[engine]) as (client, lease):
        await client.write_event(Describe().event())
        info = Info.from_event((await events_until(client, "info"))[0])
    (program,) = info.asr or info.tts
    assert (program.name, program.version) == (known.name, lease.info.engine_version)
    assert lease.info.model == known.model
    models = program.models if info.asr else program.voices  # type: ignore[union-attr]
    assert [model.name for model in models] == [known.voice or known.model]


@pytest.mark.parametrize("engine", RECOGNIZERS)
async def test_audio_in_another_format_is_refused_by_name(engine: str, pools: dict[str, EnginePool]) -> None:
    async with connection(pools[engine]) as (client, _):
        await client.write_event(AudioStart(8000, 2, 1).event())
        (error,) = await events_until(client, "error")
        assert error.data["code"] == "audio-format"
        await client.write_event(AudioStop().event())
        assert text_of(await transcribed(client, clips()[1][0]))


@pytest.mark.parametrize("engine", INSTALLED)
async def test_garbage_ends_its_connection_and_not_the_process(engine: str, pools: dict[str, EnginePool]) -> None:
    lease = await pools[engine].acquire()
    reader, writer = await asyncio.open_connection(lease.host, lease.port)
    writer.write(b'{"type": "audio-chunk", "data": []}\n\xff\xfe\x00garbage\n')
    writer.write_eof()
    assert await asyncio.wait_for(reader.read(), PATIENCE_S) == b""
    writer.close()
    await pools[engine].release(lease, healthy=True)
    async with connection(pools[engine]) as (client, same):
        assert same.pid == lease.pid
        await client.write_event(Describe().event())
        assert await events_until(client, "info")
