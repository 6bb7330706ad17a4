"""`sayagain simulate` as a process: it says where it is, keeps to loopback, records, and ends when it should."""

import asyncio
import json
import signal
import socket
import ssl
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import aiohttp
import psutil
import pytest

from sayagain.datasets.catalog import locate
from sayagain.datasets.loading import load, read_pcm
from sayagain.records import AudioFormat
from support.bare_clients import STT, transcribe
from support.commands import Cli


@contextmanager
def simulating(folder: Path, *options: str) -> Iterator[tuple[subprocess.Popen[str], dict[str, Any]]]:
    """Start the process and read its one line; end it with its stdin."""
    cli = Cli(folder)
    process = subprocess.Popen(
        cli.command("simulate", *options),
        cwd=folder,
        env=cli.environment(),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout is not None
        yield process, json.loads(process.stdout.readline())
    finally:
        process.communicate(timeout=20)


def test_it_ends_with_its_stdin(tmp_path: Path) -> None:
    with simulating(tmp_path) as (process, ready):
        assert ready["pid"] == process.pid
    assert process.returncode == 0


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_it_ends_on_a_signal(tmp_path: Path, number: signal.Signals) -> None:
    with simulating(tmp_path) as (process, _):
        process.send_signal(number)
        assert process.wait(20) == 0


def test_it_listens_on_loopback_only(tmp_path: Path) -> None:
    with simulating(tmp_path) as (process, _):
        listening = [one for one in psutil.Process(process.pid).net_connections() if one.status == "LISTEN"]
        assert {one.laddr.ip for one in listening} == {"127.0.0.1"}


def test_a_port_that_is_taken_is_one_line_and_exit_code_1(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        done = Cli(tmp_path)("simulate", "--port", str(port), code=1)
    assert done.stderr.startswith(f"sayagain: Port {port} of 127.0.0.1 cannot be opened")
    assert len(done.stderr.splitlines()) == 1


def test_a_wrong_scenario_is_one_line_and_exit_code_2(tmp_path: Path) -> None:
    (tmp_path / "a.toml").write_text("[endpoints.tts-rime]\nchunk_mss = 1\n")
    done = Cli(tmp_path)("simulate", "--scenario", "a.toml", code=2)
    assert "chunk_mss" in done.stderr
    assert len(done.stderr.splitlines()) == 1


async def test_tls_is_trusted_by_whoever_trusts_its_authority(tmp_path: Path) -> None:
    pytest.importorskip("trustme", reason="--tls needs the extra `simulator`")
    with simulating(tmp_path, "--tls") as (_, ready):
        assert ready["base"].startswith("https://")
        trusting = ssl.create_default_context(cafile=ready["ca"])
        async with aiohttp.ClientSession() as session:
            async with session.get(ready["base"], ssl=trusting) as response:
                assert response.status == 404
            with pytest.raises(aiohttp.ClientConnectorCertificateError):
                await session.get(ready["base"])
    assert not await asyncio.to_thread(Path(ready["ca"]).exists)


async def test_it_recognises_the_items_of_a_dataset_and_records_everything(tmp_path: Path) -> None:
    manifest = locate("librivox-5", tmp_path)
    (tmp_path / "a.toml").write_text(
        f'manifest = "{manifest}"\n[stt]\nfirst_partial = 0\npartial_interval = 0\nfinalization = 0\n'
    )
    dataset = load("librivox-5", tmp_path)
    said: dict[str, str] = {}
    with simulating(tmp_path, "--scenario", "a.toml", "--log", "log.jsonl") as (_, ready):
        async with aiohttp.ClientSession() as session:
            for item, protocol in zip(dataset.items, STT, strict=False):
                pcm = read_pcm(dataset.root, item, AudioFormat(rate=STT[protocol].rate))
                seen = await transcribe(session, ready["endpoints"][protocol], pcm)
                said[item.text] = seen.transcript
    assert said == {text: " ".join(text.split()) for text in said}
    lines = [json.loads(line) for line in (tmp_path / "log.jsonl").read_text().splitlines()]
    assert [line["known"] for line in lines if line["event"] == "transcript"] == [True] * len(said)
    assert len({line["connection"] for line in lines if line["event"] == "closed"}) == len(said)
