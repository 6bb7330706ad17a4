"""The schema that is shipped is the schema of what is written."""

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest
from jsonschema import Draft202012Validator

from sayagain.artifact import read_artifact
from sayagain.artifact.schema import SCHEMA_VERSION, check_version, json_schema, json_schema_text, shipped_schema
from sayagain.errors import SayagainError, UnsupportedSchemaError
from sayagain.records import ResultRow, RunHeader, Summary


def test_the_shipped_schema_is_what_the_records_give() -> None:
    assert shipped_schema() == json_schema_text()


def test_it_is_a_json_schema() -> None:
    Draft202012Validator.check_schema(json_schema())


def test_every_line_of_the_golden_artifact_obeys_it(golden: Path) -> None:
    validator = Draft202012Validator(json.loads(shipped_schema()))
    lines = golden.read_text(encoding="utf-8").split("\n")[:-1]
    for line in lines:
        validator.validate(json.loads(line))
    assert {json.loads(line)["record"] for line in lines} == {"run", "result", "summary"}


@pytest.mark.parametrize(("name", "value"), [("record", "x"), ("value", "1"), ("status", "ok"), ("repeat", None)])
def test_a_wrong_line_disobeys_it(golden: Path, name: str, value: Any) -> None:
    line = json.loads(golden.read_text(encoding="utf-8").split("\n")[1])
    assert not Draft202012Validator(json_schema()).is_valid({**line, name: value})


def test_every_field_says_what_it_is() -> None:
    for definition in json_schema()["$defs"].values():
        for name, field in definition.get("properties", {}).items():
            assert name == "record" or field.get("description"), (definition["title"], name)


@pytest.mark.parametrize("version", ["1.0", "1.1", "1.99", "1"])
def test_any_minor_version_is_read(version: str) -> None:
    check_version(version)


@pytest.mark.parametrize("version", ["0.9", "2.0", "10.0", "", "x", "1x.0", "\x1b[2J"])
def test_another_major_version_is_rejected(version: str) -> None:
    with pytest.raises(UnsupportedSchemaError, match="use the version that wrote it") as caught:
        check_version(version)
    assert caught.value.exit_code == 3
    assert str(caught.value).isprintable()


def test_the_golden_artifact_stays_readable(golden: Path) -> None:
    artifact = read_artifact(golden)
    assert artifact.header.schema == "1.0"
    assert artifact.header.targets[1].secrets == ("PIPER_API_KEY",)
    rows = list(artifact.rows())
    assert [row.value for row in rows] == [100.5, 100.5, None, None, None]
    assert rows[1].detail == {"S": 1, "D": 0, "I": 0, "N": 9}
    assert rows[2].item_id == "prompt \u2028 naïve 👍"
    assert rows[2].failure is not None
    assert rows[2].failure.message == "nothing came, 1"
    assert artifact.summary.cases.not_run == 2
    assert artifact.summary.buckets[0].cases == (rows[2].case_id,)


def test_the_golden_artifact_has_every_field(golden: Path) -> None:
    """A field added to schema 1 must be added to a new golden file, and this one must stay."""
    lines = golden.read_text(encoding="utf-8").split("\n")
    for line, record in ((lines[0], RunHeader), (lines[1], ResultRow), (lines[-2], Summary)):
        assert set(json.loads(line)) == {"record", *msgspec.structs.asdict(msgspec.json.decode(line, type=record))}


def test_the_version_is_in_the_golden_file_of_its_major(golden: Path) -> None:
    assert golden.name == f"schema-{SCHEMA_VERSION.partition('.')[0]}.jsonl"


@pytest.mark.parametrize("version", ["2.0", "9"])
def test_a_header_of_another_major_is_rejected_before_it_is_understood(tmp_path: Path, version: str) -> None:
    path = tmp_path / "later.jsonl"
    path.write_text(json.dumps({"record": "run", "schema": version, "everything": "else"}) + "\n{}\n")
    with pytest.raises(SayagainError, match=r"this version of sayagain reads 1\.0"):
        read_artifact(path)
