"""Every protocol of the stand-in, spoken by a bare client."""

import hashlib
import io
import json
import re
import wave
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

import aiohttp
import pytest

from sayagain.simulator.journal import Journal
from sayagain.simulator.protocols import PROTOCOLS
from sayagain.simulator.scenario import scenario
from sayagain.simulator.server import HEADER, Simulator
from support.bare_clients import STT, TTS, synthesize, transcribe

TEXT = "one two three four five six"
PCM = bytes(range(1, 251)) * 128
"""A second of 16 kHz audio; what it sounds like does not matter."""

QUICK = {"first_partial": 0, "partial_interval": 0, "finalization": 0, "fallback": TEXT}
QUICK_TTS = {"first_audio": 0, "chunk_interval": 0, "ms_per_character": 20, "chunk_ms": 40}


@dataclass
class Standing:
    """A stand-in that runs in this process, and what it recorded."""

    simulator: Simulator
    session: aiohttp.ClientSession
    log: io.BytesIO = field(default_factory=io.BytesIO)

    def place(self, name: str) -> dict[str, str]:
        place: dict[str, str] = self.simulator.directory()[name]
        return place

    async def recorded(self) -> list[dict[str, Any]]:
        await self.simulator.close()
        return [json.loads(line) for line in self.log.getvalue().splitlines()]


Stand = Callable[[dict[str, Any]], Awaitable[Standing]]


@pytest.fixture
async def stand() -> AsyncIterator[Stand]:
    """Start a stand-in with a scenario; it is closed after the test."""
    standing: list[Standing] = []
    async with aiohttp.ClientSession() as session:

        async def start(values: dict[str, Any]) -> Standing:
            log = io.BytesIO()
            simulator = Simulator(scenario({"stt": QUICK, "tts": QUICK_TTS} | values), Journal(log))
            await simulator.start()
            standing.append(Standing(simulator, session, log))
            return standing[-1]

        yield start
        for one in standing:
            await one.simulator.close()


@pytest.mark.parametrize("protocol", STT)
async def test_a_stream_is_answered_with_partials_and_its_transcript(stand: Stand, protocol: str) -> None:
    standing = await stand({})
    seen = await transcribe(standing.session, standing.place(protocol), PCM)
    assert seen.transcript == TEXT
    assert seen.partials[0].strip() == "one"
    assert seen.code in (None, 1000)


@pytest.mark.parametrize("protocol", STT)
async def test_a_long_transcript_comes_in_segments_that_join_to_the_whole(stand: Stand, protocol: str) -> None:
    standing = await stand({"stt": QUICK | {"segment_words": 2}})
    seen = await transcribe(standing.session, standing.place(protocol), PCM, partial=False)
    if protocol in ("stt-openai-realtime", "stt-elevenlabs"):
        assert seen.transcript == "one two", "this client leaves after the first"
    else:
        assert seen.transcript == TEXT


@pytest.mark.parametrize("protocol", TTS)
async def test_a_text_is_answered_with_exactly_the_audio_that_was_recorded(stand: Stand, protocol: str) -> None:
    standing = await stand({})
    seen = await synthesize(standing.session, standing.place(protocol), "Say this.")
    audio = b"".join(seen.binary)
    (spoken,) = [line for line in await standing.recorded() if line["event"] == "spoken"]
    assert len(audio) == spoken["audio_bytes"] > 0
    assert hashlib.sha256(audio).hexdigest() == spoken["audio_sha256"]
    assert seen.code in (None, 1000)


@pytest.mark.parametrize(("form", "known"), [("json", b'{"text":"one two'), ("text", b"one two")])
async def test_a_file_is_answered_in_the_form_that_was_asked_for(stand: Stand, form: str, known: bytes) -> None:
    standing = await stand({})
    place = standing.place("stt-openai-batch")
    upload = aiohttp.FormData({"model": "whisper-1", "response_format": form})
    upload.add_field("file", _wav(PCM), filename="a.wav")
    headers = {"Authorization": "Bearer k"}
    async with standing.session.post(place["http"] + place["path"], data=upload, headers=headers) as response:
        assert response.status == 200
        assert (await response.read()).startswith(known)


@pytest.mark.parametrize(("form", "header"), [("pcm", 0), ("wav", 44)])
async def test_speech_over_http_comes_as_chunks(stand: Stand, form: str, header: int) -> None:
    standing = await stand({})
    place = standing.place("tts-openai")
    request = {"model": "m", "voice": "v", "input": "Say this.", "response_format": form}
    async with standing.session.post(
        place["http"] + place["path"], json=request, headers={"Authorization": "Bearer k"}
    ) as response:
        assert response.headers["Transfer-Encoding"] == "chunked"
        audio = await response.read()
    assert len(audio) == header + 2 * round(24_000 * 9 * 0.020)
    assert (audio[:4] == b"RIFF") is (form == "wav")


async def test_every_answer_says_that_it_comes_from_a_stand_in(stand: Stand) -> None:
    standing = await stand({})
    for name, place in standing.simulator.directory().items():
        url = place["http"] + place["path"].replace("{voice}", "v")
        async with standing.session.get(url) as response:
            assert response.headers[HEADER].startswith("1 connection="), name
    place = standing.place("stt-deepgram")
    async with standing.session.ws_connect(
        f"{place['websocket']}{place['path']}", headers={"Authorization": "Token k"}
    ) as socket:
        assert re.fullmatch("1 connection=[1-9][0-9]*", socket._response.headers[HEADER])


@pytest.mark.parametrize("protocol", sorted(set(PROTOCOLS) - {"stt-soniox"}))
async def test_without_a_key_nothing_is_answered(stand: Stand, protocol: str) -> None:
    standing = await stand({})
    place = standing.place(protocol)
    url = place["http"] + place["path"].replace("{voice}", "v")
    posted = protocol in ("stt-gladia", "stt-openai-batch", "tts-openai")
    upgrade = {
        "Connection": "Upgrade",
        "Upgrade": "websocket",
        "Sec-WebSocket-Version": "13",
        "Sec-WebSocket-Key": "AAAAAAAAAAAAAAAAAAAAAA==",
    }
    async with standing.session.request(
        "POST" if posted else "GET", url, headers={} if posted else upgrade
    ) as answer:
        assert answer.status == 401


async def test_soniox_takes_its_key_in_one_place_only(stand: Stand) -> None:
    standing = await stand({})
    place = standing.place("stt-soniox")
    for headers, key, code in (({}, None, 401), ({"Authorization": "Bearer k"}, "k", 400)):
        async with standing.session.ws_connect(place["websocket"] + place["path"], headers=headers) as socket:
            await socket.send_json({"model": "m"} | ({"api_key": key} if key else {}))
            assert (await socket.receive_json())["error_code"] == code
            assert (await socket.receive()).type is aiohttp.WSMsgType.CLOSE


async def test_an_endpoint_of_another_name_has_a_behaviour_and_an_address_of_its_own(stand: Stand) -> None:
    standing = await stand({"endpoints": {"fast": {"protocol": "stt-cartesia", "fallback": "quite another text"}}})
    fast = await transcribe(standing.session, standing.place("fast"), PCM)
    usual = await transcribe(standing.session, standing.place("stt-cartesia"), PCM)
    assert (fast.transcript, usual.transcript) == ("quite another text", TEXT)


async def test_the_record_tells_a_stream_in_order_and_never_too_early(stand: Stand) -> None:
    standing = await stand({"stt": QUICK | {"first_partial": 30, "finalization": 40}})
    await transcribe(standing.session, standing.place("stt-deepgram"), PCM)
    lines = await standing.recorded()
    at = {line["event"]: line["t_ns"] for line in reversed(lines)}
    order = ["request", "upgraded", "first_audio_in", "partial_out", "flush_in", "final_out", "end_in", "done_out"]
    shown = [event for event in at if event in order]
    assert set(shown) == set(order)
    assert at["partial_out"] - at["first_audio_in"] >= 30e6
    assert at["final_out"] - at["flush_in"] >= 40e6
    (heard,) = [line for line in lines if line["event"] == "flush_in"]
    assert heard["audio_sha256"] == hashlib.sha256(PCM).hexdigest()
    assert [line["t_ns"] for line in lines if line["event"] != "first_audio_in"] == sorted(
        line["t_ns"] for line in lines if line["event"] != "first_audio_in"
    )


async def test_the_record_holds_neither_words_nor_keys(stand: Stand) -> None:
    standing = await stand({"stt": QUICK | {"fallback": "xylophone quartz"}})
    await transcribe(standing.session, standing.place("stt-elevenlabs"), PCM)
    await synthesize(standing.session, standing.place("tts-hume"), "xylophone quartz")
    await standing.recorded()
    assert b"xylophone" not in standing.log.getvalue()
    assert b"api_key" not in standing.log.getvalue()


async def test_deepgram_flux_ends_a_turn_by_itself_when_it_hears_silence(stand: Stand) -> None:
    standing = await stand({})
    place = standing.place("stt-deepgram-flux")
    async with standing.session.ws_connect(
        f"{place['websocket']}{place['path']}?sample_rate=16000", headers={"Authorization": "Token k"}
    ) as socket:
        await socket.send_bytes(PCM)
        await socket.send_bytes(bytes(6400))
        while (message := await socket.receive_json(timeout=10)).get("event") != "EndOfTurn":
            pass
    assert (message["transcript"], message["trigger"]) == (TEXT, "model")


async def test_gladia_refuses_a_frame_that_is_too_large(stand: Stand) -> None:
    standing = await stand({})
    place = standing.place("stt-gladia")
    headers = {"x-gladia-key": "k"}
    async with standing.session.post(place["http"] + place["path"], json={}, headers=headers) as made:
        url = (await made.json())["url"]
    async with standing.session.ws_connect(url) as socket:
        await socket.send_bytes(bytes((1 << 20) + 1))
        assert (await socket.receive()).data == 1009


async def test_deepgram_flux_says_how_much_it_heard_while_nobody_speaks(stand: Stand) -> None:
    standing = await stand({})
    place = standing.place("stt-deepgram-flux")
    async with standing.session.ws_connect(
        f"{place['websocket']}{place['path']}?sample_rate=16000", headers={"Authorization": "Token k"}
    ) as socket:
        for _ in range(6):
            await socket.send_bytes(bytes(3200))
        assert (await socket.receive_json(timeout=10))["type"] == "Connected"
        updates = [await socket.receive_json(timeout=10) for _ in range(2)]
    assert [update["event"] for update in updates] == ["Update", "Update"]
    assert [update["audio_window_end"] for update in updates] == pytest.approx([0.3, 0.6])
    assert {update["transcript"] for update in updates} == {""}


def _wav(pcm: bytes) -> bytes:
    file = io.BytesIO()
    with wave.open(file, "wb") as wav:
        wav.setnchannels(1)
        wav.setsampwidth(2)
        wav.setframerate(16_000)
        wav.writeframes(pcm)
    return file.getvalue()
