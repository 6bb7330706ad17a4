"""Soniox' codec, fed with frames."""

from typing import Any

import pytest

from sayagain.providers.codec import Done, Final, Partial
from sayagain.records import FailureKind, Phase, Setting
from support.codecs import CLOSE, KEY, codec_of, converse, heard, sent, verdict

FINISHED = {"tokens": [], "final_audio_proc_ms": 20, "total_audio_proc_ms": 20, "finished": True}


def codec(**settings: Setting) -> Any:
    return codec_of("stt:soniox/stt-rt-v5", **settings)


def tokens(*texts: str, start_ms: int | None = None, final: bool = True, finished: bool = False) -> dict[str, Any]:
    told: list[dict[str, Any]] = []
    for index, text in enumerate(texts):
        token: dict[str, Any] = {"text": text, "is_final": final}
        if start_ms is not None:
            token |= {"start_ms": start_ms + index * 10, "end_ms": start_ms + index * 10 + 10}
        told.append(token)
    return {"tokens": told, "finished": finished}


def error(code: int) -> dict[str, Any]:
    return {"tokens": [], "error_code": code, "error_message": "no"}


def test_the_first_message_says_every_setting_and_the_key_is_in_a_header_only() -> None:
    speaker = codec(language="en, de", max_endpoint_delay_ms=500)
    request = speaker.open()
    assert request.url == "wss://stt-rt.soniox.com/transcribe-websocket"
    assert request.headers == {"Authorization": f"Bearer {KEY}"}
    assert sent(speaker.opening()) == [
        {
            "model": "stt-rt-v5",
            "audio_format": "pcm_s16le",
            "sample_rate": 16000,
            "num_channels": 1,
            "language_hints": ["en", "de"],
            "language_hints_strict": True,
            "enable_language_identification": False,
            "enable_endpoint_detection": False,
            "max_endpoint_delay_ms": 500,
        }
    ]


async def test_final_tokens_are_joined_as_they_are_and_the_finished_message_can_bring_the_last() -> None:
    outcome = await converse(
        codec(),
        first=[tokens("te", final=False), tokens("te", "n", start_ms=0), tokens(" of", final=False)],
        last="",
        then=[tokens(" of", " clu", start_ms=20), tokens("bs", start_ms=40, finished=True)],
    )
    assert outcome.transcript == "ten of clubs"
    assert outcome.sent[-1] == ""


def test_tokens_that_are_not_final_are_a_partial_beside_those_that_are() -> None:
    mixed = {"tokens": [{"text": "ten", "is_final": True}, {"text": " of", "is_final": False}]}
    assert heard(codec(), mixed) == [Final("ten"), Partial(" of")]


def test_control_tokens_are_no_text() -> None:
    assert heard(codec(), tokens("ten", "<end>"), tokens("<fin>"), FINISHED) == [Final("ten"), Done()]


async def test_final_tokens_that_come_again_are_dropped_by_their_times_and_the_same_words_later_are_kept() -> None:
    once, later = tokens("no", start_ms=0), tokens(" no", start_ms=50)
    outcome = await converse(codec(), last="", then=[once, once, later, {**once, "finished": True}])
    assert outcome.transcript == "no no"


def test_tokens_without_times_are_all_kept() -> None:
    assert heard(codec(), tokens("no"), tokens("no")) == [Final("no"), Final("no")]


@pytest.mark.parametrize(
    ("code", "kind", "retryable"),
    [
        (400, FailureKind.BAD_REQUEST, False),
        (401, FailureKind.AUTH, False),
        (402, FailureKind.QUOTA, False),
        (408, FailureKind.SERVER_ERROR, True),
        (429, FailureKind.RATE_LIMITED, True),
        (500, FailureKind.SERVER_ERROR, True),
        (503, FailureKind.SERVER_ERROR, True),
    ],
)
async def test_an_error_has_the_kind_of_its_status(code: int, kind: FailureKind, retryable: bool) -> None:
    assert verdict(heard(codec(), error(code))) == (kind, str(code), retryable)
    failure = (await converse(codec(), last="", then=[error(code)])).failure
    assert failure is not None
    assert (failure.kind, failure.phase, failure.retryable) == (kind, Phase.FINISH, retryable)


@pytest.mark.parametrize(
    ("then", "kind"),
    [
        ([FINISHED], FailureKind.EMPTY),
        ([tokens(""), FINISHED], FailureKind.EMPTY),
        ([tokens("ten", final=False), FINISHED], FailureKind.PROTOCOL),
        ([tokens("ten", final=False), CLOSE], FailureKind.CONNECTION_LOST),
    ],
    ids=["only the end", "empty final", "only partials", "close without the end"],
)
async def test_an_answer_without_words_is_a_failure(then: list[Any], kind: FailureKind) -> None:
    failure = (await converse(codec(), last="", then=then)).failure
    assert failure is not None
    assert (failure.kind, failure.phase) == (kind, Phase.FINISH)
