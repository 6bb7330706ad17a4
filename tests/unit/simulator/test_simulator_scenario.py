"""Scenario files: what they say is done, and a mistake is named with its place."""

import json
from pathlib import Path

import pytest

from sayagain.errors import UsageError
from sayagain.simulator import faults
from sayagain.simulator.delays import Constant, Lognormal, Uniform
from sayagain.simulator.protocols import PROTOCOLS
from sayagain.simulator.scenario import Stt, Tts, load, scenario

TOML = """
seed = 7

[stt]
first_partial = { distribution = "lognormal", median_ms = 250, sigma = 0.4 }
finalization = { distribution = "uniform", low_ms = 100, high_ms = 200 }

[tts]
first_audio = { distribution = "constant", ms = 90 }

[endpoints.stt-deepgram]
word_error_rate = 0.1

[[endpoints.stt-deepgram.faults]]
kind = "http_error"
status = 429
retry_after = 1
cases = [0, 1]

[[endpoints.stt-deepgram.faults]]
kind = "close"
code = 1011
reason = "NET-0001"
probability = 0.5

[endpoints.slow]
protocol = "tts-rime"
first_audio = 900
"""


def test_a_toml_file_gives_every_endpoint_its_behaviour_and_faults(tmp_path: Path) -> None:
    path = tmp_path / "a.toml"
    path.write_text(TOML)
    loaded = load(path)
    deepgram, slow = loaded.endpoints["stt-deepgram"], loaded.endpoints["slow"]
    assert deepgram.behaviour == Stt(
        first_partial=Lognormal(250, 0.4), finalization=Uniform(100, 200), word_error_rate=0.1
    )
    assert deepgram.faults == (
        faults.HttpError(status=429, retry_after=1, cases=(0, 1)),
        faults.Close(code=1011, reason="NET-0001", probability=0.5),
    )
    assert slow.behaviour == Tts(first_audio=900)
    assert loaded.endpoints["tts-hume"].behaviour == Tts(first_audio=Constant(90))
    assert set(loaded.endpoints) == {*PROTOCOLS, "slow"}


def test_the_same_scenario_can_be_json(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_text(json.dumps({"seed": 3, "endpoints": {"stt-soniox": {"script": ["a", "b"]}}}))
    loaded = load(path)
    assert loaded.seed == 3
    assert loaded.endpoints["stt-soniox"].behaviour == Stt(script=("a", "b"))


def test_without_a_file_every_protocol_behaves_well() -> None:
    assert all(not endpoint.faults for endpoint in load(None).endpoints.values())


@pytest.mark.parametrize(
    ("values", "place"),
    [
        ({"sed": 1}, "`$`"),
        ({"stt": {"first_partial": -1}}, "`$.stt.first_partial`"),
        ({"stt": {"first_partial": {"distribution": "normal", "ms": 1}}}, "`$.stt.first_partial.distribution`"),
        (
            {"stt": {"finalization": {"distribution": "uniform", "low_ms": 2, "high_ms": 1}}},
            "`$.stt.finalization`",
        ),
        ({"endpoints": {"stt-deepgrm": {}}}, "`$.endpoints.stt-deepgrm.protocol`"),
        ({"endpoints": {"a b": {"protocol": "tts-rime"}}}, "`$.endpoints.a b`"),
        ({"endpoints": {"tts-rime": {"finalization": 1}}}, "`$.endpoints.tts-rime`"),
        ({"endpoints": {"tts-rime": {"faults": [{"kind": "x"}]}}}, "`$.endpoints.tts-rime.faults[0].kind`"),
        ({"endpoints": {"tts-rime": {"faults": [{"kind": "http_error"}]}}}, "`$.endpoints.tts-rime.faults[0]`"),
        ({"endpoints": {"tts-rime": {"faults": [{"kind": "no_final"}]}}}, "`$.endpoints.tts-rime.faults[0]`"),
        (
            {"endpoints": {"stt-cartesia": {"faults": [{"kind": "duplicated_finals"}]}}},
            "its segments have no ids - at `$.endpoints.stt-cartesia.faults[0]`",
        ),
        (
            {"endpoints": {"tts-openai": {"faults": [{"kind": "reset", "at": "audio"}]}}},
            "`$.endpoints.tts-openai.faults[0].at`",
        ),
        (
            {"endpoints": {"tts-rime": {"faults": [{"kind": "refused", "cases": [1]}]}}},
            "`$.endpoints.tts-rime.faults[0]`",
        ),
        (
            {"endpoints": {"tts-rime": {"faults": [{"kind": "reset", "cases": [1], "probability": 1}]}}},
            "`$.endpoints.tts-rime.faults[0]`",
        ),
    ],
)
def test_a_mistake_is_named_with_its_place(values: object, place: str) -> None:
    with pytest.raises(UsageError) as wrong:
        scenario(values)
    assert str(wrong.value).rstrip(".").endswith(place)


@pytest.mark.parametrize("content", [b"a = ", b"\xff", b"[endpoints]\nx = 1"])
def test_a_file_that_is_no_scenario_is_named(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "broken.toml"
    path.write_bytes(content)
    with pytest.raises(UsageError, match=r"broken\.toml"):
        load(path)


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot be read"):
        load(tmp_path / "none.toml")


def test_a_manifest_is_looked_for_beside_the_scenario(tmp_path: Path) -> None:
    path = tmp_path / "a.toml"
    path.write_text('manifest = "set"')
    with pytest.raises(UsageError, match="set"):
        load(path)
