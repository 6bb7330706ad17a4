"""What can be asked for over the network, as data: one TOML file a provider, ours and those of other packages.

A file names the provider, where it is, which variables hold its keys, and its targets:

    provider = "acme"                       # lower case: the first part of a target's name
    title = "Acme Speech"
    base_url = "https://api.acme.example"   # also for websockets; the local configuration may override it
    keys = ["ACME_API_KEY"]                 # names of variables; a codec's `access.key` is the first

    [[target]]
    benchmark = "stt"
    model = "fast-2"                        # the second part of the name; `voice` is the third, for tts
    codec = "sayagain_acme.codec:AcmeStt"   # module:Class, imported when the target is asked for
    price = { amount = 0.005, currency = "USD", unit = "minute", date = "2026-01-31", source = "its price list" }
    settings = { model = "fast-2", language = "en", sample_rate = 16000, chunk_ms = 20 }

Every setting that changes a result is written out, also where it is the provider's default: defaults change. A
target may have a `base_url` of its own. Ours are in `providers/entries`; another package brings its own by an
entry point of the group `sayagain.providers` whose value is the package that its TOML files are in.
"""

import tomllib
from collections.abc import Iterable, Iterator
from functools import cache
from importlib import import_module, resources
from importlib.metadata import entry_points
from typing import Any

import msgspec

from sayagain.config import is_secret
from sayagain.errors import UsageError
from sayagain.records import Benchmark, Setting, Target

GROUP = "sayagain.providers"
ENTRIES = "sayagain.providers.entries"


class Price(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a provider asked for a unit of use on a date, and where it said so."""

    amount: float
    currency: str
    unit: str
    date: str
    source: str

    def __str__(self) -> str:
        return f"{self.amount:g} {self.currency} a {self.unit} ({self.date}, {self.source})"


class CatalogTarget(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A target as the catalog has it."""

    benchmark: Benchmark
    model: str
    codec: str
    settings: dict[str, Setting]
    voice: str | None = None
    price: Price | None = None
    base_url: str | None = None


class CatalogProvider(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One file of the catalog."""

    provider: str
    title: str
    target: tuple[CatalogTarget, ...]
    base_url: str | None = None
    keys: tuple[str, ...] = ()


class Entry(msgspec.Struct, frozen=True):
    """One target of the catalog with what its provider's file says of all of them."""

    provider: CatalogProvider
    offer: CatalogTarget

    @property
    def base_url(self) -> str | None:
        """Where it is, unless the local configuration says otherwise; None when only that can say."""
        return self.offer.base_url or self.provider.base_url

    def target(self, adapter: str = "") -> Target:
        """Return the target; `adapter` is the codec's version, once the codec is loaded."""
        return Target(
            benchmark=self.offer.benchmark,
            provider=self.provider.provider,
            model=self.offer.model,
            voice=self.offer.voice,
            settings=self.offer.settings,
            adapter=adapter,
            secrets=self.provider.keys,
        )

    def load_codec(self) -> Any:
        """Import and return the codec's class; raise UsageError when it cannot be."""
        module, _, name = self.offer.codec.partition(":")
        try:
            return getattr(import_module(module), name)
        except (ImportError, AttributeError, ValueError) as error:
            raise UsageError(
                f"The codec {self.offer.codec} of {self.target().name} cannot be loaded: {error}. "
                "Repair the package it comes from."
            ) from error


@cache
def entries() -> tuple[Entry, ...]:
    """Return every target of the catalog, sorted by key.

    Raises:
        UsageError: A file is not what the catalog asks for, or two targets have one key; it names the file.
    """
    found: dict[str, Entry] = {}
    for name, content in _files():
        provider = parse(content, name)
        for offer in provider.target:
            entry = Entry(provider, offer)
            key = entry.target().key
            if key in found:
                raise UsageError(
                    f"{name}: {key} is in the catalog twice. Remove one, or the package that brings it."
                )
            found[key] = entry
    return tuple(found[key] for key in sorted(found))


def parse(content: str, name: str) -> CatalogProvider:
    """Read one file of the catalog; raise UsageError, naming the file and the place, when it is not one."""
    try:
        provider = msgspec.convert(tomllib.loads(content), CatalogProvider)
    except (tomllib.TOMLDecodeError, msgspec.ValidationError) as error:
        raise UsageError(f"{name}: {error}. docs/adding-a-provider.md describes the catalog.") from error
    for key in provider.keys:
        if not is_secret(key):
            raise UsageError(
                f"{name}: {key} must have KEY or TOKEN in its name, so that its value is kept secret."
            )
    return provider


def _files() -> Iterator[tuple[str, str]]:
    yield from _in_package(ENTRIES, "")
    for point in sorted(entry_points(group=GROUP), key=lambda point: point.name):
        try:
            yield from list(_in_package(point.value, f"{point.value}: "))
        except ImportError as error:
            raise UsageError(
                f"The provider package {point.value} cannot be loaded: {error}. Remove or repair it."
            ) from error


def _in_package(package: str, prefix: str) -> Iterable[tuple[str, str]]:
    for file in sorted(resources.files(package).iterdir(), key=lambda file: file.name):
        if file.name.endswith(".toml"):
            yield prefix + file.name, file.read_text("utf-8")
