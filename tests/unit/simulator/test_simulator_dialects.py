"""Dialects take whatever a client sends: they understand it, or refuse it in their own words, and never fail."""

import io
import json
from contextlib import suppress

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sayagain.simulator import tone
from sayagain.simulator.faults import ErrorKind
from sayagain.simulator.journal import Journal, Record
from sayagain.simulator.plan import Plan
from sayagain.simulator.protocols import PROTOCOLS
from sayagain.simulator.protocols.base import ClientError, Opening, Segment, StreamDialect, SttDialect, TtsDialect
from sayagain.simulator.scenario import Tts, scenario
from sayagain.simulator.texts import Ear, Shelf
from sayagain.simulator.utterance import audio_for
from sayagain.simulator.wire import MALFORMED, padded

STREAMS = {name: dialect for name, dialect in PROTOCOLS.items() if issubclass(dialect, StreamDialect)}
STT = {name: dialect for name, dialect in STREAMS.items() if issubclass(dialect, SttDialect)}

NAMES = """type message message_type operation text audio session audio_format sample_rate transcription_config
last_seq_no model api_key context_id output_format close flush"""
KEYS = st.sampled_from(NAMES.split())
VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-5, 5)
    | st.text()
    | st.sampled_from(["Speak", "session.update", "eos"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3),
    max_leaves=8,
)
MESSAGES = st.binary() | st.text() | st.dictionaries(KEYS, VALUES).map(json.dumps)


@pytest.mark.parametrize("protocol", STREAMS)
@given(st.lists(MESSAGES, max_size=4), st.dictionaries(st.text(), st.text(), max_size=2))
def test_any_message_is_understood_or_refused(
    protocol: str, messages: list[str | bytes], query: dict[str, str]
) -> None:
    dialect = STREAMS[protocol](Opening(query, {}, model="other"))
    for message in messages:
        with suppress(ClientError):
            dialect.hear(message)  # type: ignore[attr-defined]


@pytest.mark.parametrize("protocol", STREAMS)
@pytest.mark.parametrize("error", ErrorKind)
def test_every_error_can_be_said_and_its_close_is_legal(protocol: str, error: ErrorKind) -> None:
    dialect = STREAMS[protocol](Opening({}, {}))
    assert isinstance(dialect, StreamDialect)
    report = dialect.report(error, "what went wrong")
    for frame in report.frames:
        json.loads(frame)
    # RFC 6455, 7.4: 1004 to 1006 and 1015 are never sent.
    assert report.code in {*range(1000, 1004), *range(1007, 1015), *range(3000, 5000)}
    assert len(report.reason.encode()) <= 123


@pytest.mark.parametrize("protocol", STT)
def test_segments_of_a_transcript_have_ids_or_the_protocol_says_that_it_has_none(protocol: str) -> None:
    dialect = STT[protocol](Opening({"interim_results": "true"}, {}))
    assert isinstance(dialect, SttDialect)
    dialect.ear = Ear(Shelf.of([]))
    segments = [Segment(0, "one two", 0.0, 0.5), Segment(1, "three", 0.5, 1.0)]
    first, second = ([json.loads(frame) for frame in dialect.final(segment)] for segment in segments)
    assert first
    assert second
    if "done_repeats" not in dialect.impossible:
        assert dialect.repeated(segments)


def test_audio_is_silent_for_the_stated_time_and_audible_from_the_next_sample() -> None:
    samples = np.frombuffer(tone.speech(10, 16_000, 50, 25), "<i2")
    assert len(samples) == 400 + 8000
    assert not samples[:400].any()
    assert samples[400] > 9000


@given(
    st.text(min_size=1, max_size=50), st.sampled_from(["odd_chunks", "stray_wav_header", None]), st.floats(1, 200)
)
def test_chunks_join_to_the_whole_audio(text: str, kind: str | None, chunk_ms: float) -> None:
    table = {"faults": [{"kind": kind}] if kind else []}
    script = scenario({"endpoints": {"tts-rime": table}})
    behaviour = Tts(chunk_ms=chunk_ms, ms_per_character=2)
    audio = audio_for(text, 24_000, behaviour, Plan(script, script.endpoints["tts-rime"], 0))
    chunks = list(audio)
    assert b"".join(chunks) == audio.content
    assert len(chunks) == audio.chunks
    pcm = tone.speech(len(text), 24_000, 2, 0)
    assert audio.content[44 if kind == "stray_wav_header" else 0 :] == pcm
    if kind == "odd_chunks":
        assert all(len(chunk) % 2 for chunk in chunks[:-1])


def test_a_malformed_message_is_no_json_and_a_padded_one_says_the_same() -> None:
    with pytest.raises(json.JSONDecodeError):
        json.loads(MALFORMED)
    message = padded('{"a": 1}', 1000)
    assert len(message) == 1000
    assert json.loads(message) == {"a": 1}
    assert padded(b"ab", 7) == b"ab" + bytes(6)


def test_the_journal_writes_whole_lines() -> None:
    stream = io.BytesIO()
    journal = Journal(stream)
    record = Record(journal, "stt-soniox", 4)
    record.note("request", 17, ordinal=0)
    assert stream.getvalue() == b"", "gathered, not written"
    record.flush()
    assert json.loads(stream.getvalue()) == {
        "t_ns": 17,
        "endpoint": "stt-soniox",
        "connection": 4,
        "event": "request",
        "ordinal": 0,
    }


def test_every_tts_dialect_knows_its_rate_without_being_told() -> None:
    rates = {
        name: dialect(Opening({}, {})).rate for name, dialect in STREAMS.items() if issubclass(dialect, TtsDialect)
    }
    assert rates == dict.fromkeys(rates, 24_000) | {"tts-hume": 48_000}
