"""What an engine's server says of itself, as Wyoming's `info`, and which requests it is meant by."""

from wyoming.info import AsrModel, AsrProgram, Attribution, Info, TtsProgram, TtsVoice

from sayagain.engines.registry import EngineInfo
from sayagain.records import Benchmark


def wyoming_info(info: EngineInfo, version: str) -> Info:
    """Return the answer to `describe`: one program with one model or voice."""
    attribution = Attribution(name=info.author, url=info.url)
    if info.benchmark is Benchmark.STT:
        model = AsrModel(
            name=info.model,
            attribution=attribution,
            installed=True,
            description=info.description,
            version=version,
            languages=[info.language],
        )
        recognizer = AsrProgram(
            name=info.name,
            attribution=attribution,
            installed=True,
            description=info.description,
            version=version,
            models=[model],
            supports_transcript_streaming=True,
        )
        return Info(asr=[recognizer])
    voice = TtsVoice(
        name=info.voice or info.model,
        attribution=attribution,
        installed=True,
        description=info.description,
        version=version,
        languages=[info.language],
    )
    synthesizer = TtsProgram(
        name=info.name,
        attribution=attribution,
        installed=True,
        description=info.description,
        version=version,
        voices=[voice],
    )
    return Info(tts=[synthesizer])


def why_not_served(info: EngineInfo, name: str | None, language: str | None) -> str | None:
    """Return why a request for a model or voice and a language cannot be served, or None when it can.

    An answer from another model than the one asked for would be measured under the wrong name. Of a language
    only the first part counts: `en` and `en-GB` are served by an American model.
    """
    if name is not None and name not in (info.model, info.voice):
        return f"{info.name} has only {info.voice or info.model}"
    if language is not None and _primary(language) != _primary(info.language):
        return f"{info.name} speaks only {info.language}"
    return None


def _primary(language: str) -> str:
    return language.replace("_", "-").split("-")[0].casefold()
