"""Speechmatics' codec, fed with frames."""

from typing import Any

import pytest

from sayagain.providers.access import Closed
from sayagain.providers.codec import Partial, Ready
from sayagain.records import FailureKind, Phase, Setting
from support.codecs import CLOSE, KEY, codec_of, converse, heard, sent, verdict

STARTED = {"message": "RecognitionStarted", "id": "x"}
END = {"message": "EndOfTranscript"}


def codec(**settings: Setting) -> Any:
    return codec_of("stt:speechmatics/enhanced", **settings)


def transcript(text: str, start: float, end: float, kind: str = "AddTranscript") -> dict[str, Any]:
    return {"message": kind, "metadata": {"transcript": text, "start_time": start, "end_time": end}, "results": []}


def partial(text: str) -> dict[str, Any]:
    return transcript(text, 0, 1, "AddPartialTranscript")


def error(kind: str) -> dict[str, Any]:
    return {"message": "Error", "type": kind, "reason": "no"}


def test_the_first_message_says_every_setting_and_the_key_is_in_a_header() -> None:
    speaker = codec(end_of_utterance_silence_trigger=0.5)
    request = speaker.open()
    assert request.url == "wss://eu2.rt.speechmatics.com/v2"
    assert request.headers == {"Authorization": f"Bearer {KEY}"}
    (start,) = sent(speaker.opening())
    assert start["message"] == "StartRecognition"
    assert start["audio_format"] == {"type": "raw", "encoding": "pcm_s16le", "sample_rate": 16000}
    assert start["transcription_config"] == {
        "model": "enhanced",
        "language": "en",
        "enable_partials": True,
        "enable_entities": False,
        "max_delay": 1.0,
        "max_delay_mode": "flexible",
        "diarization": "none",
        "conversation_config": {"end_of_utterance_silence_trigger": 0.5},
        "transcript_filtering_config": {"remove_disfluencies": False},
    }


def test_no_audio_is_sent_before_recognition_has_started() -> None:
    assert codec().awaits_ready
    assert heard(codec(), {"message": "Info", "type": "recognition_quality"}, STARTED) == [Ready()]


async def test_segments_are_joined_as_they_are_and_the_end_counts_the_chunks_of_audio() -> None:
    outcome = await converse(
        codec(),
        first=[STARTED, {"message": "AudioAdded", "seq_no": 1}, partial("ten"), transcript("ten of ", 0, 1)],
        last="EndOfStream",
        then=[transcript("club", 1, 2), transcript("s", 2, 2.5), END],
    )
    assert outcome.transcript == "ten of clubs"
    assert outcome.sent[1:3] == [bytes(320), bytes(320)]
    assert outcome.sent[-1] == {"message": "EndOfStream", "last_seq_no": 2}
    assert heard(codec(), partial("ten"), partial("")) == [Partial("ten")]


async def test_a_segment_sent_again_is_dropped_by_its_times_and_the_same_words_later_are_kept() -> None:
    again = [transcript("no ", 0, 1), transcript("no ", 0, 1), transcript("no ", 1, 2), transcript(".", 2, 2)]
    outcome = await converse(
        codec(), first=[STARTED], last="EndOfStream", then=[*again, transcript("?", 2, 2), END]
    )
    assert outcome.transcript == "no no .?"


@pytest.mark.parametrize(
    ("code", "kind", "retryable"),
    [
        ("invalid_message", FailureKind.BAD_REQUEST, False),
        ("invalid_model", FailureKind.BAD_REQUEST, False),
        ("invalid_language", FailureKind.BAD_REQUEST, False),
        ("invalid_config", FailureKind.BAD_REQUEST, False),
        ("invalid_audio_type", FailureKind.AUDIO_FORMAT, False),
        ("invalid_output_format", FailureKind.BAD_REQUEST, False),
        ("protocol_error", FailureKind.PROTOCOL, False),
        ("not_authorised", FailureKind.AUTH, False),
        ("not_allowed", FailureKind.AUTH, False),
        ("insufficient_funds", FailureKind.QUOTA, False),
        ("quota_exceeded", FailureKind.RATE_LIMITED, True),
        ("timelimit_exceeded", FailureKind.QUOTA, False),
        ("idle_timeout", FailureKind.IDLE_TIMEOUT, False),
        ("session_timeout", FailureKind.CONNECTION_LOST, True),
        ("job_error", FailureKind.SERVER_ERROR, True),
        ("buffer_error", FailureKind.SERVER_ERROR, True),
        ("unknown_error", FailureKind.SERVER_ERROR, True),
    ],
)
def test_an_error_has_the_kind_of_its_type(code: str, kind: FailureKind, retryable: bool) -> None:
    assert verdict(heard(codec(), error(code))) == (kind, code, retryable)


@pytest.mark.parametrize(
    ("code", "kind", "retryable"),
    [
        (1003, FailureKind.PROTOCOL, False),
        (1008, FailureKind.BAD_REQUEST, False),
        (1011, FailureKind.SERVER_ERROR, True),
        (4001, FailureKind.AUTH, False),
        (4003, FailureKind.AUTH, False),
        (4004, FailureKind.BAD_REQUEST, False),
        (4005, FailureKind.RATE_LIMITED, True),
        (4006, FailureKind.QUOTA, False),
        (4013, FailureKind.SERVER_ERROR, True),
    ],
)
def test_a_close_has_the_kind_of_its_code(code: int, kind: FailureKind, retryable: bool) -> None:
    assert verdict(heard(codec(), Closed(code, "reason"))) == (kind, str(code), retryable)


def test_a_warning_is_no_error() -> None:
    assert heard(codec(), {"message": "Warning", "type": "idle_timeout", "reason": "soon"}) == []


async def test_an_error_before_recognition_has_started_is_of_the_opening() -> None:
    failure = (await converse(codec(), first=[error("not_authorised")], last="EndOfStream")).failure
    assert failure is not None
    assert (failure.kind, failure.phase) == (FailureKind.AUTH, Phase.OPEN)


@pytest.mark.parametrize(
    ("then", "kind"),
    [
        ([transcript("", 0, 1), END], FailureKind.EMPTY),
        ([END], FailureKind.EMPTY),
        ([partial("ten"), END], FailureKind.PROTOCOL),
        ([partial("ten"), CLOSE], FailureKind.CONNECTION_LOST),
    ],
    ids=["empty final", "only the end", "only partials", "close without the end"],
)
async def test_an_answer_without_words_is_a_failure(then: list[Any], kind: FailureKind) -> None:
    failure = (await converse(codec(), first=[STARTED], last="EndOfStream", then=then)).failure
    assert failure is not None
    assert (failure.kind, failure.phase) == (kind, Phase.FINISH)
