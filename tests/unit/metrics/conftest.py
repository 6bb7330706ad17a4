"""Builders of traces and cases whose moments are written in milliseconds."""

from collections.abc import Callable

import pytest

from sayagain.records import (
    Attempt,
    AudioFormat,
    Benchmark,
    Case,
    Event,
    EventKind,
    Failure,
    FinishedCase,
    Item,
    Setting,
    SpeechSpan,
    Target,
    Trace,
)

Moment = tuple[float, EventKind] | tuple[float, EventKind, str | int]
Build = Callable[..., FinishedCase]


def _events(moments: list[Moment]) -> tuple[Event, ...]:
    events = []
    for t_ms, kind, *payload in moments:
        value = payload[0] if payload else None
        text = value if isinstance(value, str) else None
        size = value if isinstance(value, int) else None
        events.append(Event(round(t_ms * 1_000_000), kind, text, size))
    return tuple(events)


def _finished(case: Case, trace: Trace, failure: Failure | None) -> FinishedCase:
    return FinishedCase(case=case, attempts=(Attempt(number=1, trace=trace, failure=failure),))


@pytest.fixture
def stt_case() -> Build:
    """Build a finished STT case; speech runs from 0.5 s to 2.0 s of 2.5 s unless said."""

    def build(
        moments: list[Moment],
        *,
        transcript: str | None = None,
        text: str = "put the kettle on",
        speech: tuple[float, float] | None = (0.5, 2.0),
        duration_s: float | None = 2.5,
        language: str = "en",
        settings: dict[str, Setting] | None = None,
        failure: Failure | None = None,
    ) -> FinishedCase:
        target = Target(benchmark=Benchmark.STT, provider="acme", model="ear", settings=settings or {})
        span = SpeechSpan(start_s=speech[0], end_s=speech[1], vad="by hand") if speech else None
        item = Item(id="one", text=text, sha256="0" * 64, duration_s=duration_s, speech=span, language=language)
        trace = Trace(started="2026-01-01T00:00:00.000Z", events=_events(moments), transcript=transcript)
        return _finished(Case.of(target, item), trace, failure)

    return build


@pytest.fixture
def tts_case() -> Build:
    """Build a finished TTS case from its audio and the (ms, bytes) of its chunks; the text is sent at 100 ms."""

    def build(
        pcm: bytes,
        chunks: list[tuple[float, int]],
        *,
        audio_format: AudioFormat | None = AudioFormat(rate=16_000),  # noqa: B008 - a frozen record
        text_sent_ms: float | None = 100,
        failure: Failure | None = None,
    ) -> FinishedCase:
        target = Target(benchmark=Benchmark.TTS, provider="acme", model="mouth")
        item = Item(id="one", text="your order is on its way", sha256="0" * 64)
        moments: list[Moment] = [] if text_sent_ms is None else [(text_sent_ms, EventKind.TEXT_SENT)]
        moments += [(t_ms, EventKind.AUDIO_RECEIVED, size) for t_ms, size in chunks]
        trace = Trace(
            started="2026-01-01T00:00:00.000Z",
            events=_events(moments),
            audio=pcm,
            audio_format=audio_format,
        )
        return _finished(Case.of(target, item), trace, failure)

    return build
