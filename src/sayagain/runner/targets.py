"""Which targets a person means, and how each is reached from here.

Endpoints come from the command line and the local configuration only, never from an artifact.
"""

import difflib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

from sayagain.config import Settings
from sayagain.engines.endpoint import EngineEndpoint
from sayagain.engines.registry import ENGINES, EngineInfo
from sayagain.errors import UsageError
from sayagain.providers.wyoming import WyomingSttCodec, WyomingTtsCodec
from sayagain.records import Benchmark, Limits, Setting, Target
from sayagain.runner.servers import server_targets
from sayagain.transports.base import Transport
from sayagain.transports.wyoming import DEFAULT_CHUNK_MS, FixedEndpoint, WyomingCodec, WyomingTransport

CODECS: dict[Benchmark, WyomingCodec] = {Benchmark.STT: WyomingSttCodec, Benchmark.TTS: WyomingTtsCodec}


@dataclass(frozen=True)
class Candidate:
    """A target that can be asked for; `missing` says why it cannot run here, or is None."""

    target: Target
    connect: Callable[[Limits], Transport]
    missing: str | None = None


async def select(settings: Settings) -> tuple[Candidate, ...]:
    """Return the targets that the settings ask for, in the order they are asked for.

    Raises:
        UsageError: A name matches nothing (the nearest names are given), what it names cannot run here, two
            targets would have one key, or nothing is left for the benchmark asked for.
    """
    local = tuple(_local_candidate(info) for info in ENGINES)
    if settings.models is None:
        chosen = [candidate for candidate in local if candidate.missing is None]
        if not chosen:
            raise UsageError("No speech engine is installed: pip install 'sayagain[local,gpl]', or name --models.")
    else:
        chosen = await _named(settings, local)
    wanted = [candidate for candidate in chosen if settings.kind in ("both", candidate.target.benchmark)]
    if not wanted:
        raise UsageError(f"--models {settings.models} has no target for --kind {settings.kind}.")
    _require_distinct(candidate.target.key for candidate in wanted)
    return tuple(wanted)


async def _named(settings: Settings, local: Sequence[Candidate]) -> list[Candidate]:
    chosen: dict[str, Candidate] = {}
    for name in filter(None, (part.strip() for part in (settings.models or "").split(","))):
        for candidate in await _matching(name, settings, local):
            if candidate.missing is not None:
                raise UsageError(f"{candidate.target.name} cannot run here: {candidate.missing}")
            chosen.setdefault(candidate.target.key, candidate)
    if not chosen:
        raise UsageError("--models names nothing: give a provider, provider/model or wyoming/HOST:PORT.")
    return list(chosen.values())


async def _matching(name: str, settings: Settings, local: Sequence[Candidate]) -> list[Candidate]:
    if name.startswith("wyoming/"):
        return [_served(target, endpoint) for target, endpoint in await server_targets(name, settings)]
    found = [candidate for candidate in local if _matches(name, candidate.target)]
    if not found:
        known = [candidate.target.name for candidate in local] + [candidate.target.provider for candidate in local]
        near = difflib.get_close_matches(name, known, n=3, cutoff=0.4) or sorted(set(known))
        raise UsageError(f"No model matches {name!r}. Nearest: {', '.join(near)}.")
    return found


def _matches(name: str, target: Target) -> bool:
    prefixes = (target.provider, f"{target.provider}/{target.model}", target.name, target.key)
    return any(fnmatchcase(prefix, name) for prefix in prefixes)


def _served(target: Target, endpoint: FixedEndpoint) -> Candidate:
    codec = CODECS[target.benchmark]
    return Candidate(target, lambda _: WyomingTransport(endpoint, codec))


def _local_candidate(info: EngineInfo) -> Candidate:
    codec = CODECS[info.benchmark]
    settings: dict[str, Setting] = {"language": info.language, "version": info.version(), **info.settings}
    if info.benchmark is Benchmark.STT:
        settings["chunk_ms"] = DEFAULT_CHUNK_MS
    target = Target(
        benchmark=info.benchmark,
        provider=info.name,
        model=info.model,
        voice=info.voice,
        settings=settings,
        adapter=codec.version,
    )

    def connect(limits: Limits) -> Transport:
        size = min(limits.provider_concurrency, limits.concurrency)
        return WyomingTransport(EngineEndpoint(info.name, size), codec)

    return Candidate(target, connect, info.why_missing())


def _require_distinct(keys: Iterable[str]) -> None:
    seen: set[str] = set()
    for key in keys:
        if key in seen:
            raise UsageError(f"Two targets are called {key}: give their servers different names in sayagain.toml.")
        seen.add(key)
