"""Rime's codec, fed with frames."""

import base64
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sayagain.providers.access import Closed
from sayagain.providers.codec import AudioBegins, Done
from sayagain.records import AudioFormat, FailureKind, Phase, Setting
from support.codecs import CLOSE, KEY, codec_of, converse, heard, pcm_of, refused_upgrade, sent, verdict

DONE = {"type": "done", "contextId": None}


def codec(target: str = "tts:rime/coda/astra", **settings: Setting) -> Any:
    return codec_of(target, **settings)


def chunk(pcm: bytes) -> dict[str, Any]:
    return {"type": "chunk", "data": base64.b64encode(pcm).decode(), "contextId": None}


def test_it_asks_with_every_setting_in_the_query_and_the_key_in_a_header() -> None:
    request = codec().open()
    assert request.url.startswith("wss://users-ws.rime.ai/ws3?")
    assert parse_qs(urlsplit(request.url).query) == {
        "modelId": ["coda"],
        "speaker": ["astra"],
        "lang": ["eng"],
        "audioFormat": ["pcm"],
        "samplingRate": ["24000"],
        "segment": ["never"],
    }
    assert request.headers == {"Authorization": f"Bearer {KEY}"}


def test_the_rate_is_that_of_the_model_s_settings() -> None:
    speaker = codec("tts:rime/mistv2/astra")
    assert parse_qs(urlsplit(speaker.open().url).query)["samplingRate"] == ["22050"]
    assert heard(speaker, chunk(b"\1\2"))[0] == AudioBegins(AudioFormat(rate=22_050))


def test_the_text_is_followed_by_its_end() -> None:
    assert sent(codec().text("ten of clubs")) == [{"text": "ten of clubs"}, {"operation": "eos"}]


@given(st.lists(st.binary(min_size=1, max_size=9), min_size=1, max_size=9))
def test_chunks_of_an_odd_number_of_bytes_add_up_to_whole_samples(pieces: list[bytes]) -> None:
    signals = heard(codec(), *(chunk(piece) for piece in pieces), DONE)
    whole = b"".join(pieces)
    assert pcm_of(signals) == whole[: len(whole) // 2 * 2]
    assert all(len(getattr(signal, "pcm", b"")) % 2 == 0 for signal in signals)
    assert signals[-1] == Done()


def test_timestamps_are_no_audio() -> None:
    assert heard(codec(), {"type": "timestamps", "word_timestamps": {"words": ["ten"]}}) == []


def test_with_segments_the_end_is_the_close_after_the_last_of_them() -> None:
    speaker = codec(segment="bySentence")
    assert Done() not in heard(speaker, chunk(b"\1\2"), DONE, chunk(b"\3\4"), DONE)
    assert heard(speaker, CLOSE) == [Done()]


async def test_a_close_inside_a_segment_is_a_lost_connection() -> None:
    frames: list[Any] = [chunk(bytes(20)), DONE, chunk(bytes(20)), CLOSE]
    failure = (await converse(codec(segment="bySentence"), then=frames)).failure
    assert failure is not None
    assert (failure.kind, failure.phase) == (FailureKind.CONNECTION_LOST, Phase.RECEIVE)


@pytest.mark.parametrize(
    ("then", "kind"),
    [([DONE], FailureKind.EMPTY), ([chunk(bytes(20)), CLOSE], FailureKind.CONNECTION_LOST)],
    ids=["done without audio", "audio without done"],
)
async def test_a_synthesis_that_is_not_whole_is_a_failure(then: list[Any], kind: FailureKind) -> None:
    failure = (await converse(codec(), then=then)).failure
    assert failure is not None
    assert (failure.kind, failure.phase) == (kind, Phase.RECEIVE)


@pytest.mark.parametrize(
    ("message", "kind"),
    [
        ("Unauthorized: check the API key", FailureKind.AUTH),
        ("out of credits", FailureKind.QUOTA),
        ("Too many concurrent requests", FailureKind.RATE_LIMITED),
        ("Invalid speaker", FailureKind.BAD_REQUEST),
        ("something broke", FailureKind.SERVER_ERROR),
    ],
)
def test_an_error_means_what_its_words_say(message: str, kind: FailureKind) -> None:
    assert verdict(heard(codec(), {"type": "error", "message": message}))[0] is kind


def test_an_error_has_no_code_and_a_close_and_a_refused_upgrade_have_theirs() -> None:
    assert verdict(heard(codec(), {"type": "error", "message": "no"})) == (FailureKind.SERVER_ERROR, None, True)
    assert verdict(heard(codec(), Closed(1008, "no"))) == (FailureKind.BAD_REQUEST, "1008", False)
    assert refused_upgrade(codec(), 401, {"message": "no"}) == (FailureKind.AUTH, "401", False)
