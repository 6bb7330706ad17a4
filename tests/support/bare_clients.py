"""What a bare websocket client says in each protocol, and what it sees: no SDK, no code of the runner."""

import base64
import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

import aiohttp

CHUNK = 3200
WAIT_S = 10.0
"""How long a client waits for what must come; no test waits that long when all is well."""


@dataclass(frozen=True)
class BareStt:
    """One STT protocol. `texts` reads the transcripts of a message: (is it final, segment id, text)."""

    query: str
    headers: dict[str, str]
    end: tuple[str, ...]
    texts: Callable[[dict[str, Any]], Iterable[tuple[bool, Any, str]]]
    opening: tuple[str, ...] = ()
    encode: Callable[[bytes], str | bytes] = bytes
    joiner: str = " "
    rate: int = 16_000
    trailing_silence: int = 0


@dataclass
class Seen:
    """What a client saw. `status` is that of a refused upgrade; `broken` says that the connection just ended."""

    status: int | None = None
    headers: dict[str, str] = field(default_factory=dict)
    body: Any = None
    messages: list[Any] = field(default_factory=list)
    raw: list[str] = field(default_factory=list)
    binary: list[bytes] = field(default_factory=list)
    code: int | None = None
    reason: str = ""
    broken: bool = False
    partials: list[str] = field(default_factory=list)
    finals: dict[Any, str] = field(default_factory=dict)
    final_count: int = 0
    transcript: str = ""


def _text(value: Any) -> str:
    return json.dumps(value)


def _deepgram(message: dict[str, Any]) -> Iterable[tuple[bool, Any, str]]:
    if message["type"] == "Results":
        yield message["is_final"], message["start"], message["channel"]["alternatives"][0]["transcript"]


def _flux(message: dict[str, Any]) -> Iterable[tuple[bool, Any, str]]:
    if message["type"] == "TurnInfo":
        yield message["event"] == "EndOfTurn", message["turn_index"], message["transcript"]


def _assemblyai(message: dict[str, Any]) -> Iterable[tuple[bool, Any, str]]:
    if message["type"] == "Turn":
        yield message["end_of_turn"], message["turn_order"], message["transcript"]


def _openai(message: dict[str, Any]) -> Iterable[tuple[bool, Any, str]]:
    if message["type"].endswith("transcription.delta"):
        yield False, message["item_id"], message["delta"]
    if message["type"].endswith("transcription.completed"):
        yield True, message["item_id"], message["transcript"]


def _elevenlabs(message: dict[str, Any]) -> Iterable[tuple[bool, Any, str]]:
    if message["message_type"] in ("partial_transcript", "committed_transcript"):
        yield message["message_type"].startswith("committed"), object(), message["text"]


def _speechmatics(message: dict[str, Any]) -> Iterable[tuple[bool, Any, str]]:
    if message["message"].endswith("Transcript") and "metadata" in message:
        metadata = message["metadata"]
        yield message["message"] == "AddTranscript", metadata["start_time"], metadata["transcript"]


def _gladia(message: dict[str, Any]) -> Iterable[tuple[bool, Any, str]]:
    if message["type"] == "transcript":
        yield message["data"]["is_final"], message["data"]["id"], message["data"]["utterance"]["text"]


def _soniox(message: dict[str, Any]) -> Iterable[tuple[bool, Any, str]]:
    for token in message["tokens"]:
        yield token["is_final"], token["start_ms"], token["text"]


def _cartesia(message: dict[str, Any]) -> Iterable[tuple[bool, Any, str]]:
    if message["type"] == "transcript":
        yield message["is_final"], object(), message["text"]


def _base64(key: str, **more: Any) -> Callable[[bytes], str]:
    return lambda pcm: _text({key: base64.b64encode(pcm).decode()} | more)


_CHUNK = {"message_type": "input_audio_chunk", "sample_rate": 16_000}
_TOKEN = {"Authorization": "Token k"}
_BEARER = {"Authorization": "Bearer k"}

STT = {
    "stt-deepgram": BareStt(
        "model=nova-3&encoding=linear16&sample_rate=16000&interim_results=true",
        _TOKEN,
        (_text({"type": "Finalize"}), _text({"type": "CloseStream"})),
        _deepgram,
    ),
    "stt-deepgram-flux": BareStt(
        "model=flux-general-en&encoding=linear16&sample_rate=16000",
        _TOKEN,
        (_text({"type": "CloseStream"}),),
        _flux,
    ),
    "stt-assemblyai": BareStt(
        "sample_rate=16000&speech_model=universal",
        {"Authorization": "k"},
        (_text({"type": "Terminate"}),),
        _assemblyai,
    ),
    "stt-openai-realtime": BareStt(
        "intent=transcription",
        _BEARER,
        (_text({"type": "input_audio_buffer.commit"}),),
        _openai,
        opening=(
            _text(
                {
                    "type": "session.update",
                    "session": {
                        "type": "transcription",
                        "audio": {"input": {"transcription": {"model": "gpt-4o-transcribe"}}},
                    },
                }
            ),
        ),
        encode=_base64("audio", type="input_audio_buffer.append"),
        rate=24_000,
    ),
    "stt-elevenlabs": BareStt(
        "model_id=scribe_v2_realtime&audio_format=pcm_16000",
        {"xi-api-key": "k"},
        (_text(_CHUNK | {"audio_base_64": "", "commit": True}),),
        _elevenlabs,
        encode=_base64("audio_base_64", commit=False, **_CHUNK),
    ),
    "stt-speechmatics": BareStt(
        "",
        _BEARER,
        (_text({"message": "EndOfStream", "last_seq_no": 1}),),
        _speechmatics,
        opening=(
            _text(
                {
                    "message": "StartRecognition",
                    "audio_format": {"type": "raw", "encoding": "pcm_s16le", "sample_rate": 16000},
                    "transcription_config": {"language": "en", "enable_partials": True},
                }
            ),
        ),
        joiner="",
    ),
    "stt-gladia": BareStt("", {"x-gladia-key": "k"}, (_text({"type": "stop_recording"}),), _gladia),
    "stt-soniox": BareStt(
        "",
        {},
        ("",),
        _soniox,
        opening=(
            _text(
                {
                    "api_key": "k",
                    "model": "m",
                    "audio_format": "pcm_s16le",
                    "sample_rate": 16000,
                    "num_channels": 1,
                }
            ),
        ),
        joiner="",
    ),
    "stt-cartesia": BareStt(
        "model=ink-whisper&encoding=pcm_s16le&sample_rate=16000",
        {"X-API-Key": "k"},
        ("finalize", "close"),
        _cartesia,
        joiner="",
    ),
}

GLADIA_BODY = {
    "encoding": "wav/pcm",
    "sample_rate": 16_000,
    "messages_config": {"receive_partial_transcripts": True, "receive_lifecycle_events": True},
}

STAYS_OPEN = ("stt-openai-realtime", "stt-elevenlabs")
"""The protocols whose client closes; it does so after the final it waited for."""


@dataclass(frozen=True)
class BareTts:
    """One TTS protocol. `audio` reads the PCM of a message, `over` says whether it is the last."""

    query: str
    headers: dict[str, str]
    say: Callable[[str], tuple[str, ...]]
    audio: Callable[[dict[str, Any]], str | None]
    over: Callable[[dict[str, Any]], bool] = lambda message: False
    path: str | None = None


_CARTESIA = {
    "model_id": "sonic-3",
    "context_id": "c1",
    "voice": {"mode": "id", "id": "v"},
    "output_format": {"container": "raw", "encoding": "pcm_s16le", "sample_rate": 24000},
    "continue": False,
}

TTS = {
    "tts-elevenlabs": BareTts(
        "model_id=m&output_format=pcm_24000",
        {"xi-api-key": "k"},
        lambda text: (_text({"text": text}), _text({"text": ""})),
        lambda message: message.get("audio"),
        path="/v1/text-to-speech/voice-1/stream-input",
    ),
    "tts-cartesia": BareTts(
        "",
        {"X-API-Key": "k"},
        lambda text: (_text(_CARTESIA | {"transcript": text}),),
        lambda message: message.get("data"),
        over=lambda message: message["type"] == "done",
    ),
    "tts-deepgram": BareTts(
        "model=aura-2&encoding=linear16&sample_rate=24000",
        _TOKEN,
        lambda text: (_text({"type": "Speak", "text": text}), _text({"type": "Flush"})),
        lambda message: None,
        over=lambda message: message["type"] == "Flushed",
    ),
    "tts-rime": BareTts(
        "speaker=s&modelId=mistv2&audioFormat=pcm&samplingRate=24000",
        _BEARER,
        lambda text: (_text({"text": text}), _text({"operation": "eos"})),
        lambda message: message.get("data"),
    ),
    "tts-hume": BareTts(
        "api_key=k&format_type=pcm&no_binary=true",
        {},
        lambda text: (_text({"text": text}), _text({"close": True})),
        lambda message: message.get("audio"),
    ),
}


async def transcribe(
    session: aiohttp.ClientSession, place: dict[str, str], pcm: bytes, partial: bool = True
) -> Seen:
    """Stream audio, wait for a partial if wanted, end, and read until the client is done or cut off."""
    bare = STT[place["protocol"]]
    seen = Seen()
    url = f"{place['websocket']}{place['path']}?{bare.query}"
    try:
        if place["protocol"] == "stt-gladia":
            async with session.post(place["http"] + place["path"], json=GLADIA_BODY, headers=bare.headers) as made:
                made.raise_for_status()
                url = (await made.json())["url"]
        async with session.ws_connect(url, headers=bare.headers, max_msg_size=0, timeout=_patience()) as socket:
            try:
                for frame in bare.opening:
                    await socket.send_str(frame)
                for start in range(0, len(pcm), CHUNK):
                    sent = bare.encode(pcm[start : start + CHUNK])
                    await (socket.send_str(sent) if isinstance(sent, str) else socket.send_bytes(sent))
                if partial and not await _read(socket, seen, bare, lambda: bool(seen.partials)):
                    return seen
                for frame in bare.end:
                    await socket.send_str(frame)
            except ConnectionError:
                pass  # the server ended first; what it said is still to be read
            stays = place["protocol"] in STAYS_OPEN
            await _read(socket, seen, bare, lambda: stays and bool(seen.finals))
    except aiohttp.WSServerHandshakeError as refused:
        seen.status, seen.headers = refused.status, dict(refused.headers or {})
    except aiohttp.ClientResponseError as refused:
        seen.status, seen.headers = refused.status, dict(refused.headers or {})
    except (aiohttp.ClientConnectionError, aiohttp.ClientPayloadError, ConnectionError):
        seen.broken = True
    seen.transcript = bare.joiner.join(seen.finals.values()).strip()
    return seen


async def synthesize(session: aiohttp.ClientSession, place: dict[str, str], text: str) -> Seen:
    """Say a text and read until the connection ends or the last message came; `binary` holds the PCM chunks."""
    bare = TTS[place["protocol"]]
    seen = Seen()
    url = f"{place['websocket']}{bare.path or place['path']}?{bare.query}"
    try:
        async with session.ws_connect(url, headers=bare.headers, max_msg_size=0, timeout=_patience()) as socket:
            for frame in bare.say(text):
                await socket.send_str(frame)
            while await _message(socket, seen):
                if seen.messages and seen.messages[-1] is not None:
                    message = seen.messages[-1]
                    audio = bare.audio(message)
                    if audio:
                        seen.binary.append(base64.b64decode(audio))
                    seen.messages[-1] = message | {"audio": None, "data": None}
                    if bare.over(message):
                        return seen
    except aiohttp.WSServerHandshakeError as refused:
        seen.status, seen.headers = refused.status, dict(refused.headers or {})
    except (aiohttp.ClientConnectionError, ConnectionError):
        seen.broken = True
    return seen


async def _read(
    socket: aiohttp.ClientWebSocketResponse, seen: Seen, bare: BareStt, enough: Callable[[], bool]
) -> bool:
    """Read messages until it is enough; return False when the connection ended before."""
    while not enough():
        if not await _message(socket, seen):
            return False
        message = seen.messages[-1] if seen.messages else None
        if message is None:
            continue
        for is_final, segment, text in bare.texts(message):
            if is_final:
                seen.finals[segment] = text
                seen.final_count += 1
            else:
                seen.partials.append(text)
    return True


async def _message(socket: aiohttp.ClientWebSocketResponse, seen: Seen) -> bool:
    message = await socket.receive(timeout=WAIT_S)
    if message.type is aiohttp.WSMsgType.TEXT:
        seen.raw.append(message.data)
        try:
            seen.messages.append(json.loads(message.data))
        except json.JSONDecodeError:
            seen.messages.append(None)
        return True
    if message.type is aiohttp.WSMsgType.BINARY:
        seen.binary.append(message.data)
        seen.messages.append(None)
        return True
    seen.code = socket.close_code
    seen.broken = message.type is not aiohttp.WSMsgType.CLOSE
    seen.reason = message.extra or ""
    return False


def _patience() -> aiohttp.ClientWSTimeout:
    return aiohttp.ClientWSTimeout(ws_close=WAIT_S)
