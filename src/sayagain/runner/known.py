"""Everything that can be named with --models: local engines, and the targets of the catalog, ready here or not."""

from collections.abc import Mapping
from dataclasses import dataclass

from sayagain.config import Settings, local_secrets
from sayagain.engines.registry import ENGINES
from sayagain.errors import UsageError
from sayagain.providers.catalog import Entry, Price, entries
from sayagain.records import Target
from sayagain.runner.cloud import cloud_candidate, endpoint, why_missing
from sayagain.runner.naming import matches, nearest
from sayagain.runner.targets import local_candidate


@dataclass(frozen=True)
class Known:
    """A target that can be named. `missing` says what it lacks here, or is None; an engine has no entry."""

    target: Target
    missing: str | None
    title: str
    price: Price | None = None
    entry: Entry | None = None


def known_targets(settings: Settings) -> tuple[Known, ...]:
    """Return every target that can be named: engines first, then the catalog by key. No codec is loaded."""
    secrets = local_secrets()
    engines = [
        Known(candidate.target, candidate.missing, f"{info.description} ({info.licence})")
        for info, candidate in ((info, local_candidate(info, settings)) for info in ENGINES)
    ]
    return (*engines, *(_of_the_catalog(entry, settings, secrets) for entry in entries()))


def named(name: str, settings: Settings) -> tuple[Known, ...]:
    """Return the targets a name means, those of the catalog with the version of their codec.

    Raises:
        UsageError: It means none (the nearest names are given), or a codec cannot be loaded.
    """
    everything = known_targets(settings)
    found = [known for known in everything if matches(name, known.target)]
    if not found:
        near = nearest(name, [known.target for known in everything])
        raise UsageError(f"No model matches {name!r}. Nearest: {', '.join(near)}.")
    return tuple(_with_adapter(known, settings) for known in found)


def _of_the_catalog(entry: Entry, settings: Settings, secrets: Mapping[str, str]) -> Known:
    missing = why_missing(entry, endpoint(entry, settings), secrets)
    return Known(entry.target(), missing, entry.provider.title, entry.offer.price, entry)


def _with_adapter(known: Known, settings: Settings) -> Known:
    if known.entry is None:
        return known
    target = cloud_candidate(known.entry, settings).target
    return Known(target, known.missing, known.title, known.price, known.entry)
