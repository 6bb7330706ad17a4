"""The worked example of docs/adding-a-provider.md: installed as a package of its own, found, tested and used."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]

USE = """
import asyncio, json
from aiohttp import WSMsgType, web
from sayagain.config import Settings
from sayagain.records import Case, Item, Limits
from sayagain.runner.targets import select
from sayagain.transports.tracing import Tracer
from support.socket_provider import serving

async def stream(request):
    assert request.headers["X-Api-Key"] == "k"
    assert dict(request.query) == {"model": "fast-2", "language": "en", "rate": "16000"}
    socket = web.WebSocketResponse()
    await socket.prepare(request)
    await socket.send_json({"type": "ready", "model": "fast-2"})
    async for message in socket:
        if message.type is WSMsgType.TEXT:
            assert message.json() == {"type": "stop"}
            for answer in ({"type": "final", "id": 1, "text": "ten of clubs"}, {"type": "done"}):
                await socket.send_json(answer)
    return socket

async def main():
    app = web.Application()
    app.router.add_get("/v1/stream", stream)
    async with serving(app) as port:
        settings = Settings(models="acme", endpoints={"acme": f"http://127.0.0.1:{port}"})
        (candidate,) = await select(settings)
        transport = candidate.connect(Limits())
        tracer = Tracer()
        case = Case.of(candidate.target, Item(id="one", text="ten of clubs", sha256="0" * 64))
        async with transport.session() as session:
            await session.attempt(case, bytes(6400), tracer, Limits())
        await transport.aclose()
    print(candidate.target.key, candidate.target.adapter, tracer.transcript(" "))

asyncio.run(main())
"""


def blocks(language: str) -> list[str]:
    text = (ROOT / "docs" / "adding-a-provider.md").read_text("utf-8")
    return re.findall(rf"```{language}\n(.*?)```", text, re.DOTALL)


@pytest.fixture
def installed(tmp_path: Path) -> Path:
    """A folder in which the example is installed as its page says."""
    codec, test = blocks("python")
    entry, pyproject = blocks("toml")
    package = tmp_path / "sayagain_acme"
    package.mkdir()
    (package / "__init__.py").touch()
    (package / "codec.py").write_text(codec, "utf-8")
    (package / "acme.toml").write_text(entry, "utf-8")
    (tmp_path / "test_acme.py").write_text(test, "utf-8")
    group, value = re.findall(r'entry-points\."(.*?)"\]\n(.*)', pyproject)[0]
    metadata = tmp_path / "sayagain_acme-1.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: sayagain-acme\nVersion: 1\n")
    (metadata / "entry_points.txt").write_text(f"[{group}]\n{value.replace(chr(34), '')}\n")
    return tmp_path


def python(folder: Path, *args: str) -> str:
    environment = os.environ | {"PYTHONPATH": f"{folder}{os.pathsep}{ROOT / 'tests'}", "ACME_API_KEY": "k"}
    done = subprocess.run(
        [sys.executable, *args], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_a_package_that_is_installed_is_listed_and_shown(installed: Path) -> None:
    assert "acme/fast-2" in python(installed, "-m", "sayagain", "models", "list")
    shown = python(installed, "-m", "sayagain", "models", "show", "acme")
    assert "acme-stt/1" in shown
    assert "ready" in shown
    assert "0.005 USD a minute" in shown


def test_its_target_is_selected_and_transcribes_over_a_real_socket(installed: Path) -> None:
    assert python(installed, "-c", USE).strip() == "stt:acme/fast-2 acme-stt/1 ten of clubs"


def test_the_tests_on_the_page_pass(installed: Path) -> None:
    assert "2 passed" in python(installed, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_acme.py")


def test_a_package_whose_catalog_is_wrong_is_named(installed: Path) -> None:
    (installed / "sayagain_acme" / "acme.toml").write_text("provider = 1")
    with pytest.raises(AssertionError, match=r"sayagain_acme: acme\.toml"):
        python(installed, "-m", "sayagain", "models", "list")
