"""OpenAI-compatible speech over HTTP, as chunks. Source: openai 3.57.0 (`audio.speech`)."""

from collections.abc import Mapping
from typing import Any, ClassVar

from sayagain.simulator.faults import Shape
from sayagain.simulator.protocols.base import Dialect
from sayagain.simulator.protocols.stt_openai_batch import openai_refusal


class OpenAiSpeech(Dialect):
    """24 kHz mono 16-bit PCM, bare or after a WAV header whose sizes are unknown."""

    shape = Shape.TTS_BATCH
    path = "/v1/audio/speech"
    rate = 24_000
    impossible: ClassVar[Mapping[str, str]] = {"wrong_model": "it names no model"}

    @classmethod
    def refusal(cls, status: int, message: str) -> tuple[Mapping[str, str], Any]:
        """Return the error under `error`."""
        return openai_refusal(status, message)
