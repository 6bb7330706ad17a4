"""What this machine and its configuration are fit for: the checks of `sayagain doctor`.

No check spends anything: keys are looked for by name only, and a host is contacted only when that is asked for,
by a request that carries no key.
"""

import asyncio
import time
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

import aiohttp

from sayagain.artifact.destinations import check_destination
from sayagain.artifact.places import shown
from sayagain.config import Settings, local_secrets
from sayagain.engines.registry import ENGINES
from sayagain.errors import SayagainError
from sayagain.failures import CaseFailedError
from sayagain.ledger import connect
from sayagain.ledger.urls import describe, is_sqlite, ledger_url, sqlite_file
from sayagain.providers.catalog import entries
from sayagain.records import Phase
from sayagain.runner.cloud import endpoint
from sayagain.transports.connecting import Contact, contacting, is_secure, open_session, proxy_for, translated
from sayagain.transports.pacing import NS_PER_MS, NS_PER_S, now_ns, sleep_until

LOOP_S = 0.5
"""How long the event loop is watched, in seconds."""

EVERY_NS = 10 * NS_PER_MS
"""How often it is asked to wake, in nanoseconds."""

BOUND_MS = 2.0
"""Lateness at the 99th percentile up to which audio leaves as a microphone would send it, in milliseconds."""


class State(StrEnum):
    """How a check came out; only a problem makes the command fail."""

    OK = "ok"
    NOTE = "note"
    PROBLEM = "problem"


@dataclass(frozen=True)
class Check:
    """One thing that was looked at, and what was found in one line."""

    area: str
    name: str
    state: State
    found: str


async def examine(settings: Settings, *, reach: bool = False) -> list[Check]:
    """Return every check; with `reach`, the providers' hosts are contacted too."""
    checks = [_clock(), await _loop(), *_engines(), _ledger(settings), _artifacts(settings), *_keys()]
    if reach:
        checks += await asyncio.gather(*(_host(name, url, settings) for name, url in _hosts(settings)))
    return checks


def _clock() -> Check:
    info = time.get_clock_info("perf_counter")
    steps = [second - first for first, second in _pairs(1000) if second > first]
    step_ns = min(steps, default=0)
    good = info.monotonic and 0 < step_ns < NS_PER_MS / 10
    found = f"{info.implementation}, steps of {step_ns} ns"
    return Check("clock", "resolution", State.OK if good else State.PROBLEM, found)


def _pairs(count: int) -> Iterable[tuple[int, int]]:
    return ((now_ns(), now_ns()) for _ in range(count))


async def _loop() -> Check:
    """Ask the loop to wake at fixed instants and see how late it is, as every paced chunk of audio does."""
    late_ns: list[int] = []
    due = now_ns()
    for _ in range(round(LOOP_S * NS_PER_S / EVERY_NS)):
        due += EVERY_NS
        late_ns.append(await sleep_until(due))
    late_ms = sorted(late / NS_PER_MS for late in late_ns)
    middle, high = late_ms[len(late_ms) // 2], late_ms[int(len(late_ms) * 0.99)]
    state = State.OK if high <= BOUND_MS else State.NOTE
    return Check("clock", "event loop", state, f"wakes {middle:.2f} ms late (median), {high:.2f} ms (p99)")


def _engines() -> Iterable[Check]:
    for info in ENGINES:
        missing = info.why_missing()
        yield Check(
            "engine", info.name, State.NOTE if missing else State.OK, missing or f"version {info.version()}"
        )


def _ledger(settings: Settings) -> Check:
    try:
        url = ledger_url(settings.db)
        if is_sqlite(url) and sqlite_file(url).parent.is_dir() and not sqlite_file(url).exists():
            return Check("ledger", "database", State.NOTE, f"{describe(url)} is made by the first run")
        with connect(settings.db, create=False) as ledger:
            ledger.require_current()
            return Check("ledger", "database", State.OK, str(ledger))
    except SayagainError as error:
        return Check("ledger", "database", State.PROBLEM, str(error))


def _artifacts(settings: Settings) -> Check:
    if settings.artifact_dir is None:
        return Check("artifacts", "directory", State.NOTE, "RUN_ARTIFACT_DIR is not set: no artifact is written")
    try:
        check_destination(settings.artifact_dir)
    except SayagainError as error:
        return Check("artifacts", "directory", State.PROBLEM, str(error))
    return Check("artifacts", "directory", State.OK, f"{shown(settings.artifact_dir)} can be written")


def _keys() -> Iterable[Check]:
    """Look for every key by the name of its variable; its value is nobody's business here."""
    secrets = local_secrets()
    for name in dict.fromkeys(name for entry in entries() for name in entry.provider.keys):
        yield Check(
            "key", name, State.OK if name in secrets else State.NOTE, "set" if name in secrets else "not set"
        )


def _hosts(settings: Settings) -> list[tuple[str, str]]:
    """Return each provider's distinct base URLs."""
    pairs = ((entry.provider.provider, endpoint(entry, settings)) for entry in entries())
    return list(dict.fromkeys((name, url) for name, url in pairs if url is not None))


async def _host(name: str, url: str, settings: Settings) -> Check:
    contact = Contact()
    try:
        async with open_session(settings.connect_timeout) as session:
            with contacting(contact):
                async with asyncio.timeout(settings.connect_timeout + settings.idle_timeout):
                    async with session.get(url, allow_redirects=False, proxy=proxy_for(url)):
                        pass
    except (aiohttp.ClientError, OSError, ValueError, CaseFailedError) as error:
        phase = Phase.CONNECT if contact.connected_ns is None else Phase.RECEIVE
        failure = translated(error, phase).failure
        return Check("host", name, State.PROBLEM, f"{failure.kind}: {failure.message}")
    connection = contact.connection(secure=is_secure(url))
    parts = {"DNS": connection.dns_ms, "TCP": connection.tcp_ms, "TLS": connection.tls_ms}
    split = ", ".join(f"{part} {value:.0f} ms" for part, value in parts.items() if value is not None)
    return Check("host", name, State.OK, f"reached in {connection.total_ms:.0f} ms ({split})")
