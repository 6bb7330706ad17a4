"""Every fault of the stand-in in every protocol that can have it, as a bare client sees it."""

import io
import json
import ssl
from collections.abc import AsyncIterator, Callable
from typing import Any

import aiohttp
import pytest

from sayagain.simulator import faults
from sayagain.simulator.faults import ErrorKind, Fault, Moment, Shape
from sayagain.simulator.journal import Journal
from sayagain.simulator.protocols import PROTOCOLS
from sayagain.simulator.scenario import scenario
from sayagain.simulator.server import Simulator
from support.bare_clients import STAYS_OPEN, STT, TTS, Seen, synthesize, transcribe

TEXT = "one two three four five six"
PCM = bytes(range(1, 251)) * 128
PROMPT = "Say this, please."
QUICK = {"first_partial": 0, "partial_interval": 0, "finalization": 0, "fallback": TEXT}
QUICK_TTS = {"first_audio": 0, "chunk_interval": 0, "ms_per_character": 20, "chunk_ms": 40}
SAMPLES = 2 * round(24_000 * len(PROMPT) * 0.020)
HUME_SAMPLES = 2 * SAMPLES

Check = Callable[[Seen, str], bool]


def refused_with(status: int) -> Check:
    return lambda seen, protocol: seen.status == status


def broken(seen: Seen, protocol: str) -> bool:
    return seen.broken and seen.code in (None, 1006) and not seen.finals


def closed_with(code: int, reason: str = "") -> Check:
    return lambda seen, protocol: (seen.code, seen.reason) == (code, reason) and not seen.finals


def no_words(seen: Seen, protocol: str) -> bool:
    return seen.transcript == ""


def whole(seen: Seen, protocol: str) -> bool:
    return seen.transcript == TEXT


STREAM_FAULTS: list[tuple[dict[str, Any], Check]] = [
    ({"kind": "http_error", "status": 401}, refused_with(401)),
    ({"kind": "http_error", "status": 402}, refused_with(402)),
    ({"kind": "http_error", "status": 403}, refused_with(403)),
    ({"kind": "http_error", "status": 404}, refused_with(404)),
    (
        {"kind": "http_error", "status": 429, "retry_after": 2},
        lambda seen, protocol: seen.status == 429 and seen.headers["Retry-After"] == "2",
    ),
    ({"kind": "http_error", "status": 500}, refused_with(500)),
    ({"kind": "http_error", "status": 503}, refused_with(503)),
    ({"kind": "reset"}, broken),
    ({"kind": "close", "code": 1011, "reason": "NET-0001"}, closed_with(1011, "NET-0001")),
    ({"kind": "close", "code": 1008, "at": "opening"}, closed_with(1008)),
    ({"kind": "close", "code": 4999, "at": "end"}, closed_with(4999)),
    ({"kind": "reset", "at": "audio"}, broken),
    ({"kind": "reset", "at": "end"}, broken),
    ({"kind": "half_open", "seconds": 0}, broken),
    ({"kind": "cut"}, broken),
]
"""What every stream does alike."""

STT_FAULTS: list[tuple[dict[str, Any], Check]] = [
    ({"kind": "empty_final"}, lambda seen, protocol: no_words(seen, protocol) and seen.code in (None, 1000)),
    ({"kind": "empty_done"}, lambda seen, protocol: not seen.finals and seen.code == 1000),
    (
        {"kind": "only_partials"},
        lambda seen, protocol: not seen.finals and bool(seen.partials) and seen.code == 1000,
    ),
    ({"kind": "duplicated_finals"}, whole),
    ({"kind": "done_repeats"}, whole),
    ({"kind": "truncated"}, lambda seen, protocol: seen.transcript == "one two three"),
    (
        {"kind": "oversized", "bytes": 2 << 20},
        lambda seen, protocol: whole(seen, protocol) and max(len(raw) for raw in seen.raw) == 2 << 20,
    ),
]

TTS_FAULTS: list[tuple[dict[str, Any], Check]] = [
    ({"kind": "no_audio"}, lambda seen, protocol: not seen.binary and seen.code in (None, 1000)),
    ({"kind": "truncated"}, lambda seen, protocol: 2 * _heard(seen) == _expected(protocol)),
    (
        {"kind": "odd_chunks"},
        lambda seen, protocol: len(seen.binary[0]) % 2 == 1 and _heard(seen) == _expected(protocol),
    ),
    (
        {"kind": "stray_wav_header"},
        lambda seen, protocol: seen.binary[0][:4] == b"RIFF" and _heard(seen) == _expected(protocol) + 44,
    ),
    (
        {"kind": "oversized", "bytes": 2 << 20},
        lambda seen, protocol: max(map(len, [*seen.raw, *seen.binary])) >= 2 << 20,
    ),
    ({"kind": "malformed"}, lambda seen, protocol: '{"type": "Results", "text' in seen.raw),
]


def cases(protocols: Any, table: list[tuple[dict[str, Any], Check]]) -> list[Any]:
    return [
        pytest.param(protocol, fault, check, id=f"{protocol}-{'-'.join(str(value) for value in fault.values())}")
        for protocol in protocols
        for fault, check in table
        if possible(protocol, fault["kind"])
    ]


def possible(protocol: str, kind: str) -> bool:
    dialect = PROTOCOLS[protocol]
    (fault,) = [one for one in Fault.__subclasses__() if one.__struct_config__.tag == kind]
    return dialect.shape in fault.shapes and kind not in dialect.impossible


@pytest.fixture
async def session() -> AsyncIterator[aiohttp.ClientSession]:
    async with aiohttp.ClientSession() as opened:
        yield opened


async def outcome(
    session: aiohttp.ClientSession,
    protocol: str,
    fault: dict[str, Any],
    partial: bool | None = None,
    **stt: Any,
) -> tuple[Seen, list[dict[str, Any]]]:
    """Run one client against one fault; return what it saw and what was recorded."""
    log = io.BytesIO()
    values = {"stt": QUICK | stt, "tts": QUICK_TTS, "endpoints": {protocol: {"faults": [fault]}}}
    simulator = Simulator(scenario(values), Journal(log))
    await simulator.start()
    try:
        place = simulator.directory()[protocol]
        if protocol in STT:
            early = fault.get("at") in ("audio", "opening") or fault["kind"] in ("half_open", "close")
            waits = (not early or fault.get("at") == "end") if partial is None else partial
            seen = await transcribe(session, place, PCM, partial=waits)
        else:
            seen = await synthesize(session, place, PROMPT)
    finally:
        await simulator.close()
    return seen, [json.loads(line) for line in log.getvalue().splitlines()]


@pytest.mark.parametrize(("protocol", "fault", "check"), cases([*STT, *TTS], STREAM_FAULTS))
async def test_a_fault_of_the_connection_reaches_the_client(
    session: aiohttp.ClientSession, protocol: str, fault: dict[str, Any], check: Check
) -> None:
    seen, lines = await outcome(session, protocol, fault)
    assert check(seen, protocol), seen
    # aiohttp's client tries an upgrade that was reset once more by itself.
    assert {line["fault"] for line in lines if line["event"] == "fault"} == {fault["kind"]}


@pytest.mark.parametrize("protocol", STT)
@pytest.mark.parametrize("kind", ["reset", "close"])
async def test_a_fault_at_the_end_strikes_although_every_segment_was_final_before(
    session: aiohttp.ClientSession, protocol: str, kind: str
) -> None:
    words = len(TEXT.split())
    fault = {"kind": kind, "at": "end"}
    seen, lines = await outcome(session, protocol, fault, partial=False, partial_words=words, segment_words=words)
    assert seen.code not in (None, 1000) or seen.broken
    assert [line["fault"] for line in lines if line["event"] == "fault"] == [kind]


@pytest.mark.parametrize(("protocol", "fault", "check"), cases(STT, STT_FAULTS) + cases(TTS, TTS_FAULTS))
async def test_a_fault_of_the_answer_reaches_the_client(
    session: aiohttp.ClientSession, protocol: str, fault: dict[str, Any], check: Check
) -> None:
    seen, lines = await outcome(session, protocol, fault)
    assert check(seen, protocol), seen
    assert fault["kind"] in [line["fault"] for line in lines if line["event"] == "fault"]


@pytest.mark.parametrize("protocol", [name for name in STT if possible(name, "duplicated_finals")])
async def test_a_duplicated_final_comes_twice_under_one_segment_id(
    session: aiohttp.ClientSession, protocol: str
) -> None:
    seen, _ = await outcome(session, protocol, {"kind": "duplicated_finals"})
    usual = len(TEXT.split()) if protocol == "stt-soniox" else 1
    # The client of a protocol without an end leaves after the first.
    assert seen.final_count == usual * (1 if protocol == "stt-openai-realtime" else 2)
    assert seen.transcript == TEXT


@pytest.mark.parametrize("protocol", [name for name in STT if name not in STAYS_OPEN])
async def test_a_malformed_message_stands_in_place_of_the_final(
    session: aiohttp.ClientSession, protocol: str
) -> None:
    seen, lines = await outcome(session, protocol, {"kind": "malformed"})
    assert '{"type": "Results", "text' in seen.raw
    assert "malformed_out" in [line["event"] for line in lines]


REPORTS: dict[str, Callable[[dict[str, Any]], Any]] = {
    "stt-assemblyai": lambda message: message["error_code"],
    "stt-openai-realtime": lambda message: message["error"]["code"],
    "stt-elevenlabs": lambda message: message["message_type"],
    "stt-speechmatics": lambda message: message["type"],
    "stt-soniox": lambda message: message["error_code"],
    "stt-cartesia": lambda message: message["error_code"],
    "stt-deepgram-flux": lambda message: message["code"],
    "tts-elevenlabs": lambda message: message["error"],
    "tts-cartesia": lambda message: message["error_code"],
    "tts-rime": lambda message: message["message"].partition(":")[0],
    "tts-hume": lambda message: message["details"]["type"],
}
"""Where each protocol names an error inside the connection; the others only close."""

SAID = {
    "stt-assemblyai": (3009, 4002),
    "stt-openai-realtime": ("concurrency_limit_exceeded", "insufficient_quota"),
    "stt-elevenlabs": ("resource_exhausted", "quota_exceeded"),
    "stt-speechmatics": ("quota_exceeded", "timelimit_exceeded"),
    "stt-soniox": (429, 402),
    "stt-cartesia": ("concurrency_limited", "quota_exceeded"),
    "stt-deepgram-flux": ("CONCURRENCY", "QUOTA"),
    "tts-elevenlabs": ("too_many_concurrent_requests", "quota_exceeded"),
    "tts-cartesia": ("concurrency_limited", "quota_exceeded"),
    "tts-rime": ("concurrency", "quota"),
    "tts-hume": ("concurrency", "quota"),
}


@pytest.mark.parametrize("protocol", REPORTS)
@pytest.mark.parametrize("at", Moment)
async def test_an_error_is_reported_in_the_words_of_the_provider(
    session: aiohttp.ClientSession, protocol: str, at: Moment
) -> None:
    for error, code in zip((ErrorKind.CONCURRENCY, ErrorKind.QUOTA), SAID[protocol], strict=True):
        seen, _ = await outcome(session, protocol, {"kind": "reported_error", "error": error, "at": at})
        assert REPORTS[protocol](seen.messages[-1]) == code
        assert seen.code not in (None, 1000, 1006)


@pytest.mark.parametrize("protocol", [*STT, *TTS])
@pytest.mark.parametrize("error", ErrorKind)
async def test_every_kind_of_error_can_be_reported_by_every_stream(
    session: aiohttp.ClientSession, protocol: str, error: ErrorKind
) -> None:
    seen, _ = await outcome(session, protocol, {"kind": "reported_error", "error": error})
    assert seen.code not in (None, 1006)
    assert not seen.finals
    assert not seen.binary


NAMED = {
    "stt-deepgram": lambda message: message.get("metadata", {}).get("model_info", {}).get("arch"),
    "stt-assemblyai": lambda message: message.get("configuration", {}).get("model"),
    "stt-openai-realtime": lambda message: (
        message.get("session", {}).get("audio", {}).get("input", {}).get("transcription", {}).get("model")
    ),
    "stt-elevenlabs": lambda message: message.get("config", {}).get("model_id"),
    "tts-deepgram": lambda message: message.get("model_name"),
}


@pytest.mark.parametrize("protocol", NAMED)
async def test_another_model_is_named_where_the_provider_names_one(
    session: aiohttp.ClientSession, protocol: str
) -> None:
    seen, _ = await outcome(session, protocol, {"kind": "wrong_model", "model": "other-9"})
    named = {NAMED[protocol](message) for message in seen.messages if message is not None}
    assert named - {None} == {"other-9"}


def test_the_other_protocols_refuse_to_rehearse_a_wrong_model() -> None:
    could = {name for name, dialect in PROTOCOLS.items() if possible(name, "wrong_model")}
    assert could == {*NAMED}


QUIET: list[tuple[str, dict[str, Any]]] = [
    *((name, {"kind": "silence"}) for name in [*STT, *TTS]),
    *((name, {"kind": "no_final"}) for name in STT),
    *((name, {"kind": "half_open", "at": "end"}) for name in [*STT, *TTS]),
    *((name, {"kind": "stall", "after_chunks": 1}) for name in TTS),
]


@pytest.mark.parametrize(("protocol", "fault"), QUIET, ids=lambda value: str(value).replace(" ", ""))
async def test_a_quiet_fault_leaves_the_connection_open_and_says_no_more(
    session: aiohttp.ClientSession, protocol: str, fault: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("support.bare_clients.WAIT_S", 0.15)
    seen = Seen()
    with pytest.raises(TimeoutError):
        seen, _ = await outcome(session, protocol, fault, partial=False)
    assert not seen.finals


@pytest.mark.parametrize("protocol", ["stt-deepgram", "tts-rime"])
async def test_a_closed_port_refuses(session: aiohttp.ClientSession, protocol: str) -> None:
    simulator = Simulator(scenario({"endpoints": {protocol: {"faults": [{"kind": "refused"}]}}}), Journal(None))
    await simulator.start()
    try:
        with pytest.raises(aiohttp.ClientConnectorError) as refused:
            await session.ws_connect(simulator.directory()[protocol]["websocket"])
        assert isinstance(refused.value.os_error, ConnectionRefusedError)
    finally:
        await simulator.close()


async def test_a_tls_failure_is_an_alert(session: aiohttp.ClientSession) -> None:
    values = {"endpoints": {"stt-soniox": {"faults": [{"kind": "tls_failure"}]}}}
    log = io.BytesIO()
    simulator = Simulator(scenario(values), Journal(log))
    await simulator.start()
    try:
        with pytest.raises(aiohttp.ClientConnectorSSLError) as failed:
            await session.ws_connect(simulator.directory()["stt-soniox"]["websocket"])
        assert isinstance(failed.value.os_error, ssl.SSLError)
    finally:
        await simulator.close()
    assert b'"fault":"tls_failure"' in log.getvalue()


async def test_a_slow_handshake_is_answered_in_the_end(session: aiohttp.ClientSession) -> None:
    seen, lines = await outcome(session, "stt-deepgram", {"kind": "slow_handshake", "seconds": 0.05})
    at = {line["event"]: line["t_ns"] for line in reversed(lines)}
    assert at["upgraded"] - at["request"] >= 50e6
    assert seen.transcript == TEXT


async def test_cases_and_only_they_are_struck_in_the_order_of_arrival(session: aiohttp.ClientSession) -> None:
    rule = {"kind": "http_error", "status": 429, "cases": [0, 2]}
    values = {"stt": QUICK, "endpoints": {"stt-cartesia": {"faults": [rule]}}}
    simulator = Simulator(scenario(values), Journal(None))
    await simulator.start()
    try:
        place = simulator.directory()["stt-cartesia"]
        seen = [await transcribe(session, place, PCM) for _ in range(4)]
    finally:
        await simulator.close()
    assert [one.status for one in seen] == [429, None, 429, None]
    assert [one.transcript for one in seen] == ["", TEXT, "", TEXT]


BATCH: list[tuple[str, dict[str, Any], Callable[[int, dict[str, str], bytes], bool]]] = [
    (
        "stt-openai-batch",
        {"kind": "http_error", "status": 429, "retry_after": 1},
        lambda s, h, b: h["Retry-After"] == "1",
    ),
    ("stt-openai-batch", {"kind": "http_error", "status": 401}, lambda s, h, b: s == 401 and b'"code"' in b),
    ("stt-openai-batch", {"kind": "empty_final"}, lambda s, h, b: b.startswith(b'{"text":""')),
    ("stt-openai-batch", {"kind": "truncated"}, lambda s, h, b: b'"one two three"' in b),
    ("stt-openai-batch", {"kind": "malformed"}, lambda s, h, b: b.startswith(b'{"type": "Results", "text')),
    ("stt-openai-batch", {"kind": "oversized", "bytes": 2 << 20}, lambda s, h, b: len(b) == 2 << 20),
    ("tts-openai", {"kind": "http_error", "status": 402}, lambda s, h, b: s == 402),
    ("tts-openai", {"kind": "no_audio"}, lambda s, h, b: (s, b) == (200, b"")),
    ("tts-openai", {"kind": "truncated"}, lambda s, h, b: 2 * len(b) == SAMPLES),
    ("tts-openai", {"kind": "odd_chunks"}, lambda s, h, b: len(b) == SAMPLES),
    ("tts-openai", {"kind": "stray_wav_header"}, lambda s, h, b: b[:4] == b"RIFF" and len(b) == SAMPLES + 44),
]


@pytest.mark.parametrize(
    ("protocol", "fault", "check"), BATCH, ids=lambda value: "check" if callable(value) else str(value)[:60]
)
async def test_a_fault_of_a_request_reaches_the_client(
    session: aiohttp.ClientSession,
    protocol: str,
    fault: dict[str, Any],
    check: Callable[[int, dict[str, str], bytes], bool],
) -> None:
    status, headers, body = await requested(session, protocol, fault)
    assert check(status, headers, body), (status, body[:200])


@pytest.mark.parametrize("protocol", ["stt-openai-batch", "tts-openai"])
@pytest.mark.parametrize("kind", ["reset", "cut"])
async def test_a_request_can_lose_its_connection(session: aiohttp.ClientSession, protocol: str, kind: str) -> None:
    with pytest.raises((aiohttp.ClientConnectionError, aiohttp.ClientPayloadError)):
        await requested(session, protocol, {"kind": kind})


@pytest.mark.parametrize(
    ("protocol", "kind"), [("stt-openai-batch", "silence"), ("tts-openai", "silence"), ("tts-openai", "stall")]
)
async def test_a_request_can_stay_without_the_rest_of_its_answer(
    session: aiohttp.ClientSession, protocol: str, kind: str
) -> None:
    with pytest.raises(TimeoutError):
        await requested(session, protocol, {"kind": kind}, patience_s=0.2)


async def requested(
    session: aiohttp.ClientSession, protocol: str, fault: dict[str, Any], patience_s: float = 10
) -> tuple[int, dict[str, str], bytes]:
    values = {"stt": QUICK, "tts": QUICK_TTS, "endpoints": {protocol: {"faults": [fault]}}}
    simulator = Simulator(scenario(values), Journal(None))
    await simulator.start()
    try:
        place = simulator.directory()[protocol]
        options: dict[str, Any] = {"headers": {"Authorization": "Bearer k"}}
        if protocol == "tts-openai":
            options["json"] = {"model": "m", "voice": "v", "input": PROMPT, "response_format": "pcm"}
        else:
            form = aiohttp.FormData({"model": "m"})
            form.add_field("file", b"not audio", filename="a.wav")
            options["data"] = form
        async with session.post(
            place["http"] + place["path"], timeout=aiohttp.ClientTimeout(patience_s), **options
        ) as answer:
            return answer.status, dict(answer.headers), await answer.read()
    finally:
        await simulator.close()


def test_every_fault_is_tried_by_this_file() -> None:
    tables = [*STREAM_FAULTS, *STT_FAULTS, *TTS_FAULTS]
    tried = {fault["kind"] for fault, _ in tables} | {fault["kind"] for _, fault in QUIET}
    tried |= {"refused", "tls_failure", "slow_handshake", "malformed", "reported_error", "wrong_model"}
    assert tried == {faults.name(one()) for one in Fault.__subclasses__() if one not in _NEED_FIELDS} | {
        "http_error",
        "reported_error",
    }


_NEED_FIELDS = (faults.HttpError, faults.ReportedError)


def test_every_protocol_that_streams_is_tried_by_this_file() -> None:
    streams = {
        name for name, dialect in PROTOCOLS.items() if dialect.shape in (Shape.STT_STREAM, Shape.TTS_STREAM)
    }
    assert streams == {*STT, *TTS}


def _heard(seen: Seen) -> int:
    return sum(map(len, seen.binary))


def _expected(protocol: str) -> int:
    return HUME_SAMPLES if protocol == "tts-hume" else SAMPLES
