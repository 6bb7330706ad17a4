"""How far reported moments are from what really happened, beside a bare asyncio client that does nothing else.

    python benchmarks/timing_truth.py [--streams 1,8,32,128,256] [--rounds N] [--seconds S] [--load]

A stand-in in a process of its own answers at random moments and notes when it had written each message, on the
clock that all processes share. Two clients meet it in turn, each in a fresh process, with the same audio, the same
pace and the same stagger: sayagain (a whole run: executor, recorder process, scoring, SQLite) and a bare aiohttp
client that sends chunks at their deadlines and stamps what it receives. Printed are p50 and p99 of reported minus
true in milliseconds (ttft, finalization, ttfa) and of how late chunks left (pacing), as the median of the rounds,
and the ratio of each round's pair, also as its median: what else the machine did in a round disturbed both.

With --load a third client takes part: sayagain with a live display and transcripts of 2,000 words to score. It is
compared with a bare client that receives the same transcripts.

Exits with 1 when the p99 of a metric is more than 1.25 times that of the bare client and more than 0.1 ms above,
when it is more than 1.1 times that of sayagain without the load and more than 0.1 ms above, or when chunks leave
more than 2 ms late at 32 streams; but only on a machine that had time for it: a round in which the bare client was
itself late by more than 5 ms at the 99th percentile says nothing, and is counted as such.
"""

import argparse
import asyncio
import hashlib
import io
import json
import logging
import statistics
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

from sayagain.calibration.client import run_sayagain
from sayagain.calibration.load import CHUNK_S, RATE, UTTERANCE_S, Load, prompt, stagger_s, utterance
from sayagain.calibration.measuring import level_of, measure
from sayagain.calibration.truth import METRICS, Heard, Reported, Spoken
from sayagain.errors import SayagainError
from sayagain.records import CalibrationLevel
from sayagain.report.progress import Bars, Silence

SECONDS_A_CASE = 1.5 * UTTERANCE_S + 0.3
BOUND, LOADED_BOUND, SLACK_MS = 1.25, 1.1, 0.1
PACING_MS, PACING_STREAMS = 2.0, 32
DISTURBED_MS = 5.0
LONG = 2000
CLIENTS = {"bare": 20, "sayagain": 20, "bare, 2,000 words": LONG, "sayagain, loaded": LONG}
"""The clients and the length of their transcripts in words."""

KEY = {"Authorization": "Token no-key"}
HEARD = "/stt-deepgram/v1/listen?model=nova-3&encoding=linear16&sample_rate=16000&interim_results=true"
SPOKEN = "/tts-deepgram/v1/speak?model=aura-2-thalia-en&encoding=linear16&sample_rate=24000"

Rounds = dict[str, list[CalibrationLevel | None]]


class Job(msgspec.Struct):
    """What a client's process is told."""

    client: str
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
    clients = list(CLIENTS) if options.load else list(CLIENTS)[:2]
    faults: list[str] = []
    for streams in map(int, options.streams.split(",")):
        cases = max(6, round(streams * options.seconds / SECONDS_A_CASE))
        rounds: Rounds = {client: [] for client in clients}
        for number in range(options.rounds):
            order = clients if number % 2 == 0 else clients[::-1]
            for client in order:
                rounds[client].append(one(client, Load(streams=streams, cases=cases, words=CLIENTS[client])))
        faults += judged(streams, rounds)
    print("\n".join(faults) or "within the bounds", flush=True)
    return 1 if faults else 0


def one(client: str, load: Load) -> CalibrationLevel | None:
    """Measure one client once; None when too much was lost."""
    try:
        return level_of(load.streams, measure(load, partial(in_a_process, client)))
    except (SayagainError, subprocess.CalledProcessError) as error:
        print(f"{client} at {load.streams}: {error}", file=sys.stderr)
        return None


def in_a_process(client: str, load: Load, base: str, folder: Path, manifests: tuple[Path, Path]) -> Reported:
    """Run a client in a fresh interpreter."""
    job = Job(client, load, base, str(folder), (str(manifests[0]), str(manifests[1])))
    done = subprocess.run(
        [sys.executable, __file__, "--client", client],
        input=msgspec.json.encode(job),
        stdout=subprocess.PIPE,
        check=True,
    )
    return msgspec.json.decode(done.stdout, type=Reported)


def child(job: Job) -> int:
    """Be a client: print what was reported."""
    is_bare = job.client.startswith("bare")
    reported = asyncio.run(bare(job.load, job.base)) if is_bare else sayagain(job)
    sys.stdout.buffer.write(msgspec.json.encode(reported))
    return 0


def sayagain(job: Job) -> Reported:
    """Run sayagain, with a live display when it is loaded."""
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.ERROR))
    live = Bars(Console(file=io.StringIO(), force_terminal=True, width=120))
    display = live if job.load.words == LONG else Silence()
    manifests = (Path(job.manifests[0]), Path(job.manifests[1]))
    return run_sayagain(job.load, job.base, Path(job.folder), manifests, display)


async def bare(load: Load, base: str) -> Reported:
    """Hold every conversation with nothing but aiohttp and a clock."""
    reported = Reported()
    address = base.replace("http", "ws", 1)
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as session:
        for work in (bare_transcription, bare_synthesis):
            numbers = iter(range(load.cases))
            await asyncio.gather(*(worker(work, session, address, numbers, reported) for _ in range(load.streams)))
    return reported


Work = Callable[[aiohttp.ClientSession, str, int, Reported], Awaitable[None]]


async def worker(
    work: Work, session: aiohttp.ClientSession, address: str, numbers: Iterator[int], reported: Reported
) -> None:
    """Do what is left to do, one case after the other."""
    for number in numbers:
        await asyncio.sleep(stagger_s(number))
        await work(session, address, number, reported)


async def bare_transcription(
    session: aiohttp.ClientSession, address: str, number: int, reported: Reported
) -> None:
    """Stream an utterance as a microphone would and stamp what comes back."""
    pcm = utterance(number)
    heard = Heard(hashlib.sha256(pcm).hexdigest(), [], 0, 0, [])
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
        heard.late.append(time.perf_counter_ns() - due)
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


def judged(streams: int, rounds: Rounds) -> list[str]:
    """Print the medians at one number of streams; return what is out of bounds."""
    whole = [number for number, level in enumerate(rounds["bare"]) if undisturbed(level)]
    print(f"{streams} streams: {len(whole)} of {len(rounds['bare'])} rounds left the bare client undisturbed")
    faults: list[str] = []
    for metric in METRICS:
        for client, levels in rounds.items():
            known = [level for level in levels if level is not None]
            p50 = median(level.p50_ms[metric] for level in known)
            p99 = median(level.p99_ms[metric] for level in known)
            beside = "" if client.startswith("bare") else compared(metric, client, rounds)
            print(f"  {metric:<13} {client:<18} p50 {p50:8.3f}  p99 {p99:8.3f}  {beside}")
        faults += [f"{metric} at {streams} streams: {fault}" for fault in bounds(metric, streams, rounds, whole)]
    sys.stdout.flush()
    return faults


def compared(metric: str, client: str, rounds: Rounds) -> str:
    """Return a client's ratios to the bare client that had the same transcripts."""
    beside = "bare, 2,000 words" if client.endswith("loaded") else "bare"
    middle = ratio(metric, client, beside, rounds, "p50_ms")
    far = ratio(metric, client, beside, rounds, "p99_ms")
    return f"x{middle:.2f} x{far:.2f} of the bare client"


def bounds(metric: str, streams: int, rounds: Rounds, whole: list[int]) -> list[str]:
    """Return which bounds are broken by the median of the undisturbed rounds."""
    kept: Rounds = {client: [levels[number] for number in whole] for client, levels in rounds.items()}
    if not whole:
        return []
    faults = []
    above = median_excess(metric, "sayagain", "bare", kept)
    far = ratio(metric, "sayagain", "bare", kept, "p99_ms")
    if metric != "pacing" and far > BOUND and above > SLACK_MS:
        faults.append(f"p99 is {far:.2f} times that of the bare client")
    if "sayagain, loaded" in kept:
        far = ratio(metric, "sayagain, loaded", "sayagain", kept, "p99_ms")
        if far > LOADED_BOUND and median_excess(metric, "sayagain, loaded", "sayagain", kept) > SLACK_MS:
            faults.append(f"p99 under load is {far:.2f} times that without")
    late = median(level.p99_ms["pacing"] for level in kept["sayagain"] if level is not None)
    if metric == "pacing" and streams == PACING_STREAMS and late > PACING_MS:
        faults.append(f"chunks leave {late:.2f} ms late at the 99th percentile")
    return faults


def undisturbed(level: CalibrationLevel | None) -> bool:
    """Tell whether the bare client had the machine to itself."""
    return level is not None and level.p99_ms["ttft"] <= DISTURBED_MS


def ratio(metric: str, client: str, beside: str, rounds: Rounds, rank: str) -> float:
    """Return the median over the rounds of one client's figure divided by another's in the same round."""
    return median(
        getattr(one, rank)[metric] / max(getattr(other, rank)[metric], 1e-3)
        for one, other in zip(rounds[client], rounds[beside], strict=True)
        if one is not None and other is not None
    )


def median_excess(metric: str, client: str, beside: str, rounds: Rounds) -> float:
    """Return the median over the rounds of what one client's p99 is above another's, in milliseconds."""
    return median(
        one.p99_ms[metric] - other.p99_ms[metric]
        for one, other in zip(rounds[client], rounds[beside], strict=True)
        if one is not None and other is not None
    )


def median(values: Iterator[float]) -> float:
    """Return the median, or NaN of nothing, which breaks no bound."""
    known = list(values)
    return statistics.median(known) if known else float("nan")


if __name__ == "__main__":
    sys.exit(main())
