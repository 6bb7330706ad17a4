"""What holds for every codec of the catalog that speaks over a websocket."""

import copy
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sayagain.failures import sanitized
from sayagain.providers.access import Closed
from sayagain.providers.catalog import entries
from sayagain.providers.codec import AudioBegins, AudioChunk, Done, Final, Partial, Ready, Refused
from sayagain.providers.network import WebsocketCodec, json_object
from sayagain.records import Phase
from sayagain.transports.conversation import refusal
from support.codecs import KEY, codec_of

TARGETS = {
    entry.load_codec(): entry.target().key for entry in entries() if issubclass(entry.load_codec(), WebsocketCodec)
}
EVERY = pytest.mark.parametrize("key", TARGETS.values(), ids=[codec.__name__ for codec in TARGETS])

TRANSCRIPTION = "conversation.item.input_audio_transcription"
ERROR = {"code": "input_audio_buffer_commit_empty", "type": "invalid_request_error", "message": "no"}
SAMPLES: dict[str, list[dict[str, Any]]] = {
    "assemblyai": [
        {"type": "Begin", "configuration": {"model": "x"}},
        {"type": "Turn", "turn_order": 0, "turn_is_formatted": False, "end_of_turn": True, "transcript": "x"},
        {"type": "Error", "error_code": 3005, "error": "no"},
        {"type": "Termination"},
    ],
    "cartesia": [
        {"type": "transcript", "is_final": True, "text": "x"},
        {"type": "chunk", "data": "AAAA", "done": False},
        {"type": "error", "title": "x", "message": "no", "error_code": "x", "status_code": 429},
        {"type": "done"},
    ],
    "deepgram": [
        {
            "type": "Results",
            "is_final": True,
            "channel": {"alternatives": [{"transcript": "x"}]},
            "metadata": {"model_info": {"arch": "nova-3"}},
        },
        {"type": "TurnInfo", "event": "EndOfTurn", "turn_index": 0, "transcript": "x", "audio_window_end": 1.5},
        {"type": "Metadata", "model_name": "x"},
        {"type": "Error", "variant": "x", "code": "x", "description": "no"},
        {"type": "Flushed"},
    ],
    "elevenlabs": [
        {"message_type": "session_started", "config": {"model_id": "x"}},
        {"message_type": "partial_transcript", "text": "x"},
        {"message_type": "committed_transcript", "text": "x"},
        {"message_type": "commit_throttled", "error": "no"},
        {"audio": "AAAA", "isFinal": True},
        {"message": "no", "error": "x", "code": 1008},
    ],
    "gladia": [
        {"type": "transcript", "data": {"id": "x", "is_final": True, "utterance": {"text": "x"}}},
        {"type": "stop_recording", "acknowledged": False, "error": {"message": "no"}},
    ],
    "hume": [
        {"type": "audio", "audio": "AAAA", "is_last_chunk": True},
        {"type": "error", "code": "E0100", "message": "no", "details": {"type": "x"}},
    ],
    "openai": [
        {"type": "session.updated", "session": {"audio": {"input": {"transcription": {"model": "x"}}}}},
        {"type": "input_audio_buffer.committed", "item_id": "x"},
        {"type": f"{TRANSCRIPTION}.delta", "item_id": "x", "delta": "x"},
        {"type": f"{TRANSCRIPTION}.completed", "item_id": "x", "transcript": "x"},
        {"type": f"{TRANSCRIPTION}.failed", "item_id": "x", "error": ERROR},
        {"type": "error", "error": ERROR},
    ],
    "rime": [{"type": "chunk", "data": "AAAA"}, {"type": "done"}, {"type": "error", "message": "no"}],
    "soniox": [
        {"tokens": [{"text": "x", "is_final": True, "start_ms": 1, "end_ms": 2}], "finished": True},
        {"tokens": [], "error_code": 503, "error_message": "no"},
    ],
    "speechmatics": [
        {"message": "RecognitionStarted"},
        {"message": "AddTranscript", "metadata": {"transcript": "x", "start_time": 0.5, "end_time": 1}},
        {"message": "AddPartialTranscript", "metadata": {"transcript": "x"}},
        {"message": "Error", "type": "job_error", "reason": "no"},
        {"message": "EndOfTranscript"},
    ],
}

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)
CLOSES = st.builds(Closed, st.integers(1000, 4999), st.text(max_size=40) | VALUES.map(json.dumps))
STRAY = VALUES.map(json.dumps) | st.text(max_size=50) | st.binary(max_size=50) | CLOSES


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Return the path of every value inside a message."""
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [at for key, item in inner for at in ((*path, key), *places(item, (*path, key)))]


@st.composite
def damaged(draw: st.DrawFn, samples: list[dict[str, Any]]) -> str:
    """Draw a message of a provider in which up to two values are others, or are missing."""
    message = copy.deepcopy(draw(st.sampled_from(samples)))
    for _ in range(draw(st.integers(0, 2))):
        *path, last = draw(st.sampled_from(places(message) or [("type",)]))
        holder = message
        for key in path:
            holder = holder[key]
        if draw(st.booleans()):
            holder[last] = draw(VALUES)
        elif isinstance(holder, dict):
            holder.pop(last, None)
    return json.dumps(message)


def understood(codec: Any, frame: Any) -> None:
    """Feed a frame; check that what comes back is well formed, or that it is refused in one of the three ways."""
    try:
        signals = list(codec.receive(frame))
    except (ValueError, KeyError, TypeError):
        return
    for signal in signals:
        assert isinstance(signal, AudioBegins | AudioChunk | Done | Final | Partial | Ready | Refused)
        if isinstance(signal, Final | Partial):
            assert isinstance(signal.text, str)
        if isinstance(signal, Final):
            assert signal.segment is None or isinstance(signal.segment, str)
        if isinstance(signal, Refused):
            assert isinstance(signal.message, str)
            assert signal.code is None or isinstance(signal.code, str)


@EVERY
def test_any_frame_is_understood_or_refused_as_senseless(key: str) -> None:
    samples = SAMPLES.get(key.partition(":")[2].partition("/")[0])
    frame = STRAY if samples is None else damaged(samples) | STRAY

    @given(st.lists(frame, max_size=4), st.booleans())
    def check(frames: list[Any], ended: bool) -> None:
        codec = codec_of(key)
        if ended and hasattr(codec, "end"):
            list(codec.end())
        for frame in frames:
            understood(codec, frame)

    check()


@EVERY
@given(
    code=st.sampled_from(["quota_exceeded", "E0100", "NET-0001", "4711"]),
    status=st.none() | st.integers(400, 599),
    close=st.integers(1007, 1014) | st.integers(3000, 3008) | st.integers(4000, 4999),
)
def test_a_code_that_is_reported_is_still_there_when_the_failure_has_been_sanitized(
    key: str, code: str, status: int | None, close: int
) -> None:
    codec = codec_of(key)
    refusals = [codec.refused(code, "no", status=status), *codec.closed(Closed(close, code))]
    for refused in refusals:
        if isinstance(refused, Refused):
            failure = refusal(refused, Phase.RECEIVE).failure
            assert failure.code is not None
            assert sanitized(failure, failure.message, "somebody").code == failure.code


@EVERY
def test_the_key_is_in_no_url_and_in_no_message(key: str) -> None:
    codec = codec_of(key)
    prepared = codec.prepare()
    if prepared is not None:
        assert KEY not in prepared.url
        codec.prepared({"url": "wss://example.test/?token=t"})
    assert KEY not in codec.open().url
    if hasattr(codec, "end"):
        frames = [*codec.opening(), *codec.audio(bytes(3200)), *codec.end()]
    else:
        frames = list(codec.text("ten of clubs"))
    assert frames
    assert not any(KEY in frame for frame in frames if isinstance(frame, str))


@EVERY
def test_a_refusal_that_quotes_the_key_as_its_code_does_not_keep_it(key: str) -> None:
    assert KEY not in str(codec_of(key).refused(KEY, "no").code)


@pytest.mark.parametrize(
    "text", ['{"text": "\\ud800"}', '{"value": NaN}', '{"value": Infinity}', b'{"text": "\xff"}', "[" * 100_000]
)
def test_what_could_be_stored_nowhere_is_no_message(text: str | bytes) -> None:
    with pytest.raises(ValueError, match="JSON"):
        json_object(text)
