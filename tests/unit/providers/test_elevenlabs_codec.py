"""ElevenLabs' codecs, fed with frames."""

import base64
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from sayagain.providers.access import Closed
from sayagain.providers.codec import AudioBegins, Done, Final
from sayagain.records import AudioFormat, FailureKind, Phase, Setting
from support.codecs import CLOSE, KEY, codec_of, converse, heard, pcm_of, refused_upgrade, sent, verdict

STARTED = {"message_type": "session_started", "session_id": "x", "config": {"model_id": "scribe_v2_realtime"}}
FINAL = {"audio": None, "isFinal": True, "alignment": None}


def stt(**settings: Setting) -> Any:
    return codec_of("stt:elevenlabs/scribe_v2_realtime", **settings)


def tts(**settings: Setting) -> Any:
    return codec_of("tts:elevenlabs/eleven_flash_v2_5/george", **settings)


def said(kind: str, text: str) -> dict[str, Any]:
    return {"message_type": kind, "text": text}


def problem(kind: str) -> dict[str, Any]:
    return {"message_type": kind, "error": "no"}


def audio(pcm: bytes) -> dict[str, Any]:
    return {"audio": base64.b64encode(pcm).decode(), "isFinal": None, "alignment": None}


def test_it_asks_with_every_setting_in_the_query_and_the_key_in_a_header() -> None:
    request = stt().open()
    query = parse_qs(urlsplit(request.url).query)
    assert request.url.startswith("wss://api.elevenlabs.io/v1/speech-to-text/realtime?")
    assert query["model_id"] == ["scribe_v2_realtime"]
    assert query["audio_format"] == ["pcm_16000"]
    assert query["commit_strategy"] == ["manual"]
    assert request.headers == {"xi-api-key": KEY}


async def test_the_transcript_after_the_last_commit_is_the_end() -> None:
    outcome = await converse(
        stt(),
        first=[STARTED, said("partial_transcript", "ten"), said("committed_transcript", "ten of")],
        last='"commit":true',
        then=[said("partial_transcript", "clu"), said("committed_transcript", "clubs")],
        hangs=True,
    )
    assert outcome.transcript == "ten of clubs"
    chunk, commit = outcome.sent[0], outcome.sent[-1]
    assert chunk["message_type"] == commit["message_type"] == "input_audio_chunk"
    assert (chunk["commit"], chunk["sample_rate"]) == (False, 16000)
    assert base64.b64decode(chunk["audio_base_64"]) == bytes(320)
    assert (commit["commit"], commit["audio_base_64"]) == (True, "")


def test_the_same_segment_with_timestamps_is_not_counted_again() -> None:
    speaker = stt(include_timestamps=True)
    timed = said("committed_transcript_with_timestamps", "no")
    segments = (said("committed_transcript", "no"), timed, said("committed_transcript", "no"), timed)
    assert heard(speaker, *segments) == [Final("no"), Final("no")]


def test_too_little_audio_for_the_last_commit_is_the_end_when_the_rest_was_committed() -> None:
    speaker = stt(commit_strategy="vad")
    heard(speaker, said("partial_transcript", "ten"), said("committed_transcript", "ten"))
    list(speaker.end())
    assert heard(speaker, problem("commit_throttled")) == [Done()]


def test_a_transcript_that_is_still_due_is_waited_for_after_a_commit_of_too_little() -> None:
    speaker = stt(commit_strategy="vad")
    heard(speaker, said("committed_transcript", "ten"), said("partial_transcript", "of clubs"))
    list(speaker.end())
    assert heard(speaker, problem("commit_throttled")) == []
    assert heard(speaker, said("committed_transcript", "of clubs")) == [Final("of clubs"), Done()]


@pytest.mark.parametrize(
    ("code", "kind", "retryable"),
    [
        ("error", FailureKind.SERVER_ERROR, True),
        ("auth_error", FailureKind.AUTH, False),
        ("quota_exceeded", FailureKind.QUOTA, False),
        ("commit_throttled", FailureKind.BAD_REQUEST, False),
        ("transcriber_error", FailureKind.SERVER_ERROR, True),
        ("unaccepted_terms", FailureKind.AUTH, False),
        ("rate_limited", FailureKind.RATE_LIMITED, True),
        ("input_error", FailureKind.BAD_REQUEST, False),
        ("invalid_request", FailureKind.BAD_REQUEST, False),
        ("queue_overflow", FailureKind.RATE_LIMITED, True),
        ("resource_exhausted", FailureKind.SERVER_ERROR, True),
        ("session_time_limit_exceeded", FailureKind.CONNECTION_LOST, True),
        ("chunk_size_exceeded", FailureKind.BAD_REQUEST, False),
        ("insufficient_audio_activity", FailureKind.EMPTY, False),
        ("an_error_of_tomorrow", FailureKind.SERVER_ERROR, True),
    ],
)
async def test_an_error_has_the_kind_of_its_type(code: str, kind: FailureKind, retryable: bool) -> None:
    assert verdict(heard(stt(), problem(code))) == (kind, code, retryable)
    failure = (await converse(stt(), first=[STARTED], last='"commit":true', then=[problem(code)])).failure
    assert failure is not None
    assert (failure.kind, failure.phase, failure.code) == (kind, Phase.FINISH, code)


def test_a_warning_is_no_error_and_another_model_is_a_mismatch() -> None:
    assert heard(stt(), {"message_type": "warning", "warning": "slow"}) == []
    other = {"message_type": "session_started", "session_id": "x", "config": {"model_id": "scribe_v1"}}
    assert verdict(heard(stt(), other)) == (FailureKind.MODEL_MISMATCH, None, False)
    assert heard(stt(), {"message_type": "session_started", "session_id": "x"}) == []


@pytest.mark.parametrize(
    ("then", "kind"),
    [
        ([said("committed_transcript", "")], FailureKind.EMPTY),
        ([said("partial_transcript", "ten"), CLOSE], FailureKind.CONNECTION_LOST),
        ([Closed(1011)], FailureKind.SERVER_ERROR),
    ],
    ids=["empty final", "only partials", "close with an error"],
)
async def test_an_answer_without_words_is_a_failure(then: list[Any], kind: FailureKind) -> None:
    failure = (await converse(stt(), first=[STARTED], last='"commit":true', then=then)).failure
    assert failure is not None
    assert (failure.kind, failure.phase) == (kind, Phase.FINISH)


def test_a_voice_is_asked_for_in_the_path_and_its_settings_come_before_the_text() -> None:
    speaker = tts()
    request = speaker.open()
    path, _, query = request.url.partition("?")
    assert path == "wss://api.elevenlabs.io/v1/text-to-speech/JBFqnCBsd6RMkjVDRZzb/stream-input"
    assert parse_qs(query)["output_format"] == ["pcm_24000"]
    first, text, end = sent(speaker.text("ten of clubs"))
    assert first["text"] == " "
    assert first["voice_settings"]["stability"] == 0.5
    assert (text, end) == ({"text": "ten of clubs "}, {"text": ""})


def test_a_voice_cannot_leave_its_place_in_the_path() -> None:
    assert "/text-to-speech/..%2F..%2Fuser%3Fx/stream-input?" in tts(voice="../../user?x").open().url


def test_audio_is_whole_samples_and_is_final_is_the_end() -> None:
    signals = heard(tts(), audio(b"\1\2\3"), audio(b"\4"), FINAL)
    assert signals[0] == AudioBegins(AudioFormat(rate=24_000))
    assert signals[-1] == Done()
    assert pcm_of(signals) == b"\1\2\3\4"


async def test_audio_without_is_final_is_a_lost_connection_and_is_final_without_audio_is_empty() -> None:
    cut = (await converse(tts(), then=[audio(bytes(20)), CLOSE])).failure
    assert cut is not None
    assert (cut.kind, cut.phase) == (FailureKind.CONNECTION_LOST, Phase.RECEIVE)
    empty = (await converse(tts(), then=[FINAL])).failure
    assert empty is not None
    assert (empty.kind, empty.phase) == (FailureKind.EMPTY, Phase.RECEIVE)


@pytest.mark.parametrize(
    ("code", "kind", "retryable"),
    [
        ("invalid_api_key", FailureKind.AUTH, False),
        ("quota_exceeded", FailureKind.QUOTA, False),
        ("too_many_concurrent_requests", FailureKind.RATE_LIMITED, True),
        ("system_busy", FailureKind.SERVER_ERROR, True),
        ("internal_error", FailureKind.SERVER_ERROR, True),
        ("input_timeout_exceeded", FailureKind.IDLE_TIMEOUT, False),
        ("max_contexts_exceeded", FailureKind.BAD_REQUEST, False),
    ],
)
def test_an_error_in_synthesis_has_the_kind_of_its_code(code: str, kind: FailureKind, retryable: bool) -> None:
    answer = {"message": "no", "error": code, "code": 1008}
    assert verdict(heard(tts(), answer)) == (kind, code, retryable)


def test_an_error_that_is_a_sentence_goes_by_the_code_of_its_close() -> None:
    answer = {"message": "no", "error": "You used too many contexts.", "code": 1008}
    assert verdict(heard(tts(), answer)) == (FailureKind.BAD_REQUEST, "1008", False)


def test_a_refused_upgrade_goes_by_the_code_in_its_body_before_its_status() -> None:
    for codec in (stt(), tts()):
        body = {"detail": {"status": "quota_exceeded", "message": "no"}}
        assert refused_upgrade(codec, 401, body) == (FailureKind.QUOTA, "401/quota_exceeded", False)
        assert refused_upgrade(codec, 403, {"detail": "no"}) == (FailureKind.AUTH, "403", False)
