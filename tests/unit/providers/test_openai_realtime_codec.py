"""OpenAI Realtime's codec, fed with frames."""

from typing import Any

import pytest

from sayagain.providers.access import Closed
from sayagain.providers.codec import Done, Final, Partial, Ready
from sayagain.providers.network import decode_base64
from sayagain.records import FailureKind, Phase, Setting
from support.codecs import KEY, codec_of, converse, heard, sent, verdict

TARGET = "stt:openai/gpt-live-transcribe"
T = "conversation.item.input_audio_transcription"


def codec(**settings: Setting) -> Any:
    return codec_of(TARGET, **settings)


def updated(model: str = "gpt-live-transcribe") -> dict[str, Any]:
    audio = {"input": {"transcription": {"model": model}}}
    return {"type": "session.updated", "session": {"type": "transcription", "audio": audio}}


def committed(item: str) -> dict[str, Any]:
    return {"type": "input_audio_buffer.committed", "event_id": "e", "item_id": item}


def delta(item: str, text: str) -> dict[str, Any]:
    return {"type": f"{T}.delta", "item_id": item, "content_index": 0, "delta": text}


def completed(item: str, text: str) -> dict[str, Any]:
    return {"type": f"{T}.completed", "item_id": item, "content_index": 0, "transcript": text}


def error(code: str | None, kind: str = "invalid_request_error") -> dict[str, Any]:
    return {"type": "error", "event_id": "e", "error": {"type": kind, "code": code, "message": "no"}}


NOTHING_LEFT = error("input_audio_buffer_commit_empty")


def test_it_asks_for_a_transcription_session_and_says_every_setting_in_its_first_message() -> None:
    speaker = codec()
    request = speaker.open()
    assert request.url == "wss://api.openai.com/v1/realtime?intent=transcription"
    assert request.headers["Authorization"] == f"Bearer {KEY}"
    assert sent(speaker.opening()) == [
        {
            "type": "session.update",
            "session": {
                "type": "transcription",
                "audio": {
                    "input": {
                        "format": {"type": "audio/pcm", "rate": 24000},
                        "transcription": {"model": "gpt-live-transcribe", "language": "en"},
                        "turn_detection": None,
                        "noise_reduction": None,
                    }
                },
            },
        }
    ]


def test_turn_detection_and_noise_reduction_are_settings() -> None:
    speaker = codec(turn_detection="server_vad", silence_duration_ms=500, noise_reduction="near_field")
    (update,) = sent(speaker.opening())
    asked = update["session"]["audio"]["input"]
    assert asked["turn_detection"] == {"type": "server_vad", "silence_duration_ms": 500}
    assert asked["noise_reduction"] == {"type": "near_field"}


def test_audio_at_24_khz_travels_as_base64_once_the_session_is_configured() -> None:
    speaker = codec()
    assert speaker.awaits_ready
    assert speaker.audio_format.rate == 24_000
    (message,) = sent(speaker.audio(b"\1\2"))
    assert message["type"] == "input_audio_buffer.append"
    assert decode_base64(message["audio"]) == b"\1\2"
    assert heard(speaker, {"type": "session.created"}, updated()) == [Ready()]


async def test_deltas_add_up_to_partials_and_the_completed_item_is_the_transcript() -> None:
    outcome = await converse(
        codec(),
        first=[updated()],
        last="input_audio_buffer.commit",
        then=[committed("a"), delta("a", "ten "), delta("a", "of"), completed("a", "ten of clubs")],
    )
    assert outcome.transcript == "ten of clubs"
    assert heard(codec(), delta("a", "ten "), delta("b", "x"), delta("a", "of")) == [
        Partial("ten "),
        Partial("x"),
        Partial("ten of"),
    ]


async def test_an_item_completed_twice_is_dropped_by_its_id_and_the_same_words_of_another_are_kept() -> None:
    outcome = await converse(
        codec(turn_detection="server_vad"),
        first=[updated(), committed("a"), completed("a", "no"), completed("a", "no")],
        last="input_audio_buffer.commit",
        then=[committed("b"), completed("b", "no")],
    )
    assert outcome.transcript == "no no"


def test_it_is_over_when_every_committed_item_is_transcribed_in_whatever_order() -> None:
    speaker = codec(turn_detection="server_vad")
    assert heard(speaker, committed("a")) == []
    list(speaker.end())
    assert heard(speaker, committed("b"), completed("b", "clubs")) == [Final("clubs", "b")]
    assert heard(speaker, completed("a", "ten")) == [Final("ten", "a"), Done()]


def test_an_item_that_ends_before_the_last_commit_is_answered_does_not_end_it() -> None:
    speaker = codec(turn_detection="server_vad")
    heard(speaker, committed("a"))
    list(speaker.end())
    assert heard(speaker, completed("a", "ten")) == [Final("ten", "a")]
    assert heard(speaker, NOTHING_LEFT) == [Done()]


def test_a_commit_under_100_ms_after_turns_leaves_the_turns_to_be_waited_for() -> None:
    speaker = codec(turn_detection="server_vad")
    heard(speaker, committed("a"))
    list(speaker.end())
    assert heard(speaker, NOTHING_LEFT) == []
    assert heard(speaker, completed("a", "ten")) == [Final("ten", "a"), Done()]


async def test_a_commit_under_100_ms_of_the_whole_recording_is_a_bad_request() -> None:
    outcome = await converse(codec(), first=[updated()], last="input_audio_buffer.commit", then=[NOTHING_LEFT])
    assert outcome.failure is not None
    assert (outcome.failure.kind, outcome.failure.phase) == (FailureKind.BAD_REQUEST, Phase.FINISH)
    assert outcome.failure.code == "input_audio_buffer_commit_empty"


@pytest.mark.parametrize(
    ("code", "type_", "kind", "retryable"),
    [
        ("invalid_api_key", "invalid_request_error", FailureKind.AUTH, False),
        ("insufficient_quota", "insufficient_quota", FailureKind.QUOTA, False),
        (None, "insufficient_quota", FailureKind.QUOTA, False),
        ("rate_limit_exceeded", "rate_limit_error", FailureKind.RATE_LIMITED, True),
        ("concurrency_limit_exceeded", "rate_limit_error", FailureKind.RATE_LIMITED, True),
        ("model_not_found", "invalid_request_error", FailureKind.BAD_REQUEST, False),
        ("invalid_value", "invalid_request_error", FailureKind.BAD_REQUEST, False),
        (None, "invalid_request_error", FailureKind.BAD_REQUEST, False),
        ("session_expired", "invalid_request_error", FailureKind.CONNECTION_LOST, True),
        ("server_error", "server_error", FailureKind.SERVER_ERROR, True),
    ],
)
def test_an_error_has_the_kind_of_its_code_or_else_of_its_type(
    code: str | None, type_: str, kind: FailureKind, retryable: bool
) -> None:
    expected = (kind, code or type_, retryable)
    assert verdict(heard(codec(), error(code, type_))) == expected
    failed = {"type": f"{T}.failed", "item_id": "a", "content_index": 0, "error": error(code, type_)["error"]}
    assert verdict(heard(codec(), failed)) == expected


def test_another_model_is_a_mismatch_and_a_dated_version_of_the_same_is_none() -> None:
    assert verdict(heard(codec(), updated("whisper-1"))) == (FailureKind.MODEL_MISMATCH, None, False)
    assert heard(codec(), updated("gpt-live-transcribe-2026-05-01")) == [Ready()]
    assert heard(codec(), {"type": "session.updated", "session": {"type": "transcription"}}) == [Ready()]


@pytest.mark.parametrize(
    ("then", "kind"),
    [
        ([committed("a"), completed("a", "")], FailureKind.EMPTY),
        ([committed("a"), delta("a", "ten"), Closed(1000)], FailureKind.CONNECTION_LOST),
        ([Closed(1011, "oops")], FailureKind.SERVER_ERROR),
    ],
    ids=["empty final", "only partials", "close with an error"],
)
async def test_an_answer_without_words_is_a_failure(then: list[Any], kind: FailureKind) -> None:
    outcome = await converse(codec(), first=[updated()], last="input_audio_buffer.commit", then=then)
    assert outcome.failure is not None
    assert (outcome.failure.kind, outcome.failure.phase) == (kind, Phase.FINISH)
