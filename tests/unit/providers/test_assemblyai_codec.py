"""AssemblyAI's codec, fed with frames."""

from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from sayagain.providers.access import Closed
from sayagain.providers.codec import Done, Final
from sayagain.records import EventKind, FailureKind, Limits, Phase, Setting
from support.codecs import KEY, codec_of, converse, heard, refused_upgrade, sent, verdict

TARGET = "stt:assemblyai/universal-streaming-english"
BEGIN = {"type": "Begin", "id": "x", "configuration": {"model": "universal-streaming-english"}}
TERMINATION = {"type": "Termination", "audio_duration_seconds": 1, "session_duration_seconds": 1}


def codec(**settings: Setting) -> Any:
    return codec_of(TARGET, **settings)


def turn(text: str, order: int = 0, *, ended: bool = True, formatted: bool = False) -> dict[str, Any]:
    return {
        "type": "Turn",
        "turn_order": order,
        "turn_is_formatted": formatted,
        "end_of_turn": ended,
        "transcript": text,
        "end_of_turn_confidence": 0.9,
        "words": [],
    }


def test_it_asks_with_every_setting_in_the_query_and_the_key_in_a_header() -> None:
    request = codec().open()
    query = parse_qs(urlsplit(request.url).query)
    assert request.url.startswith("wss://streaming.assemblyai.com/v3/ws?")
    assert query["speech_model"] == ["universal-streaming-english"]
    assert query["sample_rate"] == ["16000"]
    assert query["format_turns"] == ["false"]
    assert query["max_turn_silence"] == ["1280"]
    assert request.headers["Authorization"] == KEY
    assert KEY not in request.url


async def test_turns_that_ended_are_the_transcript_and_termination_is_the_end() -> None:
    outcome = await converse(
        codec(),
        first=[BEGIN, turn("", ended=False), turn("ten", ended=False), turn("ten of"), turn("clubs", 1)],
        last="Terminate",
        then=[TERMINATION],
    )
    assert outcome.transcript == "ten of clubs"
    assert [event.text for event in outcome.tracer.freeze(0).events if event.kind is EventKind.PARTIAL] == ["ten"]


def test_a_turn_that_ends_twice_counts_once_in_its_formatted_form() -> None:
    signals = heard(codec(format_turns=True), turn("ten of clubs"), turn("Ten of clubs.", formatted=True))
    assert signals == [Final("Ten of clubs.", "turn 0")]


def test_a_turn_whose_formatted_form_never_comes_is_kept_as_it_was_heard() -> None:
    assert heard(codec(format_turns=True), turn("ten of clubs"), TERMINATION) == [
        Final("ten of clubs", "turn 0"),
        Done(),
    ]


async def test_a_turn_sent_again_is_dropped_by_its_order_and_the_same_words_in_another_are_kept() -> None:
    outcome = await converse(
        codec(), first=[turn("no"), turn("no"), turn("no", 1)], last="Terminate", then=[TERMINATION]
    )
    assert outcome.transcript == "no no"


def test_audio_leaves_in_frames_of_at_least_50_ms_and_the_last_is_filled_with_silence() -> None:
    speaker = codec()
    assert list(speaker.audio(b"\1" * 1000)) == []
    assert list(speaker.audio(b"\2" * 1000)) == [b"\1" * 1000 + b"\2" * 1000]
    assert list(speaker.audio(b"\3" * 10)) == []
    last, end = sent(speaker.end())
    assert last == b"\3" * 10 + bytes(1590)
    assert end == {"type": "Terminate"}


def test_nothing_left_to_send_adds_no_frame() -> None:
    speaker = codec()
    assert list(speaker.audio(bytes(1600))) == [bytes(1600)]
    assert sent(speaker.end()) == [{"type": "Terminate"}]


CODES = [
    (1008, FailureKind.AUTH, False),
    (1013, FailureKind.SERVER_ERROR, True),
    (3005, FailureKind.SERVER_ERROR, True),
    (3006, FailureKind.BAD_REQUEST, False),
    (3007, FailureKind.BAD_REQUEST, False),
    (3008, FailureKind.CONNECTION_LOST, True),
    (3009, FailureKind.RATE_LIMITED, True),
    (4001, FailureKind.AUTH, False),
    (4002, FailureKind.QUOTA, False),
    (4003, FailureKind.QUOTA, False),
    (4029, FailureKind.RATE_LIMITED, True),
    (4031, FailureKind.IDLE_TIMEOUT, False),
    (4102, FailureKind.RATE_LIMITED, True),
]


@pytest.mark.parametrize(("code", "kind", "retryable"), CODES)
def test_a_code_means_the_same_in_a_message_and_in_a_close(code: int, kind: FailureKind, retryable: bool) -> None:
    expected = (kind, str(code), retryable)
    assert verdict(heard(codec(), {"type": "Error", "error_code": code, "error": "no"})) == expected
    assert verdict(heard(codec(), Closed(code, "See Error message for details"))) == expected


def test_an_error_of_the_older_form_without_type_and_code_is_an_error() -> None:
    assert verdict(heard(codec(), {"error": "no"})) == (FailureKind.SERVER_ERROR, None, True)


def test_a_warning_is_no_error() -> None:
    assert heard(codec(), {"type": "Warning", "warning_code": 1, "warning": "slow"}) == []


def test_another_model_is_a_mismatch() -> None:
    begin = {"type": "Begin", "id": "x", "configuration": {"model": "whisper-rt"}}
    assert verdict(heard(codec(), begin)) == (FailureKind.MODEL_MISMATCH, None, False)


def test_a_model_whose_name_cannot_be_asked_for_is_no_mismatch() -> None:
    begin = {"type": "Begin", "id": "x", "configuration": {"model": "streaming-en-2026-03-large"}}
    assert heard(codec(), begin) == []


@pytest.mark.parametrize("more", [{}, {"configuration": None}, {"configuration": {"model": None}}])
def test_a_model_that_is_not_named_is_no_mismatch(more: dict[str, Any]) -> None:
    assert heard(codec(), {"type": "Begin", "id": "x", **more}) == []


def test_a_refused_upgrade_has_the_kind_of_its_status() -> None:
    assert refused_upgrade(codec(), 401, {"error": "no"}) == (FailureKind.AUTH, "401", False)
    assert refused_upgrade(codec(), 429, {"error": "no"}) == (FailureKind.RATE_LIMITED, "429", True)


async def test_an_error_after_the_end_is_of_the_finish() -> None:
    error = {"type": "Error", "error_code": 3005, "error": "no"}
    failure = (await converse(codec(), first=[BEGIN], last="Terminate", then=[error])).failure
    assert failure is not None
    assert (failure.kind, failure.phase, failure.code) == (FailureKind.SERVER_ERROR, Phase.FINISH, "3005")


@pytest.mark.parametrize(
    ("then", "kind"),
    [
        ([turn(""), TERMINATION], FailureKind.EMPTY),
        ([TERMINATION], FailureKind.EMPTY),
        ([turn("ten of", ended=False), TERMINATION], FailureKind.PROTOCOL),
        ([turn("ten of", ended=False), Closed(1000)], FailureKind.CONNECTION_LOST),
    ],
    ids=["empty final", "only the end", "only partials", "close without the end"],
)
async def test_an_answer_without_words_is_a_failure(then: list[Any], kind: FailureKind) -> None:
    failure = (await converse(codec(), first=[BEGIN], last="Terminate", then=then)).failure
    assert failure is not None
    assert (failure.kind, failure.phase) == (kind, Phase.FINISH)


async def test_no_answer_after_the_end_is_a_final_timeout() -> None:
    limits = Limits(final_timeout_s=0.01)
    failure = (await converse(codec(), first=[BEGIN], last="Terminate", hangs=True, limits=limits)).failure
    assert failure is not None
    assert failure.kind is FailureKind.FINAL_TIMEOUT
