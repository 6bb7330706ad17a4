"""The judge's ear: a pinned local recognizer in a process of its own, fed as fast as it takes audio.

Every utterance goes to it in one piece, so that what it hears does not depend on how busy the machine is, and with
half a second of silence on both sides, so that a voice that begins at once is not cut by its voice detector.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import numpy as np
from wyoming.event import async_read_event, async_write_event

from sayagain.datasets import builtin, load, read_pcm
from sayagain.datasets.audio import Audio, to_pcm
from sayagain.engines.host import EnginePool, Lease
from sayagain.engines.interface import EngineError
from sayagain.engines.registry import find
from sayagain.failures import failed
from sayagain.metrics.accuracy import EditCounts
from sayagain.metrics.intelligibility import compare
from sayagain.providers.codec import Done, Final, Refused
from sayagain.providers.wyoming import WyomingSttCodec
from sayagain.records import AudioFormat, Benchmark, FailureKind, Item, Phase, Target

ENGINE = "moonshine"
MODEL = "tiny-en"
SILENCE_S = 0.5
ANSWER_S = 60.0
"""How long the judge may take for one utterance before it is given up, in seconds."""

_FORMAT = WyomingSttCodec.audio_format
_FULL_SCALE = 32_768
_TARGET = Target(benchmark=Benchmark.STT, provider=ENGINE, model=MODEL)
_ANYTHING = Item(id="", text="", sha256="")


def why_no_judge() -> str | None:
    """Return one sentence that says why there is no judge here and what to do, or None when there is one."""
    return find(ENGINE).why_missing()


class Judge:
    """A running judge. `name` says which, with its version."""

    def __init__(self, pool: EnginePool) -> None:
        self._pool = pool
        self.name = f"{ENGINE} {MODEL} {find(ENGINE).version()}"

    async def hear(self, pcm: bytes, audio_format: AudioFormat) -> str:
        """Return what is heard in 16-bit PCM of any rate and channels.

        Raises:
            CaseFailedError: The judge's process ended or gave no answer; the next utterance gets a fresh one.
        """
        lease = await self._pool.acquire()
        healthy = False
        try:
            async with asyncio.timeout(ANSWER_S):
                heard = await _transcribe(lease, _prepared(pcm, audio_format))
            healthy = True
        except (TimeoutError, OSError, EOFError, EngineError, ValueError, KeyError, TypeError) as error:
            message = f"the judge gave no answer: {type(error).__name__}"
            raise failed(FailureKind.ENGINE_CRASHED, Phase.RECEIVE, message) from error
        finally:
            await self._pool.release(lease, healthy)
        return heard

    async def floor(self) -> EditCounts:
        """Return the judge's errors on human speech, over the built-in recordings, with the number of words."""
        total = EditCounts(0, 0, 0, 0)
        for name in builtin(Benchmark.STT):
            dataset = await asyncio.to_thread(load, name, Path())
            for item in dataset.items:
                pcm = await asyncio.to_thread(read_pcm, dataset.root, item, _FORMAT)
                counts = compare(item, await self.hear(pcm, _FORMAT))
                total = EditCounts(*(one + other for one, other in zip(total, counts, strict=True)))
        return total


@asynccontextmanager
async def listening() -> AsyncIterator[Judge]:
    """Load the judge and hold it.

    Raises:
        CaseFailedError: It cannot be loaded.
        UsageError: It is not installed.
    """
    pool = EnginePool(ENGINE, 1)
    try:
        await pool.start()
        yield Judge(pool)
    finally:
        await pool.aclose()


def _prepared(pcm: bytes, audio_format: AudioFormat) -> bytes:
    """Return audio as the judge takes it, with silence around it."""
    whole = len(pcm) - len(pcm) % audio_format.frame_bytes
    samples = np.frombuffer(pcm[:whole], dtype="<i2").astype(np.float32) / np.float32(_FULL_SCALE)
    audio = Audio(samples.reshape(-1, audio_format.channels), audio_format.rate)
    silence = bytes(round(SILENCE_S * _FORMAT.rate) * _FORMAT.frame_bytes)
    return silence + to_pcm(audio, _FORMAT.rate) + silence


async def _transcribe(lease: Lease, pcm: bytes) -> str:
    codec = WyomingSttCodec(_TARGET, _ANYTHING)
    reader, writer = await asyncio.open_connection(lease.host, lease.port)
    try:
        for frame in (*codec.opening(), *codec.audio(pcm), *codec.end()):
            await async_write_event(frame, writer)
        heard: list[str] = []
        while (event := await async_read_event(reader)) is not None:
            for signal in codec.receive(event):
                if isinstance(signal, Final):
                    heard.append(signal.text)
                elif isinstance(signal, Refused):
                    raise EngineError(signal.code or "refused")
                elif isinstance(signal, Done):
                    return codec.joiner.join(heard)
        raise EOFError
    finally:
        writer.close()
