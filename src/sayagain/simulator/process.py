"""The stand-in as a process: it says where it listens in one line, and ends with its stdin or on a signal.

With a command it says nothing and ends with the command.
"""

import asyncio
import os
import signal
import ssl
import tempfile
import threading
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import IO, Any

from sayagain.errors import SayagainError, UsageError
from sayagain.promptness import promptness
from sayagain.simulator.journal import Journal
from sayagain.simulator.rehearsal import rehearse
from sayagain.simulator.scenario import Scenario
from sayagain.simulator.server import HOST, Simulator
from sayagain.stillness import stillness

FLUSH_S = 0.5
"""How often what the journal gathered is written."""


def run(scenario: Scenario, port: int, log: Path | None, tls: bool, command: Sequence[str] = ()) -> int:
    """Serve until stdin ends or SIGTERM or SIGINT arrives, and print one JSON line when ready; or serve a command.

    Returns 0, or the exit code of the command.

    Raises:
        UsageError: The log cannot be written, TLS needs a package that is not installed, or the command cannot be
            started.
        SayagainError: The port is taken.
    """
    with ExitStack() as held:
        stream: IO[bytes] | None = None
        if log is not None:
            try:
                stream = held.enter_context(log.open("wb", buffering=0))
            except OSError as error:
                raise UsageError(f"The log {log} cannot be written: {error.strerror}.") from error
        context, authority = _certificate(held) if tls else (None, None)
        simulator = Simulator(scenario, journal := Journal(stream), context)
        return asyncio.run(_serve(simulator, journal, port, authority, command))


async def _serve(
    simulator: Simulator, journal: Journal, port: int, authority: str | None, command: Sequence[str]
) -> int:
    try:
        await simulator.start(port)
    except OSError as error:
        raise SayagainError(f"Port {port} of {HOST} cannot be opened: {error.strerror}.") from error
    over = asyncio.create_task(rehearse(command, simulator.url) if command else _announced(simulator, authority))
    try:
        with stillness(), promptness():
            while not over.done():
                journal.flush()
                await asyncio.wait([over], timeout=FLUSH_S)
        return over.result()
    finally:
        await simulator.close()


async def _announced(simulator: Simulator, authority: str | None) -> int:
    """Say where everything is, and wait until stdin ends or a signal arrives."""
    stopped = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stopped.set)
    threading.Thread(target=_watch_stdin, args=(loop, stopped), daemon=True).start()
    _announce(simulator, authority)
    await stopped.wait()
    return 0


def _announce(simulator: Simulator, authority: str | None) -> None:
    import click
    import msgspec

    ready: dict[str, Any] = {
        "simulator": 1,
        "pid": os.getpid(),
        "base": simulator.url,
        "ca": authority,
        "endpoints": simulator.directory(),
    }
    click.echo(msgspec.json.encode(ready).decode())


def _watch_stdin(loop: asyncio.AbstractEventLoop, stopped: asyncio.Event) -> None:
    try:
        while os.read(0, 4096):
            pass
    except OSError:
        pass  # a closed stdin has ended
    loop.call_soon_threadsafe(stopped.set)


def _certificate(held: ExitStack) -> tuple[ssl.SSLContext, str]:
    """Make a certificate for loopback for this process alone; return it and the path of its authority."""
    try:
        import trustme
    except ImportError:
        raise UsageError("--tls needs the package trustme: pip install 'sayagain[simulator]'.") from None
    authority = trustme.CA()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert(HOST, "localhost").configure_cert(context)
    path = Path(held.enter_context(tempfile.TemporaryDirectory(prefix="sayagain-"))) / "ca.pem"
    authority.cert_pem.write_to_path(path)
    return context, str(path)
