"""Which targets a person means, and how each is reached from here.

Endpoints come from the command line and the local configuration only, never from an artifact.
"""

from collections.abc import Collection, Iterable, Sequence

from sayagain.config import Settings
from sayagain.engines.endpoint import EngineEndpoint
from sayagain.engines.registry import ENGINES, EngineInfo
from sayagain.errors import UsageError
from sayagain.logs import logger
from sayagain.providers.catalog import entries
from sayagain.providers.wyoming import WyomingSttCodec, WyomingTtsCodec
from sayagain.records import Benchmark, Limits, Setting, Target
from sayagain.runner.candidate import Candidate
from sayagain.runner.cloud import cloud_candidate
from sayagain.runner.naming import matches, nearest
from sayagain.runner.overrides import require_meaning, with_overrides
from sayagain.runner.servers import every_target, may_serve, server_targets
from sayagain.transports.base import Transport
from sayagain.transports.sending import DEFAULT_CHUNK_MS
from sayagain.transports.wyoming import FixedEndpoint, WyomingCodec, WyomingTransport

CODECS: dict[Benchmark, WyomingCodec] = {Benchmark.STT: WyomingSttCodec, Benchmark.TTS: WyomingTtsCodec}


async def select(settings: Settings) -> tuple[Candidate, ...]:
    """Return the targets that the settings ask for, in the order they are asked for.

    Raises:
        UsageError: A name matches nothing (the nearest names are given), what it names cannot run here, two
            targets would have one key, or nothing is left for the benchmark asked for.
    """
    local = tuple(local_candidate(info, settings) for info in ENGINES)
    require_meaning(
        settings, [*(candidate.target for candidate in local), *(entry.target() for entry in entries())]
    )
    if settings.models is None:
        chosen = [candidate for candidate in local if candidate.missing is None]
        for skipped in (candidate for candidate in local if candidate.missing is not None):
            logger().info("engine_skipped", target=skipped.target.key, reason=skipped.missing)
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
        return [_served(target, endpoint, settings) for target, endpoint in await server_targets(name, settings)]
    found = [candidate for candidate in local if matches(name, candidate.target)]
    found += [cloud_candidate(entry, settings) for entry in entries() if matches(name, entry.target())]
    if not found:
        targets = [candidate.target for candidate in local] + [entry.target() for entry in entries()]
        raise UsageError(f"No model matches {name!r}. Nearest: {', '.join(nearest(name, targets))}.")
    return found


def static_candidates(settings: Settings, keys: Collection[str]) -> dict[str, Candidate]:
    """Return those of the keys that can be resolved without asking a server: local engines and the catalog."""
    found = [
        candidate
        for candidate in (local_candidate(info, settings) for info in ENGINES)
        if candidate.target.key in keys
    ]
    found += [cloud_candidate(entry, settings) for entry in entries() if entry.target().key in keys]
    return {candidate.target.key: candidate for candidate in found}


async def served_targets(settings: Settings, keys: Collection[str]) -> dict[str, Candidate]:
    """Return those of the keys that a Wyoming server offers which --models names, or which is configured by name.

    A key says which configured server is asked, never where a server is.
    """
    named = [part.strip() for part in (settings.models or "").split(",")]
    places = [name.split("/")[1] for name in named if name.startswith("wyoming/")]
    places += [name for name in sorted(settings.wyoming) if any(may_serve(name, key) for key in keys)]
    found: dict[str, Candidate] = {}
    for place in dict.fromkeys(places if keys else ()):
        for target, endpoint in await every_target(place, settings):
            if target.key in keys:
                found.setdefault(target.key, _served(target, endpoint, settings))
    return found


def _served(target: Target, endpoint: FixedEndpoint, settings: Settings) -> Candidate:
    codec = CODECS[target.benchmark]
    return Candidate(with_overrides(target, settings), lambda _: WyomingTransport(endpoint, codec))


def local_candidate(info: EngineInfo, configured: Settings) -> Candidate:
    """Return a local engine as a target."""
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
    target = with_overrides(target, configured, fixed=("language", "version"))
    options = {name: target.settings[name] for name in info.settings}

    def connect(limits: Limits) -> Transport:
        size = min(limits.provider_concurrency, limits.concurrency)
        return WyomingTransport(EngineEndpoint(info.name, size, options), codec)

    return Candidate(target, connect, info.why_missing())


def _require_distinct(keys: Iterable[str]) -> None:
    seen: set[str] = set()
    for key in keys:
        if key in seen:
            raise UsageError(f"Two targets are called {key}: give their servers different names in sayagain.toml.")
        seen.add(key)
