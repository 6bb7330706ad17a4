"""Cartesia's codecs, fed with frames."""

import base64
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from sayagain.providers.codec import AudioBegins, Done, Final, Partial
from sayagain.records import AudioFormat, FailureKind, Phase, Setting
from support.codecs import CLOSE, KEY, codec_of, converse, heard, pcm_of, refused_upgrade, sent, verdict

STT_DONE = {"type": "done", "request_id": "x"}
TTS_DONE = {"type": "done", "done": True, "status_code": 200, "context_id": "sayagain"}


def stt(**settings: Setting) -> Any:
    return codec_of("stt:cartesia/ink-2", **settings)


def tts(**settings: Setting) -> Any:
    return codec_of("tts:cartesia/sonic-3.5/e07c00bc", **settings)


def transcript(text: str, *, final: bool = True) -> dict[str, Any]:
    return {"type": "transcript", "is_final": final, "request_id": "x", "text": text}


def chunk(pcm: bytes) -> dict[str, Any]:
    data = base64.b64encode(pcm).decode()
    return {"type": "chunk", "data": data, "done": False, "status_code": 206, "context_id": "sayagain"}


def error(status: object, code: str | None) -> dict[str, Any]:
    return {"type": "error", "title": "No", "message": "no", "error_code": code, "status_code": status}


def test_it_asks_with_every_setting_in_the_query_and_the_key_in_a_header() -> None:
    request = stt().open()
    assert request.url.startswith("wss://api.cartesia.ai/stt/websocket?")
    assert parse_qs(urlsplit(request.url).query) == {
        "model": ["ink-2"],
        "language": ["en"],
        "encoding": ["pcm_s16le"],
        "sample_rate": ["16000"],
    }
    assert request.headers == {"Authorization": f"Bearer {KEY}", "Cartesia-Version": "2026-08-14"}


async def test_final_texts_are_joined_as_they_are_and_done_is_the_end() -> None:
    outcome = await converse(
        stt(),
        first=[transcript("ten", final=False), transcript("ten of")],
        last="close",
        then=[transcript(" clu"), transcript("bs"), {"type": "flush_done", "request_id": "x"}, STT_DONE],
    )
    assert outcome.transcript == "ten of clubs"
    assert outcome.sent[-2:] == ["finalize", "close"]
    assert heard(stt(), transcript("ten", final=False), transcript("", final=False)) == [Partial("ten")]


def test_a_done_that_repeats_the_transcript_adds_no_words() -> None:
    assert heard(stt(), transcript("ten"), {**STT_DONE, "text": "ten"}) == [Final("ten"), Done()]


@pytest.mark.parametrize(
    ("status", "code", "kind", "label", "retryable"),
    [
        (400, "invalid_request", FailureKind.BAD_REQUEST, "400/invalid_request", False),
        (401, None, FailureKind.AUTH, "401", False),
        (402, "quota_exceeded", FailureKind.QUOTA, "402/quota_exceeded", False),
        (429, "quota_exceeded", FailureKind.QUOTA, "429/quota_exceeded", False),
        (429, "concurrency_limited", FailureKind.RATE_LIMITED, "429/concurrency_limited", True),
        (500, "internal_error", FailureKind.SERVER_ERROR, "500/internal_error", True),
        (None, "concurrency_limited", FailureKind.RATE_LIMITED, "concurrency_limited", True),
        ("500", None, FailureKind.SERVER_ERROR, None, True),
    ],
)
def test_an_error_has_the_kind_of_its_code_or_else_of_its_status(
    status: object, code: str | None, kind: FailureKind, label: str | None, retryable: bool
) -> None:
    for codec in (stt(), tts()):
        assert verdict(heard(codec, error(status, code))) == (kind, label, retryable)


def test_a_refused_upgrade_has_the_kind_of_its_status() -> None:
    body = {"title": "No", "message": "no", "error_code": "concurrency_limited", "status_code": 429}
    assert refused_upgrade(stt(), 429, body) == (FailureKind.RATE_LIMITED, "429/concurrency_limited", True)


@pytest.mark.parametrize(
    ("then", "kind"),
    [
        ([transcript(""), STT_DONE], FailureKind.EMPTY),
        ([STT_DONE], FailureKind.EMPTY),
        ([transcript("ten", final=False), STT_DONE], FailureKind.PROTOCOL),
        ([transcript("ten", final=False), CLOSE], FailureKind.CONNECTION_LOST),
        ([{"type": "flush_done", "request_id": "x"}, CLOSE], FailureKind.CONNECTION_LOST),
    ],
    ids=["empty final", "only the end", "only partials", "close without the end", "flushed, not done"],
)
async def test_an_answer_without_words_is_a_failure(then: list[Any], kind: FailureKind) -> None:
    failure = (await converse(stt(), last="close", then=then)).failure
    assert failure is not None
    assert (failure.kind, failure.phase) == (kind, Phase.FINISH)


def test_one_request_says_every_setting_of_the_synthesis() -> None:
    speaker = tts()
    assert speaker.open().url == "wss://api.cartesia.ai/tts/websocket"
    assert sent(speaker.text("ten of clubs")) == [
        {
            "model_id": "sonic-3.5",
            "transcript": "ten of clubs",
            "voice": {"mode": "id", "id": "e07c00bc-4134-4eae-9ea4-1a55fb45746b"},
            "context_id": "sayagain",
            "output_format": {"container": "raw", "encoding": "pcm_s16le", "sample_rate": 24000},
            "continue": False,
            "language": "en",
            "max_buffer_delay_ms": 0,
            "generation_config": {"speed": 1.0, "volume": 1.0},
        }
    ]


def test_audio_is_whole_samples_and_done_is_the_end() -> None:
    timestamps = {"type": "timestamps", "done": False, "status_code": 206, "context_id": "sayagain"}
    signals = heard(tts(), chunk(b"\1\2\3"), timestamps, chunk(b"\4"), TTS_DONE)
    assert signals[0] == AudioBegins(AudioFormat(rate=24_000))
    assert signals[-1] == Done()
    assert pcm_of(signals) == b"\1\2\3\4"


@pytest.mark.parametrize(
    ("then", "kind"),
    [([TTS_DONE], FailureKind.EMPTY), ([chunk(bytes(20)), CLOSE], FailureKind.CONNECTION_LOST)],
    ids=["done without audio", "audio without done"],
)
async def test_a_synthesis_that_is_not_whole_is_a_failure(then: list[Any], kind: FailureKind) -> None:
    failure = (await converse(tts(), then=then)).failure
    assert failure is not None
    assert (failure.kind, failure.phase) == (kind, Phase.RECEIVE)
