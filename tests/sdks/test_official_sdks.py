"""The providers' own SDKs, unchanged, against the stand-in: what it speaks is proven by code that is not ours.

Each script in `clients/` uses one SDK as its documentation shows and prints what it saw. The scripts run in the
Python of SAYAGAIN_SDKS_PYTHON, which has the `sdks` group installed, or in this one if it has it.
docs/simulator.md says how.
"""

import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from support.commands import Cli

pytestmark = pytest.mark.sdks

CLIENTS = Path(__file__).parent / "clients"
PYTHON = os.environ.get("SAYAGAIN_SDKS_PYTHON", sys.executable)
TEXT = "one two three four five six"
PROMPT = "Say this to whoever listens."
MODULES = {
    "assemblyai": "assemblyai",
    "cartesia": "cartesia",
    "deepgram-sdk": "deepgram",
    "elevenlabs": "elevenlabs",
    "gladiaio-sdk": "gladiaio_sdk",
    "hume": "hume",
    "openai": "openai",
    "soniox": "soniox",
    "speechmatics-rt": "speechmatics.rt",
}
"""Each SDK's distribution and module."""

SCENARIO = f"""
[stt]
first_partial = 5
partial_interval = 5
finalization = 20
fallback = "{TEXT}"

[tts]
first_audio = 5
chunk_interval = 1

[endpoints.limited]
protocol = "stt-openai-batch"
faults = [{{ kind = "http_error", status = 429, retry_after = 0 }}]

[endpoints.unauthorized]
protocol = "stt-openai-batch"
faults = [{{ kind = "http_error", status = 401 }}]

[endpoints.unpaid]
protocol = "stt-deepgram"
faults = [{{ kind = "http_error", status = 402 }}]

[endpoints.crowded]
protocol = "stt-assemblyai"
faults = [{{ kind = "reported_error", error = "concurrency" }}]

[endpoints.spent]
protocol = "stt-soniox"
faults = [{{ kind = "reported_error", error = "quota", at = "end" }}]

[endpoints.broke]
protocol = "stt-speechmatics"
faults = [{{ kind = "reported_error", error = "quota" }}]

[endpoints.odd]
protocol = "tts-deepgram"
faults = [{{ kind = "odd_chunks" }}]

[endpoints.twice]
protocol = "stt-assemblyai"
segment_words = 2
"""


def missing() -> list[str]:
    """Name the SDKs that PYTHON has not."""
    code = (
        "import importlib.util as u, json; "
        f"print(json.dumps([d for d, m in {MODULES!r}.items() if u.find_spec(m.split('.')[0]) is None]))"
    )
    done = subprocess.run([PYTHON, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    absent: list[str] = json.loads(done.stdout)
    return absent


@dataclass
class Bench:
    """A running stand-in and the files that clients read."""

    ready: dict[str, Any]
    folder: Path

    def run(self, client: str, endpoint: str) -> subprocess.CompletedProcess[str]:
        """Run a client against an endpoint."""
        place = self.ready["endpoints"][endpoint]
        source = self.folder / ("prompt.txt" if place["protocol"].startswith("tts") else "audio.pcm")
        environment = {name: os.environ[name] for name in ("PATH", "HOME", "LANG") if name in os.environ}
        if self.ready["ca"]:
            environment["SSL_CERT_FILE"] = self.ready["ca"]
        return subprocess.run(
            [PYTHON, str(CLIENTS / f"{client}.py"), place["http"], place["websocket"], str(source)],
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
            env=environment,
        )

    def answer(self, client: str, endpoint: str) -> dict[str, Any]:
        """Run a client that must succeed and return what it saw."""
        done = self.run(client, endpoint)
        assert done.returncode == 0, done.stderr
        seen: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
        return seen


@contextmanager
def standing(folder: Path, *options: str) -> Iterator[Bench]:
    if absent := missing():
        pytest.skip(f"not installed in {PYTHON}: {', '.join(absent)}; see docs/simulator.md")
    (folder / "scenario.toml").write_text(SCENARIO)
    (folder / "audio.pcm").write_bytes(bytes(range(1, 251)) * 128)
    (folder / "prompt.txt").write_text(PROMPT)
    cli = Cli(folder)
    process = subprocess.Popen(
        cli.command("simulate", "--scenario", "scenario.toml", "--log", "log.jsonl", *options),
        cwd=folder,
        env=cli.environment(),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout is not None
        yield Bench(json.loads(process.stdout.readline()), folder)
    finally:
        process.communicate(timeout=20)


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    with standing(tmp_path_factory.mktemp("plain")) as one:
        yield one


@pytest.fixture(scope="module")
def tls_bench(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    with standing(tmp_path_factory.mktemp("tls"), "--tls") as one:
        yield one


STT: list[tuple[str, str, Callable[[dict[str, Any]], bool]]] = [
    (
        "deepgram_listen_v1",
        "stt-deepgram",
        lambda seen: seen["last"] == "ListenV1Metadata" and seen["model"] == "nova-3",
    ),
    (
        "deepgram_listen_v2",
        "stt-deepgram-flux",
        lambda seen: (
            (seen["first"], seen["trigger"], seen["events"][0], seen["events"][-1])
            == ("ListenV2Connected", "model", "StartOfTurn", "EndOfTurn")
        ),
    ),
    (
        "assemblyai_streaming",
        "stt-assemblyai",
        lambda seen: (
            (seen["model"], seen["ends"], seen["terminated"], seen["errors"])
            == (["universal-streaming-english"], [0, 0], 1, [])
        ),
    ),
    (
        "openai_realtime",
        "stt-openai-realtime",
        lambda seen: (seen["joined"], seen["model"]) == (TEXT, "gpt-4o-transcribe"),
    ),
    ("openai_transcriptions", "stt-openai-batch", lambda seen: (seen["verbose"], seen["seconds"]) == (TEXT, 1.0)),
    (
        "elevenlabs_stt",
        "stt-elevenlabs",
        lambda seen: (seen["model"], seen["errors"]) == (["scribe_v2_realtime"], []),
    ),
    ("speechmatics_rt", "stt-speechmatics", lambda seen: bool(seen["ended"] == 1)),
    (
        "gladia_live",
        "stt-gladia",
        lambda seen: (seen["codes"], seen["errors"], seen["acknowledged"] > 0) == ([1000], [], True),
    ),
    ("soniox_stt", "stt-soniox", lambda seen: (seen["finished"], seen["errors"]) == (1, [])),
    ("cartesia_stt", "stt-cartesia", lambda seen: bool(seen["kinds"][-2:] == ["flush_done", "done"])),
]


@pytest.mark.parametrize(("client", "endpoint", "check"), STT, ids=[client for client, _, _ in STT])
def test_an_sdk_transcribes(
    bench: Bench, client: str, endpoint: str, check: Callable[[dict[str, Any]], bool]
) -> None:
    seen = bench.answer(client, endpoint)
    assert seen["finals"] == [TEXT]
    assert check(seen), seen
    if "partials" in seen:
        assert seen["partials"][0].startswith("one")


TTS = [
    ("openai_speech", "tts-openai"),
    ("cartesia_tts", "tts-cartesia"),
    ("deepgram_speak_v1", "tts-deepgram"),
    ("deepgram_speak_v1", "odd"),
    ("hume_tts", "tts-hume"),
]


@pytest.mark.parametrize(("client", "endpoint"), TTS)
def test_an_sdk_receives_the_audio_that_was_sent(bench: Bench, client: str, endpoint: str) -> None:
    seen = bench.answer(client, endpoint)
    assert (seen["bytes"], seen["sha256"]) == sent(bench, endpoint)


def test_the_elevenlabs_sdk_receives_the_audio_that_was_sent_over_tls(tls_bench: Bench) -> None:
    seen = tls_bench.answer("elevenlabs_tts", "tts-elevenlabs")
    assert (seen["bytes"], seen["sha256"]) == sent(tls_bench, "tts-elevenlabs")


@pytest.mark.parametrize(
    ("client", "endpoint", "complaint"),
    [
        ("openai_transcriptions", "limited", "openai.RateLimitError"),
        ("openai_transcriptions", "unauthorized", "openai.AuthenticationError"),
        ("deepgram_listen_v1", "unpaid", "InvalidStatus: .*HTTP 402"),
        ("speechmatics_rt", "broke", "TranscriptionError: The account has no credit left"),
    ],
)
def test_an_sdk_understands_a_refusal_as_its_provider_means_it(
    bench: Bench, client: str, endpoint: str, complaint: str
) -> None:
    done = bench.run(client, endpoint)
    assert done.returncode == 1
    assert re.search(complaint, done.stderr), done.stderr


def test_the_assemblyai_sdk_reports_the_code_of_an_error(bench: Bench) -> None:
    assert bench.answer("assemblyai_streaming", "crowded")["errors"] == [3009]


def test_the_soniox_sdk_reports_the_code_of_an_error(bench: Bench) -> None:
    assert bench.answer("soniox_stt", "spent")["errors"] == [402]


def test_segments_of_one_stream_are_turns_to_the_assemblyai_sdk(bench: Bench) -> None:
    seen = bench.answer("assemblyai_streaming", "twice")
    assert seen["finals"] == ["one two", "three four", "five six"]
    assert seen["ends"] == [0, 0, 1, 1, 2, 2]


def sent(bench: Bench, endpoint: str) -> tuple[int, str]:
    """Return the size and digest of what the stand-in recorded as sent, once the client has left."""
    give_up = time.monotonic() + 30
    while time.monotonic() < give_up:
        lines = [json.loads(line) for line in (bench.folder / "log.jsonl").read_text().splitlines()]
        for line in lines:
            if (line["endpoint"], line["event"]) == (endpoint, "spoken"):
                return line["audio_bytes"], line["audio_sha256"]
        time.sleep(0.05)
    raise AssertionError(f"nothing was recorded for {endpoint}")
