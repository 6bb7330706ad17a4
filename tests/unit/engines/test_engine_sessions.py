from collections.abc import Sequence
from typing import Any

import pytest
from wyoming.event import Event
from wyoming.info import Info

from sayagain.engines.interface import Emit, EngineError, Progress, SttEngine, TtsEngine, Utterance
from sayagain.engines.registry import find
from sayagain.engines.sessions import MAX_CHUNK_BYTES, MalformedEventError, Session, SttSession, TtsSession
from sayagain.records import AudioFormat

FORMAT = {"rate": 16000, "width": 2, "channels": 1}
SECRET = "what was said"


class ScriptedUtterance(Utterance):
    """Answers with the progress it was given, one for each `accept` and the last for `finish`."""

    def __init__(self, script: Sequence[Progress | Exception]) -> None:
        self.script = list(script)
        self.heard: list[bytes] = []
        self.closed = 0

    def accept(self, pcm: bytes) -> Progress:
        self.heard.append(pcm)
        return self._next()

    def finish(self) -> Progress:
        return self._next()

    def close(self) -> None:
        self.closed += 1

    def _next(self) -> Progress:
        step = self.script.pop(0)
        if isinstance(step, Exception):
            raise step
        return step


class ScriptedRecognizer(SttEngine):
    version = "7.0"

    def __init__(self, *scripts: Sequence[Progress | Exception]) -> None:
        self.utterances = [ScriptedUtterance(script) for script in scripts]
        self._next = iter(self.utterances)

    def warm_up(self) -> None:
        raise AssertionError("a session never warms up")

    def begin(self) -> Utterance:
        return next(self._next)


class ScriptedVoice(TtsEngine):
    version = "8.0"
    audio_format = AudioFormat(rate=22_050)

    def __init__(self, *pieces: bytes, error: Exception | None = None) -> None:
        self.pieces = pieces
        self.error = error
        self.stopped = False

    def warm_up(self) -> None:
        raise AssertionError("a session never warms up")

    def synthesize(self, text: str, emit: Emit) -> None:
        for piece in self.pieces:
            if not emit(piece):
                self.stopped = True
                return
        if self.error is not None:
            raise self.error


def recognizing(*scripts: Sequence[Progress | Exception]) -> tuple[SttSession, ScriptedRecognizer, list[Event]]:
    sent: list[Event] = []
    engine = ScriptedRecognizer(*scripts)
    return SttSession(engine, find("moonshine"), sent.append), engine, sent


def speaking(voice: ScriptedVoice) -> tuple[TtsSession, list[Event]]:
    sent: list[Event] = []
    return TtsSession(voice, find("espeak"), sent.append), sent


def tell(session: Session, *events: tuple[str, dict[str, Any]] | tuple[str, dict[str, Any], bytes]) -> None:
    for event in events:
        session.handle(Event(*event))


def summary(sent: list[Event]) -> list[tuple[str, str | None]]:
    return [(event.type, event.data.get("text") or event.data.get("code")) for event in sent]


def chunk(pcm: bytes = b"\0\0") -> tuple[str, dict[str, Any], bytes]:
    return ("audio-chunk", FORMAT, pcm)


START = ("audio-start", FORMAT)
STOP: tuple[str, dict[str, Any]] = ("audio-stop", {})


def test_an_utterance_is_answered_with_every_change_and_then_the_transcript() -> None:
    session, engine, sent = recognizing(
        [
            Progress(),
            Progress(hypothesis="good"),
            Progress(hypothesis="good"),
            Progress(segments=("Good day.",), hypothesis="Good day. And"),
            Progress(segments=("And goodbye.",), hypothesis="Good day. And goodbye."),
        ]
    )
    tell(session, ("transcribe", {"language": "en"}), START, chunk(), chunk(), chunk(), chunk(), STOP)
    assert summary(sent) == [
        ("transcript-start", None),
        ("transcript-partial", "good"),
        ("transcript-chunk", "Good day."),
        ("transcript-partial", "Good day. And"),
        ("transcript-chunk", " And goodbye."),
        ("transcript", "Good day. And goodbye."),
        ("transcript-stop", None),
    ]
    assert engine.utterances[0].closed == 1


def test_the_chunks_of_a_transcript_join_to_the_transcript() -> None:
    session, _, sent = recognizing([Progress(segments=("a", "b")), Progress(segments=("c",))])
    tell(session, START, chunk(), STOP)
    chunks = [event.data["text"] for event in sent if event.type == "transcript-chunk"]
    assert "".join(chunks) == "a b c" == next(event.data["text"] for event in sent if event.type == "transcript")


def test_nothing_heard_is_an_empty_transcript_and_not_silence_on_the_wire() -> None:
    session, _, sent = recognizing([Progress()])
    tell(session, ("transcribe", {}), STOP)
    assert [event.type for event in sent] == ["transcript-start", "transcript", "transcript-stop"]
    assert sent[1].data["text"] == ""


def test_the_second_utterance_of_a_connection_starts_afresh() -> None:
    session, engine, sent = recognizing([Progress(segments=("one",))] * 2, [Progress(segments=("two",))] * 2)
    tell(session, START, chunk(), STOP, START, chunk(), STOP)
    assert [event.data["text"] for event in sent if event.type == "transcript"] == ["one one", "two two"]
    assert [utterance.closed for utterance in engine.utterances] == [1, 1]


def test_an_utterance_begun_anew_without_an_end_is_abandoned() -> None:
    session, engine, sent = recognizing([Progress(segments=("lost",))], [Progress(segments=("kept",))])
    tell(session, START, chunk(), START, STOP)
    assert engine.utterances[0].closed == 1
    assert [event.data["text"] for event in sent if event.type == "transcript"] == ["kept"]


def test_closing_a_session_closes_the_utterance_once() -> None:
    session, engine, _ = recognizing([Progress()])
    tell(session, START, chunk())
    session.close()
    session.close()
    assert engine.utterances[0].closed == 1


@pytest.mark.parametrize("layout", [{"rate": 8000}, {"width": 4}, {"channels": 2}])
def test_audio_in_another_format_is_refused_once_and_by_name(layout: dict[str, int]) -> None:
    session, _, sent = recognizing()
    wrong = FORMAT | layout
    tell(session, ("audio-start", wrong), ("audio-chunk", wrong, b"\0\0"), STOP)
    assert summary(sent) == [("error", sent[0].data["text"])]
    assert sent[0].data["code"] == "audio-format"
    assert str(next(iter(layout.values())) * (8 if "width" in layout else 1)) in sent[0].data["text"]


def test_a_format_that_changes_in_the_middle_is_refused_and_ends_the_utterance() -> None:
    session, engine, sent = recognizing([Progress()])
    tell(session, START, chunk(), ("audio-chunk", FORMAT | {"rate": 8000}, b"\0\0"), chunk(), STOP)
    assert [event.type for event in sent] == ["transcript-start", "error"]
    assert engine.utterances[0].closed == 1


def test_half_a_sample_is_refused() -> None:
    session, _, sent = recognizing([])
    tell(session, START, chunk(b"\0\0\0"))
    assert sent[-1].data["code"] == "audio-format"


def test_after_an_error_the_next_utterance_is_served() -> None:
    session, _, sent = recognizing([Progress(segments=("fine",))])
    tell(session, ("audio-start", FORMAT | {"rate": 8000}), STOP, START, STOP)
    assert ("transcript", "fine") in summary(sent)


@pytest.mark.parametrize("wish", [{"name": "large"}, {"language": "fr"}])
def test_another_model_or_language_is_refused_and_its_audio_ignored(wish: dict[str, str]) -> None:
    session, _, sent = recognizing()
    tell(session, ("transcribe", wish), chunk(), STOP)
    assert [event.data.get("code") for event in sent] == ["bad-request"]


@pytest.mark.parametrize("language", ["en", "en-US", "en_GB", "EN"])
def test_a_language_is_matched_by_its_first_part(language: str) -> None:
    session, _, sent = recognizing()
    tell(session, ("transcribe", {"name": "tiny-en", "language": language}))
    assert sent == []


def test_an_engines_own_fault_is_told_in_its_words_and_anybody_elses_without_any() -> None:
    session, _, sent = recognizing([EngineError("out of order")], [ValueError(SECRET)])
    tell(session, START, chunk(), STOP, START, chunk())
    errors = [event for event in sent if event.type == "error"]
    assert [error.data["code"] for error in errors] == ["engine-error", "engine-error"]
    assert errors[0].data["text"] == "out of order"
    assert "ValueError" in errors[1].data["text"]
    assert SECRET not in errors[1].data["text"]


def test_an_engine_that_reports_a_malformed_value_does_not_end_the_connection_as_malformed() -> None:
    session, _, sent = recognizing([KeyError("rate")])
    tell(session, START, chunk())
    assert sent[-1].data["code"] == "engine-error"


@pytest.mark.parametrize(
    "event",
    [("audio-start", {}), ("audio-chunk", {"rate": 16000}, b"\0\0"), ("transcribe", {"language": 5})],
)
def test_an_event_without_its_fields_is_malformed(event: tuple[str, dict[str, Any]]) -> None:
    session, _, _ = recognizing()
    with pytest.raises(MalformedEventError):
        tell(session, event)


@pytest.mark.parametrize("data", [{}, {"text": 5}, {"text": "x", "voice": 3}, {"text": None}])
def test_a_synthesis_without_a_text_is_malformed(data: dict[str, Any]) -> None:
    session, _ = speaking(ScriptedVoice())
    with pytest.raises(MalformedEventError):
        tell(session, ("synthesize", data))


def test_unknown_events_are_ignored() -> None:
    session, _, sent = recognizing()
    tell(session, ("ping", {}), ("synthesize", {"text": "not for a recognizer"}))
    assert sent == []


def test_a_client_that_is_gone_is_not_mistaken_for_a_fault_of_the_engine() -> None:
    def gone(event: Event) -> None:
        raise BrokenPipeError

    session = SttSession(ScriptedRecognizer([Progress()]), find("moonshine"), gone)
    with pytest.raises(BrokenPipeError):
        tell(session, START)


def test_the_engine_describes_itself_as_wyoming_asks() -> None:
    session, _, sent = recognizing()
    tell(session, ("describe", {}))
    program = Info.from_event(sent[0]).asr[0]
    assert (program.name, program.version, program.supports_transcript_streaming) == ("moonshine", "7.0", True)
    assert [(model.name, model.languages) for model in program.models] == [("tiny-en", ["en-US"])]


def test_the_voice_describes_itself_as_wyoming_asks() -> None:
    session, sent = speaking(ScriptedVoice())
    tell(session, ("describe", {}))
    program = Info.from_event(sent[0]).tts[0]
    assert (program.name, program.version) == ("espeak", "8.0")
    assert [(voice.name, voice.languages) for voice in program.voices] == [("en-us", ["en-US"])]


def test_speech_is_sent_in_small_chunks_in_order() -> None:
    pcm = bytes(range(256)) * 50
    session, sent = speaking(ScriptedVoice(pcm, b"\1\2"))
    tell(session, ("synthesize", {"text": "hello", "voice": {"language": "en"}}))
    chunks = [event.payload or b"" for event in sent if event.type == "audio-chunk"]
    assert [sent[0].type, sent[-1].type] == ["audio-start", "audio-stop"]
    assert b"".join(chunks) == pcm + b"\1\2"
    assert max(map(len, chunks)) <= MAX_CHUNK_BYTES
    assert all(event.data["rate"] == 22_050 for event in sent[:-1])


def test_a_blank_text_is_answered_with_no_audio() -> None:
    session, sent = speaking(ScriptedVoice(b"\1\2"))
    tell(session, ("synthesize", {"text": "  \n"}))
    assert [event.type for event in sent] == ["audio-start", "audio-stop"]


@pytest.mark.parametrize("voice", [{"name": "somebody"}, {"language": "de"}])
def test_another_voice_is_refused(voice: dict[str, str]) -> None:
    session, sent = speaking(ScriptedVoice())
    tell(session, ("synthesize", {"text": "hello", "voice": voice}))
    assert [event.data.get("code") for event in sent] == ["bad-request"]


def test_a_voice_that_fails_says_so_instead_of_ending_as_if_it_were_complete() -> None:
    session, sent = speaking(ScriptedVoice(b"\1\2", error=RuntimeError(SECRET)))
    tell(session, ("synthesize", {"text": SECRET}))
    assert [event.type for event in sent] == ["audio-start", "audio-chunk", "error"]
    assert SECRET not in sent[-1].data["text"]


def test_a_listener_who_leaves_stops_the_synthesis() -> None:
    voice = ScriptedVoice(b"\1\2", b"\3\4")

    def send(event: Event) -> None:
        if event.type == "audio-chunk":
            raise ConnectionResetError

    with pytest.raises(ConnectionResetError):
        TtsSession(voice, find("espeak"), send).handle(Event("synthesize", {"text": "hello"}))
    assert voice.stopped
