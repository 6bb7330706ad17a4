import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from sayagain.cli.datasets import command
from sayagain.datasets import load
from sayagain.datasets.catalog import BUILTIN_DIR
from sayagain.errors import DatasetError, UsageError

RECORDINGS = BUILTIN_DIR / "cards-5"


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("SAYAGAIN_DATASETS_DIR", raising=False)
    return tmp_path


def call(*arguments: str) -> Result:
    return CliRunner().invoke(command, arguments)


def import_one(*options: str) -> Result:
    Path("t.csv").write_text("path,text,extra\n001.wav,ten of clubs,1\n", "utf-8")
    return call("import", str(RECORDINGS), "--transcripts", "t.csv", "--id", "mine", *options)


def test_list_names_the_built_in_datasets() -> None:
    result = call("list")
    assert result.exit_code == 0
    assert [line.split()[0] for line in result.output.splitlines()] == ["librivox-5", "cards-5", "prompts-30"]


def test_list_as_json_is_one_document_and_holds_no_transcript() -> None:
    document = json.loads(call("list", "--json").stdout)
    assert [entry["item_count"] for entry in document] == [5, 5, 30]
    assert {"id", "version", "benchmark", "licence", "origin", "language", "sha256"} <= document[0].keys()
    assert "dashwood" not in json.dumps(document)


def test_list_shows_a_broken_dataset_with_its_problem() -> None:
    Path("datasets/broken").mkdir(parents=True)
    Path("datasets/broken/manifest.json").write_text("{", "utf-8")
    result = call("list")
    assert result.exit_code == 0
    assert "broken" in result.output
    assert "cannot be used" in result.output
    assert json.loads(call("list", "--json").stdout)[-1]["problem"]


def test_show_tells_about_a_dataset_and_each_item() -> None:
    result = call("show", "librivox-5")
    assert result.exit_code == 0
    for part in (
        "Public domain",
        "librivox-0880",
        "he was not an ill disposed young man",
        "speech 0.256 to 2.848 s",
    ):
        assert part in result.output


def test_show_as_json_holds_the_items() -> None:
    document = json.loads(call("show", "prompts-30", "--json").stdout)
    assert document["benchmark"] == "tts"
    assert len(document["items"]) == document["item_count"] == 30


def test_show_needs_no_audio() -> None:
    import_one()
    for audio in Path("datasets/mine/audio").iterdir():
        audio.unlink()
    assert "ten of clubs" in call("show", "mine").output


def test_show_answers_an_unknown_id_with_the_nearest() -> None:
    result = call("show", "card-5")
    assert isinstance(result.exception, DatasetError)
    assert "cards-5" in str(result.exception)


def test_verify_checks_every_dataset_there_is() -> None:
    import_one()
    result = call("verify")
    assert result.exit_code == 0
    assert [line.split(":")[0] for line in result.output.splitlines()] == [
        "librivox-5",
        "cards-5",
        "prompts-30",
        "mine",
    ]


def test_verify_lists_everything_that_is_wrong_and_goes_on() -> None:
    import_one()
    Path("datasets/mine/audio/000001.wav").write_bytes(b"other")
    result = call("verify", "mine", "nothing-like-it", "cards-5")
    assert "cards-5: 5 items as pinned" in result.output
    assert isinstance(result.exception, DatasetError)
    assert result.exception.exit_code == 2
    assert len(result.exception.problems) == 2
    assert "SHA-256 differs" in str(result.exception)


def test_import_makes_a_dataset_that_can_be_named_by_its_id() -> None:
    result = import_one("--licence", "BSD", "--origin", "cards", "--language", "en-US", "--version", "3")
    assert result.exit_code == 0
    assert "note: column 'extra' is not used" in result.output
    assert "--dataset mine" in result.output
    dataset = load("mine", Path("datasets"))
    assert (dataset.licence, dataset.origin, dataset.language, dataset.version) == ("BSD", "cards", "en-US", "3")


def test_import_says_when_nobody_said_who_wrote_the_transcripts() -> None:
    assert "references  not stated" in import_one().output
    assert "references  not stated" in call("show", "mine").output
    result = import_one("--replace", "--reference-origin", "human, checked")
    assert "references  human, checked" in result.output


def test_import_goes_where_it_is_told() -> None:
    assert "--dataset elsewhere/set" in import_one("--out", "elsewhere/set").output
    assert load("elsewhere/set", Path("datasets")).id == "mine"
    assert not Path("datasets").exists()


def test_the_directory_of_imported_datasets_is_a_setting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SAYAGAIN_DATASETS_DIR", "from-variable")
    import_one()
    assert Path("from-variable/mine/manifest.json").is_file()
    import_one("--datasets-dir", "from-flag")
    assert Path("from-flag/mine/manifest.json").is_file()


def test_import_refuses_to_write_over_a_dataset() -> None:
    import_one()
    result = import_one()
    assert isinstance(result.exception, UsageError)
    assert "--replace" in str(result.exception)


def test_import_lists_every_problem_and_makes_nothing() -> None:
    Path("t.csv").write_text("none.wav,hidden words\n001.wav,\n", "utf-8")
    result = call("import", str(RECORDINGS), "--transcripts", "t.csv", "--id", "mine")
    assert isinstance(result.exception, DatasetError)
    assert len(result.exception.problems) == 2
    assert "hidden words" not in str(result.exception) + result.output
    assert not Path("datasets").exists()
