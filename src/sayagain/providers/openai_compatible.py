"""Servers with OpenAI's speech endpoints: batch speech to text and streamed text to speech.

Source: OpenAI's API reference of `POST /v1/audio/transcriptions` and `POST /v1/audio/speech`. Groq, Together and
most self-hosted servers offer the same; a base URL may therefore have a path (`https://…/openai`), and a key is
sent only where there is one. Settings are the endpoints' parameters by their own names.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from sayagain.providers.access import HttpRequest, Upload
from sayagain.providers.codec import Final, Signal
from sayagain.providers.network import NetworkCodec, StreamedTts, UploadStt, wav


class _OpenAICompatible(NetworkCodec):
    """What both directions share: authentication."""

    def _headers(self) -> Mapping[str, str]:
        return {"Authorization": f"Bearer {self.access.key}"} if self.access.key else {}


class OpenAICompatibleStt(_OpenAICompatible, UploadStt):
    """Batch speech to text: one multipart upload of a WAV file, one JSON answer with `text`."""

    version = "openai-compatible-stt/1"

    def request(self, pcm: bytes) -> HttpRequest:
        """Upload the recording with the model and the settings as form fields."""
        fields = self.query("language", "temperature", "response_format")
        file = Upload("audio.wav", wav(pcm, self.audio_format))
        return HttpRequest(
            self.access.url("/v1/audio/transcriptions"),
            headers=self._headers(),
            form={"model": self.model, **fields, "file": file},
        )

    def answer(self, answer: dict[str, Any]) -> Iterator[Signal]:
        """Read the transcript; a server that reports an error with a status of success still refuses."""
        if "error" in answer and "text" not in answer:
            yield self.reported(answer)
            return
        yield from self.model_named(answer.get("model"))
        text = answer["text"]
        if not isinstance(text, str):
            raise TypeError("the transcript is not a text")
        yield Final(text)


class OpenAICompatibleTts(_OpenAICompatible, StreamedTts):
    """Text to speech: one POST, raw 16-bit PCM in the body as it is made."""

    version = "openai-compatible-tts/1"

    def request(self, text: str) -> HttpRequest:
        """Ask for the text with the model, the voice and the settings as JSON."""
        fields = self.query("voice", "response_format", "speed", "instructions")
        return HttpRequest(
            self.access.url("/v1/audio/speech"),
            headers=self._headers(),
            json={"model": self.model, **fields, "input": text},
        )
