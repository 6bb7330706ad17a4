"""The stand-in as a process: it says where it listens in one line, and ends with its stdin or on a signal."""

import asyncio
import gc
import os
import signal
import ssl
import tempfile
import threading
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import IO, Any

from sayagain.errors import SayagainError, UsageError
from sayagain.simulator.journal import Journal
from sayagain.simulator.scenario import Scenario
from sayagain.simulator.server import HOST, Simulator

FLUSH_S = 0.5
"""How often what the journal gathered is written."""


def run(scenario: Scenario, port: int, log: Path | None, tls: bool) -> None:
    """Serve until stdin ends or SIGTERM or SIGINT arrives; prints one JSON line when ready.

    Raises:
        UsageError: The log cannot be written, the port is taken, or TLS needs a package that is not installed.
    """
    with ExitStack() as held:
        stream: IO[bytes] | None = None
        if log is not None:
            try:
                stream = held.enter_context(log.open("wb", buffering=0))
            except OSError as error:
                raise UsageError(f"The log {log} cannot be written: {error.strerror}.") from error
        context, authority = _certificate(held) if tls else (None, None)
        asyncio.run(_serve(Simulator(scenario, journal := Journal(stream), context), journal, port, authority))


async def _serve(simulator: Simulator, journal: Journal, port: int, authority: str | None) -> None:
    stopped = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stopped.set)
    try:
        await simulator.start(port)
    except OSError as error:
        raise SayagainError(f"Port {port} of {HOST} cannot be opened: {error.strerror}.") from error
    threading.Thread(target=_watch_stdin, args=(loop, stopped), daemon=True).start()
    # What is loaded now stays: a collection that walks it would delay whatever is due at that moment.
    gc.collect()
    gc.freeze()
    _announce(simulator, authority)
    try:
        while not stopped.is_set():
            journal.flush()
            with suppress(TimeoutError):
                await asyncio.wait_for(stopped.wait(), FLUSH_S)
    finally:
        await simulator.close()


def _announce(simulator: Simulator, authority: str | None) -> None:
    import click
    import msgspec

    scheme = "http" if authority is None else "https"
    ready: dict[str, Any] = {
        "simulator": 1,
        "pid": os.getpid(),
        "base": f"{scheme}://{simulator.base}",
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
