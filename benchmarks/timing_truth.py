"""How far reported moments are from what really happened, beside a bare asyncio client that does nothing else.

    python benchmarks/timing_truth.py [--streams 1,8,32,128,256] [--rounds N] [--seconds S] [--load]

A stand-in in a process of its own answers at random moments and notes when it had written each message, on the
clock that all processes share. Two clients meet it in turn, each in a fresh process, with the same audio, the same
pace and the same stagger: sayagain (a whole run: executor, recorder process, scoring, SQLite) and a bare aiohttp
client that sends chunks at their deadlines and stamps what it receives, without even collecting garbage. Printed
are p50 and p99 of reported minus true in milliseconds (ttft, finalization, ttfa) and of how late chunks left
(pacing), over all rounds, and how many times those of the bare client they are.

With --load a third client takes part: sayagain with a live display, while five transcripts of 2,000 words a second
come from another provider, are scored (some 60 ms each) and written. What it measures itself stays the same.

Moments at which the machine itself ran at less than half its speed are left out, and their share is printed: a
third process watches for them (machine.py), which knows of no client.

Exits with 1 when the p99 of a metric is more than 1.25 times that of the bare client and more than 0.1 ms above,
when under load it is more than 1.1 times that without and more than 0.1 ms above, or when chunks leave more than
2 ms late at 32 streams. Where even the bare client is late by more than 5 ms nothing is judged: the machine is too
small, or has too much else to do. Nor is anything from fewer than 200 moments, whose p99 is one or two of them.
"""

import argparse
import asyncio
import gc
import hashlib
import io
import json
import logging
import random
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable, Iterator
from functools import partial
from pathlib import Path

import aiohttp
import msgspec
import structlog
from rich.console import Console

from machine import SlowTimes, watching
from made_here import Ready, utterances
from sayagain.calibration.client import run_sayagain
from sayagain.calibration.load import CHUNK_S, RATE, TEXT, UTTERANCE_S, Load, prompt, stagger_s, utterance
from sayagain.calibration.measuring import measure, percentile
from sayagain.calibration.truth import METRICS, Errors, Heard, Reported, Spoken
from sayagain.datasets.manifest import Dataset
from sayagain.errors import SayagainError
from sayagain.records import Benchmark, Case, EventKind, Item, Limits, Target
from sayagain.report.progress import Bars, Silence
from sayagain.runner.candidate import Candidate
from sayagain.transports.pacing import sleep_until
from sayagain.transports.tracing import Tracer

SECONDS_A_CASE = 1.5 * UTTERANCE_S + 0.3
BOUND, LOADED_BOUND, SLACK_MS = 1.25, 1.1, 0.1
PACING_MS, PACING_STREAMS = 2.0, 32
DISTURBED_MS = 5.0
LEAST = 200
BARE, ALONE, LOADED = "bare", "sayagain", "sayagain, loaded"
LONG_WORDS, LONG_A_SECOND = 2000, 5.0

KEY = {"Authorization": "Token no-key"}
HEARD = "/stt-deepgram/v1/listen?model=nova-3&encoding=linear16&sample_rate=16000&interim_results=true"
SPOKEN = "/tts-deepgram/v1/speak?model=aura-2-thalia-en&encoding=linear16&sample_rate=24000"


class Job(msgspec.Struct):
    """What a client's process is told."""

    client: str
    seconds: float
    load: Load
    base: str
    folder: str
    manifests: tuple[str, str]


def main() -> int:
    """Measure, print, judge."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--streams", default="1,8,32,128,256")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=8.0, help="of work in each round and direction")
    parser.add_argument("--load", action="store_true")
    parser.add_argument("--client", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.client:
        return child(msgspec.json.decode(sys.stdin.buffer.read(), type=Job))
    clients = [BARE, ALONE, LOADED] if options.load else [BARE, ALONE]
    faults: list[str] = []
    for streams in map(int, options.streams.split(",")):
        load = Load(streams=streams, cases=max(6, round(streams * options.seconds / SECONDS_A_CASE)))
        found = {client: Errors({metric: [] for metric in METRICS}) for client in clients}
        shares: list[float] = []
        for number in range(options.rounds):
            for client in clients if number % 2 == 0 else clients[::-1]:
                shares.append(one(client, 2 * options.seconds, load, found[client]))
        print(f"{streams} streams: {sum(shares) / len(shares):.0%} of the time the machine was slow", flush=True)
        faults += judged(streams, found)
    print("\n".join(faults) or "within the bounds", flush=True)
    return 1 if faults else 0


def one(client: str, seconds: float, load: Load, found: Errors) -> float:
    """Measure one client once and add what was found; return for which share of the time the machine was slow."""
    slow = SlowTimes()

    def watched(load: Load, base: str, folder: Path, manifests: tuple[Path, Path]) -> Reported:
        with watching(slow):
            job = Job(client, seconds, load, base, str(folder), (str(manifests[0]), str(manifests[1])))
            return in_a_process(job)

    try:
        errors = measure(load, watched, slow.spare)
    except (SayagainError, subprocess.CalledProcessError) as error:
        print(f"{client} at {load.streams}: {error}", file=sys.stderr)
        return float(slow.share)
    found.lost += errors.lost
    for metric in METRICS:
        found.ms[metric] += errors.ms[metric]
    return float(slow.share)


def in_a_process(job: Job) -> Reported:
    """Run a client in a fresh interpreter."""
    done = subprocess.run(
        [sys.executable, __file__, "--client", job.client],
        input=msgspec.json.encode(job),
        stdout=subprocess.PIPE,
        check=True,
    )
    return msgspec.json.decode(done.stdout, type=Reported)


def child(job: Job) -> int:
    """Be a client: print what was reported."""
    reported = asyncio.run(bare(job.load, job.base)) if job.client == BARE else sayagain(job)
    sys.stdout.buffer.write(msgspec.json.encode(reported))
    return 0


def sayagain(job: Job) -> Reported:
    """Run sayagain; loaded, with a live display and another provider's long transcripts."""
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.ERROR))
    run = partial(
        run_sayagain, job.load, job.base, Path(job.folder), (Path(job.manifests[0]), Path(job.manifests[1]))
    )
    if job.client == ALONE:
        return run(Silence())
    return run(Bars(Console(file=io.StringIO(), force_terminal=True, width=120)), long_talk(job.seconds))


def long_talk(seconds: float) -> tuple[Dataset, Candidate]:
    """Return a provider that hears utterances of 2,000 words, no two alike, for so long."""
    chance = random.Random(0)
    vocabulary = [f"{one}{other}" for one in TEXT.split() for other in TEXT.split()]
    count = round(LONG_A_SECOND * seconds)
    texts = (" ".join(chance.choices(vocabulary, k=LONG_WORDS)) for _ in range(count))
    dataset = utterances("long-talk", texts, duration_s=800.0)
    target = Target(benchmark=Benchmark.STT, provider="long", model="talk", adapter="long/1")
    return dataset, Candidate(target, lambda limits: LongTalk(dataset.items))


class LongTalk(Ready):
    """Hears all but every tenth word, so many utterances a second."""

    def __init__(self, items: tuple[Item, ...]) -> None:
        self._heard = {
            item.id: " ".join(word for place, word in enumerate(item.text.split()) if place % 10) for item in items
        }
        self._due_ns = 0

    async def attempt(self, case: Case, pcm: bytes, tracer: Tracer, limits: Limits) -> None:
        """Wait for a turn, then have heard it all."""
        self._due_ns = max(self._due_ns + round(1e9 / LONG_A_SECOND), time.perf_counter_ns())
        now = self._due_ns + await sleep_until(self._due_ns)
        tracer.mark(EventKind.STREAM_STARTED, at_ns=now)
        tracer.mark(EventKind.PARTIAL, at_ns=now, text="it went on")
        tracer.mark(EventKind.END_SENT, at_ns=now)
        tracer.final(self._heard[case.item.id], None, now)


async def bare(load: Load, base: str) -> Reported:
    """Hold every conversation with nothing but aiohttp and a clock, and no collection of what was there before."""
    gc.collect()
    gc.freeze()
    gc.disable()
    reported = Reported()
    address = base.replace("http", "ws", 1)
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as session:
        work = iter([(work, n) for work in (bare_transcription, bare_synthesis) for n in range(load.cases)])
        await asyncio.gather(*(worker(work, session, address, reported) for _ in range(load.streams)))
    return reported


Work = Callable[[aiohttp.ClientSession, str, int, Reported], Awaitable[None]]


async def worker(
    left: Iterator[tuple[Work, int]], session: aiohttp.ClientSession, address: str, reported: Reported
) -> None:
    """Do what is left to do, one case after the other."""
    for work, number in left:
        await asyncio.sleep(stagger_s(number))
        await work(session, address, number, reported)


async def bare_transcription(
    session: aiohttp.ClientSession, address: str, number: int, reported: Reported
) -> None:
    """Stream an utterance as a microphone would and stamp what comes back."""
    pcm = utterance(number)
    heard = Heard(hashlib.sha256(pcm).hexdigest(), [], 0, 0, [], [])
    async with session.ws_connect(address + HEARD, headers=KEY, max_msg_size=0) as socket:
        speaking = asyncio.create_task(bare_speech(socket, pcm, heard))
        while True:
            message = await socket.receive()
            at_ns = time.perf_counter_ns()
            if message.type is not aiohttp.WSMsgType.TEXT:
                break
            said = json.loads(message.data)
            if said["type"] == "Metadata":
                break
            if said.get("is_final"):
                heard.final = at_ns
            else:
                heard.partials.append(at_ns)
        await speaking
    reported.heard.append(heard)


async def bare_speech(socket: aiohttp.ClientWebSocketResponse, pcm: bytes, heard: Heard) -> None:
    """Send each chunk when a microphone would have finished recording it."""
    size = 2 * round(RATE * CHUNK_S)
    t0 = time.perf_counter_ns()
    for index, start in enumerate(range(0, len(pcm), size), 1):
        due = t0 + round(index * CHUNK_S * 1e9)
        await asyncio.sleep(max(0, due - time.perf_counter_ns()) / 1e9)
        await socket.send_bytes(pcm[start : start + size])
        heard.left.append(time.perf_counter_ns())
        heard.late.append(heard.left[-1] - due)
    await socket.send_str('{"type":"Finalize"}')
    await socket.send_str('{"type":"CloseStream"}')
    heard.ended = time.perf_counter_ns()


async def bare_synthesis(session: aiohttp.ClientSession, address: str, number: int, reported: Reported) -> None:
    """Send a prompt and stamp the audio."""
    text = prompt(number)
    async with session.ws_connect(address + SPOKEN, headers=KEY, max_msg_size=0) as socket:
        await socket.send_str(json.dumps({"type": "Speak", "text": text}))
        await socket.send_str('{"type":"Flush"}')
        asked = time.perf_counter_ns()
        chunks: list[int] = []
        while True:
            message = await socket.receive()
            at_ns = time.perf_counter_ns()
            if message.type is aiohttp.WSMsgType.BINARY:
                chunks.append(at_ns)
            elif message.type is not aiohttp.WSMsgType.TEXT or json.loads(message.data)["type"] == "Flushed":
                break
    reported.spoken.append(Spoken(hashlib.sha256(text.encode()).hexdigest(), asked, chunks))


def judged(streams: int, found: dict[str, Errors]) -> list[str]:
    """Print what was found at one number of streams; return what is out of bounds."""
    faults: list[str] = []
    for metric in METRICS:
        p99 = {client: percentile(errors.ms[metric], 99) for client, errors in found.items()}
        p50 = {client: percentile(errors.ms[metric], 50) for client, errors in found.items()}
        for client, errors in found.items():
            beside = f"  x{p50[client] / p50[BARE]:.2f} x{p99[client] / p99[BARE]:.2f}" if client != BARE else ""
            lost = f"  {errors.lost} cases lost" if errors.lost else ""
            print(
                f"  {metric:<13} {client:<17} p50 {p50[client]:7.3f}  p99 {p99[client]:7.3f}{beside:<14}"
                f"  of {len(errors.ms[metric]):,}{lost}",
                flush=True,
            )
        if min(len(errors.ms[metric]) for errors in found.values()) < LEAST:
            print(f"  {metric} is not judged: fewer than {LEAST} moments", flush=True)
            continue
        faults += [f"{metric} at {streams} streams: {fault}" for fault in out_of_bounds(metric, streams, p99)]
    return faults


def out_of_bounds(metric: str, streams: int, p99: dict[str, float]) -> Iterator[str]:
    """Yield which bounds a metric breaks."""
    if p99[BARE] > DISTURBED_MS:
        print(f"  {metric} is not judged: the bare client itself is late", flush=True)
        return
    if metric == "pacing":
        if streams == PACING_STREAMS and p99[ALONE] > PACING_MS:
            yield f"chunks leave {p99[ALONE]:.2f} ms late at the 99th percentile"
    elif p99[ALONE] > max(BOUND * p99[BARE], p99[BARE] + SLACK_MS):
        yield f"p99 is {p99[ALONE] / p99[BARE]:.2f} times that of the bare client"
    if LOADED in p99 and p99[LOADED] > max(LOADED_BOUND * p99[ALONE], p99[ALONE] + SLACK_MS):
        yield f"p99 under load is {p99[LOADED] / p99[ALONE]:.2f} times that without"


if __name__ == "__main__":
    sys.exit(main())
