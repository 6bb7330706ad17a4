"""OpenAI-compatible batch transcription over HTTP. Source: openai 3.57.0 (`types.audio.transcription*`)."""

from collections.abc import Mapping
from typing import Any, ClassVar

from sayagain.simulator.faults import Shape
from sayagain.simulator.protocols.base import Dialect

CODES = {
    401: ("invalid_request_error", "invalid_api_key"),
    402: ("insufficient_quota", "insufficient_quota"),
    403: ("invalid_request_error", "permission_denied"),
    404: ("invalid_request_error", "model_not_found"),
    429: ("requests", "rate_limit_exceeded"),
}


def openai_refusal(status: int, message: str) -> tuple[Mapping[str, str], Any]:
    """Return an HTTP error as OpenAI's API sends it."""
    kind, code = CODES.get(status, ("server_error" if status >= 500 else "invalid_request_error", None))
    return {}, {"error": {"message": message, "type": kind, "param": None, "code": code}}


class OpenAiBatch(Dialect):
    """One request, one answer: JSON, verbose JSON or plain text."""

    shape = Shape.STT_BATCH
    path = "/v1/audio/transcriptions"
    impossible: ClassVar[Mapping[str, str]] = {"wrong_model": "it names no model"}

    @classmethod
    def refusal(cls, status: int, message: str) -> tuple[Mapping[str, str], Any]:
        """Return the error under `error`."""
        return openai_refusal(status, message)

    def answer(self, text: str, seconds: float, form: str) -> tuple[str, Any]:
        """Return the content type and the body of a transcription in the form that was asked for."""
        usage = {"type": "duration", "seconds": seconds}
        match form:
            case "text":
                return "text/plain", f"{text}\n"
            case "verbose_json":
                segment = {"id": 0, "start": 0.0, "end": seconds, "text": text}
                verbose = {"task": "transcribe", "language": "english", "duration": seconds, "text": text}
                return "application/json", verbose | {"segments": [segment], "usage": usage}
            case _:
                return "application/json", {"text": text, "usage": usage}
