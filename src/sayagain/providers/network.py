"""The base of codecs that need a URL and a key: a provider is one small file of subclasses of these.

- `WebsocketStt`: implement `open`, `end`, `message`; `opening`, when frames come before the audio; `audio`, when
  it is anything but one binary message.
- `WebsocketTts`: implement `open`, `text`, `message`.
- `UploadStt` (one multipart POST, one JSON answer; its targets have the setting `mode = "batch"`): implement
  `request`, `answer`.
- `StreamedTts` (one POST whose body is audio as it is made): implement `request`.

A codec still does no I/O. `self.access` has the base URL and key (`access.websocket_url(path, query)`,
`access.key`), `self.settings` what the target says, `self.query("language", ...)` some of it as query parameters,
`self.model` the model asked for. `message` gets each text frame as a decoded JSON object and yields signals (see
`sayagain.providers.codec`); a frame that is not one, or from which KeyError, TypeError or ValueError escapes,
fails the case as `protocol`.

The base does what every provider needs:

- A request before the websocket, whose JSON answer says where it is: `prepare` returns it, `prepared` takes the
  answer.
- Waiting for the provider before audio is sent: `awaits_ready = True`, and `message` yields `Ready()`.
- Silence after the audio until the provider is done: `silence_after_end = True`. Keepalives: `keepalive_s` and
  `keepalive`.
- Audio at the rate of the setting `sample_rate`, both ways (16 kHz to STT and 24 kHz from TTS, unless set).
- Synthesized audio: yield from `self.pcm(bytes)` or `self.base64_pcm(text)`, and from `self.finished()` at its
  end. WAV headers are removed, samples kept whole, the format is announced.
- Errors: `self.refused(code, message)` finds the kind in `error_rules` and the shared tables; an HTTP status that
  refuses goes through `status_rules`, a close code through `close_rules`. `closed` decides what a close means; a
  normal one before `Done` is a lost connection unless it is overridden.
- A model of another name: `yield from self.model_named(name)`.

`docs/adding-a-provider.md` walks through one.
"""

import base64
import binascii
import io
import json
import re
import wave
from abc import abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, ClassVar, Protocol

import msgspec

from sayagain.providers.access import (
    Access,
    Closed,
    EndOfBody,
    Head,
    HttpError,
    HttpFrame,
    HttpRequest,
    WebsocketFrame,
    WebsocketRequest,
)
from sayagain.providers.codec import AudioBegins, AudioChunk, Done, Refused, Signal, SttCodec, TtsCodec
from sayagain.providers.refusals import (
    CLOSES,
    ERRORS,
    Rule,
    described,
    described_value,
    plain_code,
    status_rule,
    worded,
)
from sayagain.providers.wav_stream import WavStream
from sayagain.records import AudioFormat, FailureKind, Item, Setting, Target

_SNAPSHOT = re.compile(r"-(?:\d{4}-\d\d-\d\d|\d{8})$")
"""A dated version of a model: the name with its date appended."""


class NetworkCodec:
    """What all four kinds share: access, settings, and the meaning of refusals."""

    target: Target
    access: Access

    error_rules: ClassVar[Mapping[str, Rule]] = {}
    """The provider's own error codes; they win over the shared ones, and over a status or close code."""
    status_rules: ClassVar[Mapping[int, Rule]] = {}
    """What the provider's documentation says of an HTTP status, where it differs from the standard."""
    close_rules: ClassVar[Mapping[int, Rule]] = {}
    """What the provider's documentation says of a close code, where it differs from the standard."""

    @property
    def settings(self) -> Mapping[str, Setting]:
        """The target's effective settings."""
        return self.target.settings

    @property
    def model(self) -> str:
        """The model to ask for: the setting `model`, or the target's name for it."""
        return str(self.settings.get("model") or self.target.model)

    def query(self, *names: str) -> dict[str, Setting]:
        """Return the settings of these names that are set, in this order."""
        return {name: value for name in names if (value := self.settings.get(name)) is not None}

    def listed(self, name: str) -> list[str]:
        """Return the parts of a setting that may name several things, with commas between them."""
        return [part for part in map(str.strip, str(self.settings.get(name) or "").split(",")) if part]

    def refused(
        self,
        code: object,
        message: str,
        *,
        status: int | None = None,
        otherwise: FailureKind = FailureKind.SERVER_ERROR,
        retry_after_s: float | None = None,
    ) -> Refused:
        """Return the signal for an error the provider reports by its own code, by an HTTP status, or by both.

        The kind is that of the code when a table has it, else that of the status, else what the code's words say,
        else `otherwise`. A code that is the number of an HTTP error counts as a status.
        """
        name = self._harmless(plain_code(code)) or ""
        if status is None and name.isdecimal() and 400 <= int(name) < 600:
            name, status = "", int(name)
        rule = self.error_rules.get(name) or ERRORS.get(name)
        if rule is None:
            if status is None:
                rule = worded(name) or Rule(otherwise)
            else:
                rule = self.status_rules.get(status) or status_rule(status)
        label = "/".join(dict.fromkeys(part for part in ("" if status is None else str(status), name) if part))
        return Refused(rule.kind, message, label or None, rule.retryable, retry_after_s)

    def http_refusal(self, answer: HttpError) -> Refused:
        """Return the signal for an HTTP answer, to a request or to a websocket's upgrade, that refuses."""
        code, message = described(answer.body)
        return self.refused(
            code,
            message or f"HTTP status {answer.status}",
            status=answer.status,
            retry_after_s=answer.retry_after_s,
        )

    def reported(self, answer: object) -> Refused:
        """Return the signal for an error object in any of the shapes in use, where the provider has no own."""
        code, message = described_value(answer)
        return self.refused(code, message)

    def model_named(self, name: object) -> Iterator[Refused]:
        """Yield a refusal when the provider names another model than the one asked for.

        The same name with the date of its version appended is the same model; a missing name says nothing.
        """
        if (
            isinstance(name, str)
            and name
            and _SNAPSHOT.sub("", name.casefold()) != _SNAPSHOT.sub("", self.model.casefold())
        ):
            yield Refused(FailureKind.MODEL_MISMATCH, f"{self.model} was asked for, {name[:80]} answered")

    def _harmless(self, code: str | None) -> str | None:
        """Drop a code that repeats a secret: codes are kept as they are, unlike messages."""
        quotes = code is not None and any(secret and secret in code for secret in self.access.secrets.values())
        return None if quotes else code


class WebsocketCodec(NetworkCodec):
    """What both directions over a websocket share."""

    def prepare(self) -> HttpRequest | None:
        """Return the request to make before the websocket is opened, if there is one."""
        return None

    def prepared(self, answer: Any) -> None:
        """Take the JSON answer to that request."""

    @abstractmethod
    def open(self) -> WebsocketRequest:
        """Return the websocket to open."""

    @abstractmethod
    def message(self, message: dict[str, Any]) -> Iterable[Signal]:
        """Yield what a JSON message means."""

    def binary(self, data: bytes) -> Iterable[Signal]:
        """Yield what a binary message means: the same as its text, unless overridden."""
        return self.message(json_object(data))

    def closed(self, close: Closed) -> Iterable[Signal]:
        """Yield what a close before `Done` means: nothing when it is a normal one, an error by its code."""
        rule = self.close_rules.get(close.code) or CLOSES.get(close.code)
        if rule is None:
            return ()
        code, message = described(close.reason)
        code = self._harmless(code or _leading_code(close.reason))
        known = self.error_rules.get(code or "") or ERRORS.get(code or "") or rule
        label = f"{close.code}/{code}" if code else str(close.code)
        said = message or close.reason or f"the provider closed the connection with code {close.code}"
        return (Refused(known.kind, said, label, known.retryable),)

    def receive(self, frame: WebsocketFrame) -> Iterable[Signal]:
        """Decode a frame and yield what it means."""
        if isinstance(frame, str):
            return self.message(json_object(frame))
        return self.closed(frame) if isinstance(frame, Closed) else self.binary(frame)


class WebsocketStt(WebsocketCodec, SttCodec[WebsocketFrame]):
    """Speech to text over a websocket."""

    def __init__(self, target: Target, item: Item, access: Access) -> None:
        super().__init__(target, item)
        self.access = access
        self.audio_format = audio_format_for(type(self), target)

    def opening(self) -> Iterable[WebsocketFrame]:
        """Yield nothing: most providers are told everything by the URL."""
        return ()

    def audio(self, pcm: bytes) -> Iterable[WebsocketFrame]:
        """Yield the audio as one binary message."""
        return (pcm,)


class _Synthesized(NetworkCodec):
    """What both kinds of synthesis share: pieces of audio in, announced and whole samples out."""

    audio_format = AudioFormat(rate=24_000)

    def __init__(self, target: Target, item: Item, access: Access) -> None:
        self.target = target
        self.item = item
        self.access = access
        self.audio_format = audio_format_for(type(self), target)
        self._stream = WavStream(self.audio_format.frame_bytes)

    def pcm(self, data: bytes) -> Iterator[Signal]:
        """Yield a piece of audio, of any size, with or without a WAV header."""
        yield from self._audio(self._stream.feed(data))

    def base64_pcm(self, text: str) -> Iterator[Signal]:
        """Yield a piece of audio that came as base64."""
        yield from self.pcm(decode_base64(text))

    def finished(self) -> Iterator[Signal]:
        """Yield what is left of the audio, and that the answer is complete."""
        yield from self._audio(self._stream.finish())
        yield Done()

    def _audio(self, pcm: bytes) -> Iterator[Signal]:
        if pcm:
            yield AudioBegins(self._stream.format or self.audio_format)
            yield AudioChunk(pcm)


class WebsocketTts(_Synthesized, WebsocketCodec, TtsCodec[WebsocketFrame]):
    """Text to speech over a websocket; binary messages are audio unless `binary` is overridden."""

    def binary(self, data: bytes) -> Iterable[Signal]:
        """Yield the audio of a binary message."""
        return self.pcm(data)


class UploadStt(NetworkCodec, SttCodec[HttpFrame]):
    """Speech to text by one POST of the whole recording, answered by one JSON object."""

    def __init__(self, target: Target, item: Item, access: Access) -> None:
        super().__init__(target, item)
        self.access = access
        self.audio_format = audio_format_for(type(self), target)
        self._body = bytearray()

    @abstractmethod
    def request(self, pcm: bytes) -> HttpRequest:
        """Return the request for a whole recording; `wav(pcm, self.audio_format)` makes a file of it."""

    @abstractmethod
    def answer(self, answer: dict[str, Any]) -> Iterable[Signal]:
        """Yield what the answer means; `Done` follows by itself."""

    def opening(self) -> Iterable[HttpFrame]:
        """Yield nothing: one request carries everything."""
        return ()

    def audio(self, pcm: bytes) -> Iterable[HttpFrame]:
        """Yield the request; the whole recording comes at once."""
        return (self.request(pcm),)

    def end(self) -> Iterable[HttpFrame]:
        """Yield nothing: the end of the request is the end of the audio."""
        return ()

    def receive(self, frame: HttpFrame) -> Iterator[Signal]:
        """Collect the body and read it when it is complete."""
        if isinstance(frame, bytes):
            self._body += frame
        elif isinstance(frame, EndOfBody):
            yield from self.answer(json_object(bytes(self._body)))
            yield Done()


class StreamedTts(_Synthesized, TtsCodec[HttpFrame]):
    """Text to speech by one POST, answered by a body of audio."""

    @abstractmethod
    def request(self, text: str) -> HttpRequest:
        """Return the request for a whole text."""

    def head(self, head: Head) -> Iterable[Signal]:
        """Yield what the head of the answer means; an answer of JSON or text instead of audio is refused."""
        kind = head.headers.get("content-type", "").split(";")[0].strip().lower()
        if kind in ("application/json", "text/html", "text/plain"):
            raise ValueError("text came where audio was asked for")
        return ()

    def text(self, text: str) -> Iterable[HttpFrame]:
        """Yield the request."""
        return (self.request(text),)

    def receive(self, frame: HttpFrame) -> Iterable[Signal]:
        """Yield the audio as it comes; the end of the body ends the answer."""
        match frame:
            case Head():
                return self.head(frame)
            case bytes():
                return self.pcm(frame)
            case EndOfBody():
                return self.finished()
        return ()


class _Formatted(Protocol):
    """A codec that says which PCM it wants or gives, unless its target says otherwise."""

    audio_format: AudioFormat


def audio_format_for(codec: type[_Formatted], target: Target) -> AudioFormat:
    """Return the PCM a codec wants or gives for a target: its own, at the rate of the setting `sample_rate`."""
    rate = target.settings.get("sample_rate")
    return codec.audio_format if rate is None else AudioFormat(rate=int(rate))


def json_object(data: str | bytes) -> dict[str, Any]:
    """Decode a JSON object; raise ValueError when it is not one.

    Strict: what is no Unicode text or no finite number could be stored nowhere.
    """
    try:
        value = msgspec.json.decode(data)
    except (msgspec.DecodeError, UnicodeError):
        raise ValueError("not JSON") from None
    except RecursionError:
        raise ValueError("JSON nested too deeply") from None
    if not isinstance(value, dict):
        raise ValueError("not a JSON object")  # noqa: TRY004 - a frame's content is a value, whatever its type
    return value


def text_at(message: Mapping[str, Any], name: str) -> str:
    """Return the text under a name; raise KeyError when there is nothing, TypeError when it is no text."""
    value = message[name]
    if not isinstance(value, str):
        raise TypeError(f"{name} is not a text")
    return value


def mapping_at(message: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    """Return the object under a name; raise KeyError when there is nothing, TypeError when it is no object."""
    value = message[name]
    if not isinstance(value, dict):
        raise TypeError(f"{name} is not an object")
    return value


def within(message: object, *path: str) -> object:
    """Return what is at a path of names inside a message, or None where the path leads nowhere."""
    for name in path:
        message = message.get(name) if isinstance(message, dict) else None
    return message


def said(message: Mapping[str, Any], *names: str) -> str:
    """Return the first text under one of these names, or nothing: what an error says of itself is optional."""
    return next((value for name in names if isinstance(value := message.get(name), str) and value), "")


def compact(**message: Any) -> str:
    """Encode a JSON message; what is None is left out."""
    return json.dumps({name: value for name, value in message.items() if value is not None}, separators=(",", ":"))


def encode_base64(pcm: bytes) -> str:
    """Return audio as base64 text."""
    return base64.b64encode(pcm).decode("ascii")


def decode_base64(text: str) -> bytes:
    """Return what base64 text holds; raise ValueError when it is none."""
    try:
        return base64.b64decode(text, validate=True)
    except binascii.Error:
        raise ValueError("not base64") from None


def wav(pcm: bytes, audio_format: AudioFormat) -> bytes:
    """Return a WAV file of PCM."""
    content = io.BytesIO()
    with wave.open(content, "wb") as file:
        file.setnchannels(audio_format.channels)
        file.setsampwidth(audio_format.width)
        file.setframerate(audio_format.rate)
        file.writeframes(pcm)
    return content.getvalue()


def _leading_code(reason: str) -> str | None:
    """Return a code such as NET-0001 at the beginning of a close reason."""
    match = re.match(r"[A-Z][A-Z_]*[-_]\d{2,6}\b", reason)
    return match.group() if match else None
