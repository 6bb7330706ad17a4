"""Attempts against a provider that answers over real sockets."""

import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

from aiohttp import web

from sayagain.failures import CaseFailedError, classify
from sayagain.providers.deepgram import DeepgramStt
from sayagain.providers.openai_compatible import OpenAICompatibleStt, OpenAICompatibleTts
from sayagain.records import Benchmark, Case, Failure, Item, Limits, Setting, Target, Trace
from sayagain.runner.cloud import transport_of
from sayagain.transports.tracing import Tracer

SECRET = "sk-very-secret-0123456789"
LIMITS = Limits(connect_timeout_s=0.5, idle_timeout_s=0.4, final_timeout_s=0.8)
PATIENT = Limits(connect_timeout_s=20, idle_timeout_s=20, final_timeout_s=20)
ITEM = Item(id="one", text="ten of clubs", sha256="0" * 64)
PCM = bytes(3200)

Attempt = Callable[[Tracer], Awaitable[Trace]]


class Kind:
    """One way to reach a provider: a codec and its settings."""

    def __init__(self, benchmark: Benchmark, codec: Any, **settings: Setting) -> None:
        self.codec = codec
        self.case = Case.of(Target(benchmark=benchmark, provider="p", model="m", settings=settings), ITEM)


WEBSOCKET = Kind(Benchmark.STT, DeepgramStt, model="nova-3", sample_rate=16000, chunk_ms=20)
UPLOAD = Kind(Benchmark.STT, OpenAICompatibleStt, mode="batch", model="whisper-1", language="en")
SPEECH = Kind(Benchmark.TTS, OpenAICompatibleTts, model="tts-1", voice="alloy", response_format="pcm")


@asynccontextmanager
async def attempts(url: str, kind: Kind, limits: Limits = PATIENT) -> AsyncIterator[Attempt]:
    """Yield a function that makes an attempt at a base URL, over one transport, and returns its trace."""
    transport = transport_of(kind.codec, kind.case.target, url, {"SOME_KEY": SECRET}, limits)

    async def attempt(tracer: Tracer) -> Trace:
        async with transport.session() as session:
            await session.attempt(kind.case, PCM, tracer, limits)
        return tracer.freeze(0.0)

    try:
        yield attempt
    finally:
        await transport.aclose()


async def trace_of(url: str, kind: Kind, limits: Limits = PATIENT) -> Trace:
    """Return the trace of an attempt that succeeds."""
    async with attempts(url, kind, limits) as attempt:
        return await attempt(Tracer())


async def failure_of(url: str, kind: Kind, limits: Limits = LIMITS) -> tuple[Failure, float | None]:
    """Return how an attempt fails and the wait the provider asked for; its text holds nothing it must not."""
    tracer = Tracer()
    async with attempts(url, kind, limits) as attempt:
        try:
            await attempt(tracer)
        except Exception as error:
            failure = classify(error, tracer.phase)
            for forbidden in (SECRET, "://", "?", "Authorization", "model="):
                assert forbidden not in failure.message
                assert forbidden not in (failure.code or "")
            return failure, error.retry_after_s if isinstance(error, CaseFailedError) else None
    raise AssertionError("the attempt succeeded")


@asynccontextmanager
async def serving(app: web.Application, **site: Any) -> AsyncIterator[int]:
    """Serve an application on a free port of the loopback interface."""
    runner = web.AppRunner(app, shutdown_timeout=0.01, handler_cancellation=True)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0, **site).start()
    try:
        yield runner.addresses[0][1]
    finally:
        await runner.cleanup()


@contextmanager
def mortal_provider() -> Iterator[str]:
    """Yield the base URL of a stand-in in a process of its own, which can die."""
    script = Path(__file__).parents[1] / "standins" / "network_standin.py"
    with subprocess.Popen(
        [sys.executable, str(script)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        yield f"http://127.0.0.1:{int(process.stdout.readline())}"
        process.kill()
