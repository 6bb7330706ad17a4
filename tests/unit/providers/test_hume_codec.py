"""Hume's codec, fed with frames."""

import base64
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from sayagain.providers.access import Closed
from sayagain.providers.codec import AudioBegins, Done
from sayagain.providers.network import wav
from sayagain.records import AudioFormat, FailureKind, Phase, Setting
from support.codecs import CLOSE, KEY, codec_of, converse, heard, pcm_of, refused_upgrade, sent, verdict

RATE = AudioFormat(rate=48_000)


def codec(**settings: Setting) -> Any:
    return codec_of("tts:hume/octave-2/ava-song", **settings)


def audio(pcm: bytes, *, last: bool = False) -> dict[str, Any]:
    data = base64.b64encode(pcm).decode()
    return {"type": "audio", "audio": data, "audio_format": "pcm", "is_last_chunk": last, "snippet_id": "x"}


def test_it_asks_for_audio_in_json_without_headers_and_the_key_is_in_a_header() -> None:
    request = codec().open()
    assert request.url.startswith("wss://api.hume.ai/v0/tts/stream/input?")
    assert parse_qs(urlsplit(request.url).query) == {
        "format_type": ["pcm"],
        "no_binary": ["true"],
        "strip_headers": ["true"],
        "version": ["2"],
        "instant_mode": ["true"],
    }
    assert request.headers == {"X-Hume-Api-Key": KEY}


def test_the_text_comes_with_its_voice_and_is_followed_by_flush_and_close() -> None:
    voice = {"name": "Ava Song", "provider": "HUME_AI"}
    assert sent(codec().text("ten of clubs")) == [
        {"text": "ten of clubs", "voice": voice, "speed": 1.0},
        {"flush": True},
        {"close": True},
    ]


def test_audio_is_at_48_khz_in_whole_samples_and_the_close_between_snippets_is_the_end() -> None:
    speaker = codec()
    signals = heard(
        speaker, audio(b"\1\2\3"), audio(b"\4", last=True), {"type": "timestamp"}, audio(b"\5\6", last=True)
    )
    assert signals[0] == AudioBegins(RATE)
    assert Done() not in signals
    assert pcm_of(signals) == b"\1\2\3\4\5\6"
    assert heard(speaker, CLOSE) == [Done()]


def test_a_header_in_every_chunk_is_removed() -> None:
    signals = heard(codec(), audio(wav(b"\1\2", RATE)), audio(wav(b"\3\4", RATE), last=True), CLOSE)
    assert pcm_of(signals) == b"\1\2\3\4"
    assert signals[-1] == Done()


@pytest.mark.parametrize(
    ("then", "kind"),
    [
        ([CLOSE], FailureKind.EMPTY),
        ([audio(bytes(20)), CLOSE], FailureKind.CONNECTION_LOST),
        ([audio(bytes(20), last=True), Closed(1011)], FailureKind.SERVER_ERROR),
        ([audio(bytes(20), last=True), Closed(1006)], FailureKind.CONNECTION_LOST),
    ],
    ids=["no audio", "close inside a snippet", "close with an error", "no close at all"],
)
async def test_a_synthesis_that_is_not_whole_is_a_failure(then: list[Any], kind: FailureKind) -> None:
    failure = (await converse(codec(), then=then)).failure
    assert failure is not None
    assert (failure.kind, failure.phase) == (kind, Phase.RECEIVE)


@pytest.mark.parametrize(
    ("code", "details", "kind", "label", "retryable"),
    [
        ("E1", {"type": "quota_exceeded"}, FailureKind.QUOTA, "quota_exceeded", False),
        ("E1", {"type": "rate_limit_exceeded"}, FailureKind.RATE_LIMITED, "rate_limit_exceeded", True),
        ("E1", {"type": "invalid_api_key"}, FailureKind.AUTH, "invalid_api_key", False),
        ("E1", {"type": "auth"}, FailureKind.AUTH, "auth", False),
        ("E1", {"type": "quota"}, FailureKind.QUOTA, "quota", False),
        ("E1", {"type": "concurrency"}, FailureKind.RATE_LIMITED, "concurrency", True),
        ("E1", {"type": "session_expired"}, FailureKind.CONNECTION_LOST, "session_expired", True),
        ("E0100", None, FailureKind.BAD_REQUEST, "E0100", False),
        ("E0101", {"type": "a_type_of_tomorrow"}, FailureKind.BAD_REQUEST, "a_type_of_tomorrow", False),
        ("I0100", {"type": "a_type_of_tomorrow"}, FailureKind.SERVER_ERROR, "a_type_of_tomorrow", True),
        ("I0100", "not an object", FailureKind.SERVER_ERROR, "I0100", True),
        (None, None, FailureKind.SERVER_ERROR, None, True),
    ],
)
def test_an_error_has_the_kind_of_the_type_nested_in_its_details_or_else_of_its_code(
    code: str | None, details: object, kind: FailureKind, label: str | None, retryable: bool
) -> None:
    error = {"type": "error", "code": code, "message": "no", "details": details}
    assert verdict(heard(codec(), error)) == (kind, label, retryable)


def test_a_refused_upgrade_has_the_kind_of_its_status() -> None:
    assert refused_upgrade(codec(), 401, {"message": "no"}) == (FailureKind.AUTH, "401", False)
