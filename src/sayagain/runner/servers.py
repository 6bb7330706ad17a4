"""Asking a Wyoming server what it offers, so that it can be benchmarked like any other provider."""

import asyncio
import re
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import TypeVar

from wyoming.info import AsrModel, AsrProgram, Describe, Info, TtsProgram, TtsVoice

from sayagain.config import Settings
from sayagain.errors import UsageError
from sayagain.failures import CaseFailedError
from sayagain.providers.wyoming import WyomingSttCodec, WyomingTtsCodec
from sayagain.records import Benchmark, Target
from sayagain.transports.sending import DEFAULT_CHUNK_MS
from sayagain.transports.wyoming import FixedEndpoint, WyomingChannel

Offer = TypeVar("Offer", AsrModel, TtsVoice)

EVERY = "*"
"""Asks for all that a server lists instead of one model or voice."""

_NAME = re.compile(r"[^A-Za-z0-9._+-]+")
_ADDRESS = re.compile(r"(?P<host>\[[^\]]+\]|[^:/]+):(?P<port>\d{1,5})")


async def server_targets(reference: str, settings: Settings) -> list[tuple[Target, FixedEndpoint]]:
    """Return the targets a server offers: `wyoming/HOST:PORT` or a configured `wyoming/NAME`, then `/MODEL`.

    One target for each benchmark the server serves, of its first installed model or voice unless one is named.

    Raises:
        UsageError: The reference is no address and no configured name, the server does not answer, or it does
            not have what was named.
    """
    _, where, *rest = reference.split("/", 2)
    wanted = rest[0] if rest else None
    targets = await _targets(where, settings, wanted)
    if not targets:
        missing = f"no model or voice called {wanted!r}" if wanted else "neither speech to text nor text to speech"
        raise UsageError(f"The Wyoming server {where} offers {missing}.")
    return targets


async def every_target(where: str, settings: Settings) -> list[tuple[Target, FixedEndpoint]]:
    """Return a target for every model and voice a server lists; raise as `server_targets` does for `where`."""
    return await _targets(where, settings, EVERY)


def may_serve(name: str, key: str) -> bool:
    """Tell whether the key of a target can be that of a server configured under this name."""
    return key.partition(":")[2].startswith((f"wyoming/{_safe(name)}:", f"wyoming/{_safe(name)}/"))


async def _targets(where: str, settings: Settings, wanted: str | None) -> list[tuple[Target, FixedEndpoint]]:
    endpoint = _endpoint(where, settings)
    info = await _describe(endpoint, where, settings.connect_timeout)
    label = where if where in settings.wyoming else None
    targets = [*_stt_targets(info.asr, label, wanted), *_tts_targets(info.tts, label, wanted)]
    return [(target, endpoint) for target in targets]


def _endpoint(where: str, settings: Settings) -> FixedEndpoint:
    address = settings.wyoming.get(where, where).removeprefix("tcp://")
    match = _ADDRESS.fullmatch(address)
    if match is None or not 0 < int(match["port"]) < 65536:
        if where in settings.wyoming:
            raise UsageError(f"{where} is {address!r} in the [wyoming] table of sayagain.toml; write HOST:PORT.")
        known = f" Configured names: {', '.join(sorted(settings.wyoming))}." if settings.wyoming else ""
        raise UsageError(
            f"{where!r} is neither HOST:PORT nor a name in the [wyoming] table of sayagain.toml.{known}"
        )
    return FixedEndpoint(match["host"].strip("[]"), int(match["port"]))


async def _describe(endpoint: FixedEndpoint, where: str, timeout_s: float) -> Info:
    try:
        async with asyncio.timeout(timeout_s):
            channel = await WyomingChannel.connect(endpoint.host, endpoint.port)
            try:
                await channel.send(Describe().event())
                while arrival := await channel.receive():
                    if Info.is_type(arrival[1].type):
                        return Info.from_event(arrival[1])
            finally:
                await channel.close()
    except TimeoutError:
        raise UsageError(f"The Wyoming server {where} did not describe itself within {timeout_s:g} s.") from None
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise UsageError(f"The Wyoming server {where} cannot be reached: {reason}. Is it running?") from None
    except (CaseFailedError, EOFError, KeyError, TypeError, ValueError, AttributeError):
        raise UsageError(f"What answers at {where} does not speak Wyoming.") from None
    raise UsageError(f"The Wyoming server {where} closed the connection without describing itself.")


def _stt_targets(programs: Iterable[AsrProgram], label: str | None, wanted: str | None) -> Iterator[Target]:
    offers = [(program, model) for program in programs for model in _chosen(program.models, wanted)]
    for program, model in offers:
        yield Target(
            benchmark=Benchmark.STT,
            provider="wyoming",
            model=f"{_safe(label or program.name)}:{_safe(model.name)}",
            settings={
                "model": model.name,
                "version": model.version or program.version,
                "language": _language(model.languages),
                "chunk_ms": DEFAULT_CHUNK_MS,
            },
            adapter=WyomingSttCodec.version,
        )


def _tts_targets(programs: Iterable[TtsProgram], label: str | None, wanted: str | None) -> Iterator[Target]:
    offers = [(program, voice) for program in programs for voice in _chosen(program.voices, wanted)]
    for program, voice in offers:
        yield Target(
            benchmark=Benchmark.TTS,
            provider="wyoming",
            model=_safe(label or program.name),
            voice=_safe(voice.name),
            settings={
                "voice": voice.name,
                "version": voice.version or program.version,
                "language": _language(voice.languages),
            },
            adapter=WyomingTtsCodec.version,
        )


def _chosen(offers: Iterable[Offer], wanted: str | None) -> list[Offer]:
    """Return the offer that is named, or the first installed one, or every one."""
    if wanted == EVERY:
        return list(offers)
    fitting = (offer for offer in offers if (offer.name == wanted if wanted else offer.installed))
    return list(islice(fitting, 1))


def _language(languages: Iterable[str]) -> str | None:
    """Return the English among a model's languages, since the built-in data are English, or else its first."""
    known = list(languages)
    return next((language for language in known if language.lower().startswith("en")), known[0] if known else None)


def _safe(name: str) -> str:
    """Return a stranger's name reduced to what can stand in a target's key."""
    return _NAME.sub("-", name)[:60].strip("-") or "unnamed"
