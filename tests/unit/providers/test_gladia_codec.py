"""Gladia's codec, fed with frames."""

from typing import Any

import pytest

from sayagain.providers.access import Closed
from sayagain.providers.codec import Done, Partial
from sayagain.records import FailureKind, Phase, Setting
from support.codecs import CLOSE, KEY, codec_of, converse, heard, refused_upgrade, sent, verdict


def codec(**settings: Setting) -> Any:
    return codec_of("stt:gladia/solaria-1", **settings)


def transcript(text: str, utterance: str = "00_0", *, final: bool = True) -> dict[str, Any]:
    data = {"id": utterance, "is_final": final, "utterance": {"text": text, "start": 0, "end": 1}}
    return {"type": "transcript", "session_id": "x", "created_at": "now", "data": data}


def test_a_job_is_ordered_with_every_setting_in_the_body_and_the_key_in_a_header() -> None:
    request = codec(region="eu-west").prepare()
    assert request is not None
    assert (request.method, request.url) == ("POST", "https://api.gladia.io/v2/live?region=eu-west")
    assert request.headers == {"x-gladia-key": KEY}
    assert request.json == {
        "model": "solaria-1",
        "sample_rate": 16000,
        "encoding": "wav/pcm",
        "bit_depth": 16,
        "channels": 1,
        "endpointing": 0.05,
        "maximum_duration_without_endpointing": 5,
        "language_config": {"languages": ["en"], "code_switching": False},
        "pre_processing": {"audio_enhancer": False, "speech_threshold": 0.6},
        "messages_config": {
            "receive_final_transcripts": True,
            "receive_errors": True,
            "receive_partial_transcripts": True,
        },
    }


def test_the_websocket_is_the_one_the_answer_names_with_its_token_and_without_the_key() -> None:
    speaker = codec()
    speaker.prepared({"id": "x", "url": "wss://api.gladia.io/v2/live?token=t"})
    request = speaker.open()
    assert request.url == "wss://api.gladia.io/v2/live?token=t"
    assert request.headers == {}
    assert "token" not in repr(request)


@pytest.mark.parametrize("answer", [{}, {"url": 5}, {"url": "https://api.gladia.io"}, {"url": ""}])
def test_an_answer_that_names_no_websocket_makes_no_sense(answer: dict[str, Any]) -> None:
    with pytest.raises((KeyError, TypeError, ValueError)):
        codec().prepared(answer)


async def test_final_utterances_are_the_transcript_and_a_normal_close_after_the_stop_is_the_end() -> None:
    outcome = await converse(
        codec(),
        first=[transcript("ten", final=False), transcript("ten of")],
        last="stop_recording",
        then=[
            {"type": "stop_recording", "acknowledged": True, "error": None, "data": {}},
            transcript("clubs", "00_1"),
            {"type": "post_transcript", "data": {"full_transcript": "ten of clubs"}},
            {"type": "post_final_transcript", "data": {"transcription": {"full_transcript": "ten of clubs"}}},
            CLOSE,
        ],
    )
    assert outcome.transcript == "ten of clubs"
    assert outcome.sent[-1] == {"type": "stop_recording"}
    assert heard(codec(), transcript("ten", final=False), transcript("", final=False)) == [Partial("ten")]


async def test_an_utterance_sent_again_is_dropped_by_its_id_and_the_same_words_of_another_are_kept() -> None:
    outcome = await converse(
        codec(),
        last="stop_recording",
        then=[transcript("no"), transcript("no"), transcript("no", "00_1"), CLOSE],
    )
    assert outcome.transcript == "no no"


def test_a_close_without_a_code_is_a_normal_one() -> None:
    speaker = codec()
    assert heard(speaker, Closed(1005)) == []
    assert sent(speaker.end()) == [{"type": "stop_recording"}]
    assert heard(speaker, Closed(1005)) == [Done()]


def test_a_close_before_the_stop_is_not_the_end() -> None:
    assert Done() not in heard(codec(), transcript("ten"), CLOSE)


@pytest.mark.parametrize(
    ("code", "kind", "retryable"),
    [
        (1009, FailureKind.BAD_REQUEST, False),
        (1011, FailureKind.SERVER_ERROR, True),
        (4400, FailureKind.BAD_REQUEST, False),
        (4401, FailureKind.AUTH, False),
        (4402, FailureKind.QUOTA, False),
        (4403, FailureKind.CONNECTION_LOST, True),
        (4429, FailureKind.RATE_LIMITED, True),
        (4500, FailureKind.SERVER_ERROR, True),
    ],
)
def test_a_close_has_the_kind_of_its_code(code: int, kind: FailureKind, retryable: bool) -> None:
    speaker = codec()
    list(speaker.end())
    assert verdict(heard(speaker, Closed(code, "no"))) == (kind, str(code), retryable)


def test_a_message_that_was_not_acknowledged_is_an_error() -> None:
    answer = {"type": "stop_recording", "acknowledged": False, "error": {"message": "no"}, "data": None}
    assert verdict(heard(codec(), answer)) == (FailureKind.SERVER_ERROR, None, True)


@pytest.mark.parametrize(
    ("status", "kind", "retryable"),
    [
        (400, FailureKind.BAD_REQUEST, False),
        (401, FailureKind.AUTH, False),
        (402, FailureKind.QUOTA, False),
        (422, FailureKind.BAD_REQUEST, False),
        (429, FailureKind.RATE_LIMITED, True),
        (503, FailureKind.SERVER_ERROR, True),
    ],
)
def test_a_refused_job_has_the_kind_of_its_status(status: int, kind: FailureKind, retryable: bool) -> None:
    body = {"statusCode": status, "message": "no", "request_id": "G-1"}
    assert refused_upgrade(codec(), status, body) == (kind, str(status), retryable)


@pytest.mark.parametrize(
    ("then", "kind"),
    [
        ([transcript(""), CLOSE], FailureKind.EMPTY),
        ([CLOSE], FailureKind.EMPTY),
        ([transcript("ten", final=False), CLOSE], FailureKind.PROTOCOL),
    ],
    ids=["empty final", "only the end", "only partials"],
)
async def test_an_answer_without_words_is_a_failure(then: list[Any], kind: FailureKind) -> None:
    failure = (await converse(codec(), last="stop_recording", then=then)).failure
    assert failure is not None
    assert (failure.kind, failure.phase) == (kind, Phase.FINISH)
