"""`sayagain models` and `sayagain doctor`, as a person calls them."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from sayagain.cli.doctor import command as doctor
from sayagain.cli.models import command as models
from sayagain.errors import UsageError

KEY = "a-secret-that-must-not-be-shown"


@pytest.fixture
def call(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Result]:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DEEPGRAM_API_KEY", KEY)
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.delenv("RUN_ARTIFACT_DIR", raising=False)
    monkeypatch.delenv("DATABASE_URL", raising=False)

    def invoke(command: Any, *args: str) -> Result:
        result = CliRunner().invoke(command, list(args), standalone_mode=False)
        assert KEY not in result.output
        return result

    return invoke


def test_every_model_is_listed_with_what_it_lacks(call: Callable[..., Result]) -> None:
    lines = call(models, "list").output.splitlines()
    assert any("deepgram/nova-3" in line and line.endswith("ready") for line in lines)
    assert any("openai/whisper-1" in line and "OPENAI_API_KEY must be set" in line for line in lines)
    assert any("espeak/espeak-ng" in line for line in lines)


def test_the_list_as_json_is_one_document(call: Callable[..., Result]) -> None:
    documents = {document["key"]: document for document in json.loads(call(models, "list", "--json").output)}
    nova = documents["stt:deepgram/nova-3"]
    assert (nova["ready"], nova["keys"]) == (True, ["DEEPGRAM_API_KEY"])
    assert nova["settings"]["sample_rate"] == 16000
    assert documents["stt:openai/gpt-4o-transcribe"]["price"]["date"]


def test_a_model_is_shown_with_its_settings_price_and_adapter(call: Callable[..., Result]) -> None:
    shown = call(models, "show", "deepgram/nova-3").output
    assert "endpointing = 10" in shown
    assert "deepgram-stt/1" in shown
    assert "USD a minute" in call(models, "show", "openai/gpt-4o-transcribe").output


def test_a_misspelt_model_is_answered_with_the_nearest_names(call: Callable[..., Result]) -> None:
    error = call(models, "show", "deepgam").exception
    assert isinstance(error, UsageError)
    assert "deepgram" in str(error)


def test_doctor_says_which_keys_are_there_and_shows_none(call: Callable[..., Result]) -> None:
    result = call(doctor, "--json")
    checks = {(check["area"], check["name"]): check for check in json.loads(result.output)}
    assert checks["key", "DEEPGRAM_API_KEY"]["found"] == "set"
    assert checks["key", "OPENAI_API_KEY"]["found"] == "not set"
    assert checks["clock", "resolution"]["state"] == "ok"
    assert "p99" in checks["clock", "event loop"]["found"]
    assert not any(area == "host" for area, _ in checks)
    assert result.return_value == 0


def test_doctor_does_not_make_a_ledger_and_finds_one_that_is_there(
    call: Callable[..., Result], tmp_path: Path
) -> None:
    assert "is made by the first run" in call(doctor).output
    assert not (tmp_path / "sayagain.db").exists()
    assert call(doctor, "--db", "sqlite:///nowhere/x.db").return_value == 1


def test_doctor_reports_an_artifact_directory_that_cannot_be_written(
    call: Callable[..., Result], tmp_path: Path
) -> None:
    (tmp_path / "file").touch()
    result = call(doctor, "--artifact-dir", str(tmp_path / "file"))
    assert result.return_value == 1
    assert "problem" in result.output
    assert call(doctor, "--artifact-dir", str(tmp_path / "new")).return_value == 0
