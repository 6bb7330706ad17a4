"""docs/artifact.md says what the records say, and what it shows works."""

import json
import os
import re
from pathlib import Path
from typing import Any

import pytest

from sayagain.artifact import read_artifact
from sayagain.artifact.buckets import LISTED, TRACKED
from sayagain.artifact.lines import MAX_DEPTH, MAX_LINE_BYTES
from sayagain.artifact.schema import json_schema

PAGE = Path(__file__).parents[3] / "docs" / "artifact.md"


def table(definition: dict[str, Any]) -> str:
    """Return the documentation of a record's fields as it must stand in the page."""
    lines = ["| field | what it is | type | example |", "|---|---|---|---|"]
    for name, field in definition["properties"].items():
        if name == "record":
            continue
        example = "".join(f"`{json.dumps(value)}`" for value in field.get("examples", ())[:1])
        lines.append(f"| `{name}` | {field['description']} | {_type(field)} | {example} |")
    return "\n".join(lines) + "\n"


def _type(field: dict[str, Any]) -> str:
    if "anyOf" in field:
        return " or ".join(_type(option) for option in field["anyOf"])
    if "$ref" in field:
        return str(field["$ref"].rpartition("/")[2])
    if field["type"] == "array":
        return f"array of {_type(field['items'])}"
    return str(field["type"])


RECORDS = {name: body for name, body in json_schema()["$defs"].items() if "properties" in body}
CLOSED = {name: body for name, body in json_schema()["$defs"].items() if "enum" in body}


@pytest.mark.parametrize("name", RECORDS)
def test_every_field_is_documented_as_it_is_defined(name: str) -> None:
    assert table(RECORDS[name]) in PAGE.read_text(encoding="utf-8")


@pytest.mark.parametrize("name", CLOSED)
def test_every_value_of_a_closed_set_is_documented(name: str) -> None:
    line = next(line for line in PAGE.read_text(encoding="utf-8").splitlines() if line.startswith(f"- `{name}`"))
    assert re.findall(r"`(\S+)`", line)[1:] == CLOSED[name]["enum"]


def test_the_limits_are_documented() -> None:
    page = PAGE.read_text(encoding="utf-8")
    for limit in (f"{MAX_LINE_BYTES // 2**20} MiB", f"{MAX_DEPTH} levels", f"{TRACKED:,}", f"{LISTED:,}"):
        assert limit in page


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", PAGE.read_text(encoding="utf-8"), flags=re.DOTALL)


@pytest.mark.parametrize("query", blocks("sql"))
def test_duckdb_answers_the_queries_shown(tmp_path: Path, golden: Path, query: str) -> None:
    duckdb = pytest.importorskip("duckdb")
    (tmp_path / "run.jsonl").write_bytes(golden.read_bytes())
    before = Path.cwd()
    os.chdir(tmp_path)
    try:
        assert duckdb.connect().execute(query).fetchall()
    finally:
        os.chdir(before)


def test_duckdb_sees_what_the_reader_sees(golden: Path) -> None:
    duckdb = pytest.importorskip("duckdb")
    query = (
        "SELECT case_id, value, failure.kind FROM read_json(?, format='newline_delimited') WHERE record = 'result'"
    )
    found = duckdb.connect().execute(query, [str(golden)]).fetchall()
    rows = list(read_artifact(golden).rows())
    assert found == [(row.case_id, row.value, row.failure.kind.value if row.failure else None) for row in rows]


@pytest.mark.parametrize("program", blocks("python"))
def test_the_python_shown_runs(tmp_path: Path, golden: Path, program: str) -> None:
    (tmp_path / "run.jsonl").write_bytes(golden.read_bytes())
    before = Path.cwd()
    os.chdir(tmp_path)
    try:
        exec(compile(program, str(PAGE), "exec"), {})  # noqa: S102 - the page is ours
    finally:
        os.chdir(before)
