"""The HTTP endpoints that are no streams: a transcription for a file, and speech for a text in chunks."""

import asyncio
import hashlib
import io
import struct
import wave

import msgspec
from aiohttp import BodyPartReader, web

from sayagain.datasets.wav import with_known_length
from sayagain.simulator import faults
from sayagain.simulator.delays import draw, sleep_until
from sayagain.simulator.journal import Record
from sayagain.simulator.plan import Plan
from sayagain.simulator.protocols.base import Opening
from sayagain.simulator.protocols.stt_openai_batch import OpenAiBatch
from sayagain.simulator.protocols.tts_openai import OpenAiSpeech
from sayagain.simulator.scenario import Stt, Tts
from sayagain.simulator.texts import EMPTY, Ear, garbled, text_digest
from sayagain.simulator.utterance import Audio, audio_for
from sayagain.simulator.wire import MALFORMED, until_gone


class RefusalError(Exception):
    """The request cannot be served: an HTTP status and a sentence."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


async def transcribe(
    request: web.Request, opening: Opening, plan: Plan, behaviour: Stt, record: Record
) -> web.StreamResponse:
    """Answer a multipart upload.

    Raises:
        RefusalError: The request is not one.
    """
    dialect = OpenAiBatch(opening)
    fields, content = await _form(request)
    arrived = asyncio.get_running_loop().time()
    record.note("end_in", file_bytes=len(content), file_sha256=hashlib.sha256(content).hexdigest())
    if not fields.get("model"):
        raise RefusalError(400, "the model is missing")
    text, seconds, known = _transcript(content, plan, behaviour)
    said = garbled(text, behaviour.word_error_rate, plan.seed)
    words = said.text.split()
    if plan.suffers(faults.Truncated):
        words = words[: (len(words) + 1) // 2]
    if plan.suffers(faults.EmptyFinal):
        words = []
    record.note(
        "transcript",
        words=len(words),
        known=known,
        substitutions=said.substitutions,
        deletions=said.deletions,
        insertions=said.insertions,
    )
    await sleep_until(arrived + draw(behaviour.finalization, plan.random("finalization")))
    if plan.fault is not None and not plan.suffers(faults.SlowHandshake):
        record.note("fault", fault=faults.name(plan.fault))
    if plan.suffers(faults.Silence):
        await until_gone(request)
        return web.Response()
    kind, body = dialect.answer(" ".join(words), seconds, fields.get("response_format", "json"))
    content = body.encode() if isinstance(body, str) else msgspec.json.encode(body)
    if plan.suffers(faults.Malformed):
        content = MALFORMED.encode()
    if isinstance(plan.fault, faults.Oversized):
        content += b" " * max(plan.fault.bytes - len(content), 0)
    response = web.StreamResponse(headers={"Content-Type": kind})
    response.content_length = len(content)
    await response.prepare(request)
    if plan.suffers(faults.Cut):
        await response.write(content[: len(content) // 2])
        _hang_up(request)
        return response
    await response.write(content)
    record.note("final_out", size=len(content), words=len(words), sha256=text_digest(" ".join(words)))
    await response.write_eof()
    return response


async def speak(
    request: web.Request, opening: Opening, plan: Plan, behaviour: Tts, record: Record
) -> web.StreamResponse:
    """Answer a text with chunked audio.

    Raises:
        RefusalError: The request is not one, or wants a format other than pcm and wav.
    """
    try:
        wanted = msgspec.json.decode(await request.read(), type=dict[str, object])
    except msgspec.DecodeError:
        raise RefusalError(400, "a JSON object was expected") from None
    asked = asyncio.get_running_loop().time()
    text = wanted.get("input")
    if not isinstance(text, str) or not text or not wanted.get("model") or not wanted.get("voice"):
        raise RefusalError(400, "input, model and voice are needed")
    form = wanted.get("response_format", "mp3")
    if form not in ("pcm", "wav"):
        raise RefusalError(400, "the stand-in speaks the formats pcm and wav")
    record.note("text_in", characters=len(text), sha256=text_digest(text))
    if plan.suffers(faults.Silence):
        record.note("fault", fault="silence")
        await until_gone(request)
        return web.Response()
    audio = audio_for(text, OpenAiSpeech.rate, behaviour, plan, wav=form == "wav")
    response = web.StreamResponse(headers={"Content-Type": "audio/wav" if form == "wav" else "audio/pcm"})
    response.enable_chunked_encoding()
    await _stream(request, response, audio, asked, plan, behaviour, record)
    return response


async def _stream(
    request: web.Request,
    response: web.StreamResponse,
    audio: Audio,
    asked: float,
    plan: Plan,
    behaviour: Tts,
    record: Record,
) -> None:
    due = asked + draw(behaviour.first_audio, plan.random("first_audio"))
    interval = plan.random("chunks")
    fault = plan.fault
    struck = min(1, audio.chunks - 1)
    for index, chunk in enumerate(audio):
        await sleep_until(due)
        due += draw(behaviour.chunk_interval, interval)
        if index == 0:
            await response.prepare(request)
        if isinstance(fault, faults.Stall) and index == fault.after_chunks:
            record.note("fault", fault="stall")
            await until_gone(request)
            return
        if isinstance(fault, faults.Cut) and index == struck:
            record.note("fault", fault="cut")
            _cut_chunk(request, chunk)
            return
        await response.write(chunk)
        record.note("audio_out", index=index, audio_bytes=len(chunk))
    if not audio.chunks:
        await sleep_until(due)
        await response.prepare(request)
    if plan.suffers(faults.NoAudio, faults.Truncated, faults.OddChunks, faults.StrayWavHeader):
        record.note("fault", fault=faults.name(fault) if fault else "")
    record.note(
        "spoken",
        chunks=audio.chunks,
        audio_bytes=len(audio.content),
        audio_sha256=audio.sha256,
        leading_silence_ms=behaviour.leading_silence_ms,
    )
    await response.write_eof()
    record.note("done_out")


async def _form(request: web.Request) -> tuple[dict[str, str], bytes]:
    """Read the fields and the file of a multipart request."""
    fields: dict[str, str] = {}
    content: bytes | None = None
    if not request.content_type.startswith("multipart/"):
        raise RefusalError(400, "a multipart form was expected")
    async for part in await request.multipart():
        if not isinstance(part, BodyPartReader):
            continue
        if part.name == "file":
            content = bytes(await part.read(decode=False))
        elif part.name:
            fields[part.name] = await part.text()
    if not content:
        raise RefusalError(400, "the file is missing")
    return fields, content


def _transcript(content: bytes, plan: Plan, behaviour: Stt) -> tuple[str, float, bool]:
    """Return what is said in a file, how long it lasts in seconds, and whether it is known."""
    rate, pcm = _pcm(content)
    ear = Ear(plan.library.shelves.get(rate, EMPTY))
    ear.hear(pcm)
    utterance = ear.utterance()
    known = plan.library.files.get(hashlib.sha256(content).hexdigest()) or (utterance and utterance.text)
    seconds = len(pcm) / (2 * rate)
    if behaviour.script:
        return behaviour.script[plan.ordinal % len(behaviour.script)], seconds, known is not None
    return known or behaviour.fallback, seconds, known is not None


def _pcm(content: bytes) -> tuple[int, bytes]:
    """Return the sample rate and PCM of a WAV file; other formats are known by their digest only."""
    try:
        with wave.open(io.BytesIO(with_known_length(content))) as file:
            return file.getframerate(), file.readframes(file.getnframes())
    except (wave.Error, EOFError, ValueError, struct.error):
        return 16_000, b""


def _cut_chunk(request: web.BaseRequest, chunk: bytes) -> None:
    """Announce a chunk of HTTP's chunked coding, send half of it and hang up."""
    transport = request.transport
    if transport is not None:
        transport.write(f"{len(chunk):x}\r\n".encode() + chunk[: len(chunk) // 2])
        transport.close()


def _hang_up(request: web.BaseRequest) -> None:
    if request.transport is not None:
        request.transport.close()
