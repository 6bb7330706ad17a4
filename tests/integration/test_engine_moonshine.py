"""What the moonshine library forgets and remembers when it should not, in exact steps of 20 ms."""

import json
import wave
from importlib.resources import as_file, files

import pytest

from sayagain.engines.interface import SttEngine
from sayagain.engines.moonshine import Moonshine
from sayagain.engines.registry import find

BUILTIN = files("sayagain.datasets") / "builtin" / "librivox-5"
CHUNK_BYTES = 640
BYTES_PER_MS = 32

pytestmark = [
    pytest.mark.engines,
    pytest.mark.skipif(not find("moonshine").installed(), reason="moonshine-voice is not installed"),
]


@pytest.fixture(scope="module")
def moonshine() -> SttEngine:
    engine = Moonshine()
    engine.warm_up()
    return engine


def clip(index: int) -> bytes:
    item = json.loads((BUILTIN / "manifest.json").read_text("utf-8"))["items"][index]
    with as_file(BUILTIN / item["audio"]) as path, wave.open(str(path), "rb") as recording:
        return recording.readframes(recording.getnframes())


def heard(engine: SttEngine, pcm: bytes) -> str:
    utterance = engine.begin()
    for start in range(0, len(pcm), CHUNK_BYTES):
        utterance.accept(pcm[start : start + CHUNK_BYTES])
    text = utterance.finish().hypothesis
    utterance.close()
    return text


@pytest.mark.parametrize("lead_ms", [0, 100, 300])
def test_the_last_word_is_heard_wherever_the_updates_fall(moonshine: SttEngine, lead_ms: int) -> None:
    """Stopping its stream, the library drops what it has not analyzed: up to half a second of speech."""
    until_the_end_of_speech = clip(0)[: 6900 * BYTES_PER_MS]
    assert heard(moonshine, bytes(lead_ms * BYTES_PER_MS) + until_the_end_of_speech).endswith("for them.")


def test_what_was_heard_before_changes_nothing(moonshine: SttEngine) -> None:
    """The voice detector that all streams share is never reset by the library."""
    after_one = [heard(moonshine, clip(index)) for index in (2, 1)]
    after_another = [heard(moonshine, clip(index)) for index in (0, 1)]
    assert after_one[-1] == after_another[-1]


def test_an_abandoned_utterance_changes_nothing(moonshine: SttEngine) -> None:
    alone = heard(moonshine, clip(1))
    abandoned = moonshine.begin()
    abandoned.accept(clip(2))
    abandoned.close()
    assert heard(moonshine, clip(1)) == alone


def test_segments_join_to_the_hypothesis(moonshine: SttEngine) -> None:
    pause = bytes(1500 * BYTES_PER_MS)
    pcm = clip(1) + pause + clip(4) + pause
    utterance = moonshine.begin()
    segments: list[str] = []
    for start in range(0, len(pcm), CHUNK_BYTES):
        segments += utterance.accept(pcm[start : start + CHUNK_BYTES]).segments
    assert len(segments) == 2
    last = utterance.finish()
    utterance.close()
    assert " ".join([*segments, *last.segments]) == last.hypothesis
