"""A scenario: what each endpoint of the stand-in does, read from a TOML or JSON file.

Every field is typed and documented here; docs/simulator.md shows whole files. A mistake is named with its path.
"""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, TypeVar

import msgspec

from sayagain.errors import UsageError
from sayagain.simulator import faults
from sayagain.simulator.delays import Constant, Delay, Lognormal, Uniform
from sayagain.simulator.faults import AnyFault, Fault, Shape
from sayagain.simulator.protocols import PROTOCOLS
from sayagain.simulator.protocols.base import Dialect
from sayagain.simulator.texts import Library

__all__ = ["Constant", "Endpoint", "Lognormal", "Scenario", "Stt", "Tts", "Uniform", "load"]

Positive = Annotated[int, msgspec.Meta(ge=1)]


class Stt(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How an endpoint that transcribes behaves when no fault strikes. All delays in milliseconds.

    `first_partial` counts from the first audio, `partial_interval` from partial to partial, both as absolute
    deadlines; `finalization` from the message that ends the audio (batch: from the last byte of the request).
    Each partial says `partial_words` more. A segment becomes final after `segment_words` words (unsaid: one
    segment, final at the end). The text is the next line of `script`, else what the manifest says of the audio,
    else `fallback`.
    """

    first_partial: Delay = 300.0
    partial_interval: Delay = 200.0
    finalization: Delay = 150.0
    partial_words: Positive = 1
    segment_words: Positive | None = None
    word_error_rate: Annotated[float, msgspec.Meta(ge=0, le=1)] = 0.0
    script: tuple[str, ...] = ()
    fallback: str = "this is a stand in speaking"


class Tts(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How an endpoint that speaks behaves when no fault strikes. All delays in milliseconds.

    `first_audio` counts from the arrival of the message that completes the text, `chunk_interval` from chunk to
    chunk, as absolute deadlines. The audio is a tone of `ms_per_character` for each character, after
    `leading_silence_ms` of digital silence, in chunks of `chunk_ms`.
    """

    first_audio: Delay = 200.0
    chunk_interval: Delay = 20.0
    chunk_ms: Annotated[float, msgspec.Meta(ge=1, le=60_000)] = 100.0
    ms_per_character: Annotated[float, msgspec.Meta(gt=0, le=1000)] = 60.0
    leading_silence_ms: Annotated[float, msgspec.Meta(ge=0, le=60_000)] = 0.0


@dataclass(frozen=True)
class Endpoint:
    """One place a client can call: a protocol under a name, its behaviour and its faults."""

    name: str
    protocol: str
    dialect: type[Dialect]
    behaviour: Stt | Tts
    faults: tuple[Fault, ...] = ()

    @property
    def own_port(self) -> Fault | None:
        """The fault that needs a port of the endpoint's own, if it has one."""
        return next((fault for fault in self.faults if fault.whole_endpoint), None)


@dataclass(frozen=True)
class Scenario:
    """What the stand-in does. There is an endpoint of each protocol under its name, unless it was replaced."""

    seed: int = 0
    require_key: bool = True
    endpoints: Mapping[str, Endpoint] = field(default_factory=dict)
    library: Library = field(default_factory=Library)


class _File(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    seed: int = 0
    require_key: bool = True
    manifest: str | None = None
    rates: tuple[Annotated[int, msgspec.Meta(ge=8000, le=192_000)], ...] = (16_000, 24_000)
    stt: dict[str, Any] = {}
    tts: dict[str, Any] = {}
    endpoints: dict[str, dict[str, Any]] = {}


def load(path: Path | None) -> Scenario:
    """Read a scenario file (.json, else TOML); None gives every protocol its default behaviour.

    A manifest named in the file is relative to the file's folder.

    Raises:
        UsageError: The file cannot be read or is wrong; the message names the field by its path.
    """
    if path is None:
        return scenario({})
    try:
        content = path.read_bytes()
        values = msgspec.json.decode(content) if path.suffix == ".json" else tomllib.loads(content.decode("utf-8"))
    except OSError as error:
        raise UsageError(f"The scenario {path} cannot be read: {error.strerror}.") from error
    except (UnicodeDecodeError, tomllib.TOMLDecodeError, msgspec.DecodeError) as error:
        raise UsageError(f"The scenario {path} is not {path.suffix[1:] or 'TOML'}: {error}.") from error
    try:
        return scenario(values, path.parent)
    except UsageError as error:
        raise UsageError(f"The scenario {path} is wrong: {error}") from error


def scenario(values: Any, folder: Path = Path()) -> Scenario:
    """Build a scenario from decoded values; see `load`."""
    file = _converted(values, _File, "$")
    defaults: dict[type, Stt | Tts] = {
        Stt: _converted(file.stt, Stt, "$.stt"),
        Tts: _converted(file.tts, Tts, "$.tts"),
    }
    asked: dict[str, dict[str, Any]] = {name: {} for name in PROTOCOLS} | file.endpoints
    endpoints = {name: _endpoint(name, dict(table), defaults) for name, table in asked.items()}
    library = Library() if file.manifest is None else Library.load(_manifest(folder, file.manifest), file.rates)
    return Scenario(file.seed, file.require_key, endpoints, library)


def _manifest(folder: Path, named: str) -> Path:
    path = folder / named
    return path / "manifest.json" if path.is_dir() else path


def _endpoint(name: str, table: dict[str, Any], defaults: Mapping[type, Stt | Tts]) -> Endpoint:
    where = f"$.endpoints.{name}"
    if not name.replace("-", "").replace("_", "").isalnum() or not name.isascii():
        raise UsageError(f"an endpoint's name has letters, digits, '-' and '_' only - at `{where}`.")
    protocol = table.pop("protocol", name)
    if protocol not in PROTOCOLS:
        raise UsageError(f"{protocol!r} is no protocol; there are {', '.join(PROTOCOLS)} - at `{where}.protocol`.")
    dialect = PROTOCOLS[protocol]
    struck = _converted(table.pop("faults", []), tuple[AnyFault, ...], f"{where}.faults")
    for index, fault in enumerate(struck):
        _require_possible(fault, protocol, dialect, f"{where}.faults[{index}]")
    kind: type[Stt | Tts] = Stt if dialect.shape in faults.STT else Tts
    behaviour = _converted(msgspec.to_builtins(defaults[kind]) | table, kind, where)
    return Endpoint(name, protocol, dialect, behaviour, struck)


def _require_possible(fault: Fault, protocol: str, dialect: type[Dialect], where: str) -> None:
    """Refuse a fault that cannot happen in a protocol: a rehearsal of it would prove nothing."""
    name = faults.name(fault)
    if dialect.shape not in fault.shapes:
        raise UsageError(f"{name} does not exist in {protocol} - at `{where}`.")
    if name in dialect.impossible:
        raise UsageError(f"{name} does not exist in {protocol}: {dialect.impossible[name]} - at `{where}`.")
    if isinstance(fault, faults.HalfOpen | faults.Close | faults.ReportedError | faults.Reset) and (
        dialect.shape in (Shape.STT_BATCH, Shape.TTS_BATCH) and fault.at is not faults.Moment.OPENING
    ):
        raise UsageError(f"{protocol} has no {fault.at} - at `{where}.at`.")


Wanted = TypeVar("Wanted")


def _converted(values: Any, kind: type[Wanted], where: str) -> Wanted:
    try:
        return msgspec.convert(values, kind)
    except msgspec.ValidationError as error:
        what, _, inner = str(error).partition(" - at `$")
        raise UsageError(f"{what} - at `{where}{inner.rstrip('`')}`.") from error
