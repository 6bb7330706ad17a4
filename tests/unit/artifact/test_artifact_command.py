"""`sayagain artifact` answers what a colleague who has only the file would ask."""

import json
import os
import subprocess
import sys
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from hypothesis import given, settings
from hypothesis import strategies as st

from sayagain.artifact.overview import overview
from sayagain.artifact.schema import shipped_schema
from sayagain.cli.artifact import command
from sayagain.errors import UnsupportedSchemaError, UsageError


def run(*arguments: object) -> Result:
    result = CliRunner().invoke(command, [str(argument) for argument in arguments])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result


def test_schema_prints_what_is_shipped() -> None:
    assert run("schema").output == shipped_schema()


def test_verify_names_each_file(golden: Path, change: Callable[[bytes, bytes], Path]) -> None:
    good, bad = run("verify", golden), run("verify", golden, change(b'"ttfs"', b'"nope"'))
    assert good.exit_code == 0
    assert good.output.startswith(f"{golden}: whole, 5 rows, sha256 ")
    assert bad.exit_code == 4
    assert "corrupt at line 2: the metric is not one of the run record's" in bad.output
    assert bad.output.count("\n") == 2


def test_verify_as_json(golden: Path, change: Callable[[bytes, bytes], Path]) -> None:
    result = run("verify", "--json", golden, change(b'"rows":5', b'"rows":4'))
    whole, corrupt = json.loads(result.output)
    assert result.exit_code == 4
    assert (whole["ok"], whole["rows"], whole["problem"]) == (True, 5, None)
    assert (corrupt["ok"], corrupt["line"]) == (False, 7)


def test_a_file_that_is_missing_or_of_another_major_is_an_error_of_its_own(
    tmp_path: Path, change: Callable[[bytes, bytes], Path]
) -> None:
    with pytest.raises(UsageError):
        run("verify", tmp_path / "missing")
    with pytest.raises(UnsupportedSchemaError):
        run("show", change(b'"1.0"', b'"2.0"'))


def test_show_says_what_ran_how_it_came_out_and_why_it_failed(golden: Path) -> None:
    result = run("show", golden)
    assert result.exit_code == 0
    for part in (
        "run 0198c5f2a3b4 partial (stopped by SIGTERM)",
        "cases 5: 1 ok, 2 failed, 2 not run",
        "by sayagain 0.1.0 863e684 Python 3.11.7 Linux-x86_64",
        "dataset librivox-en 1: 2 items of a sample of 2, seed 7",
        "replay of run 0198c5f0",
        "moonshine/tiny",
        "1/0/0 of 9",
        "idle_timeout receive 1011",
        "nothing came, 2",
        "utterance-1",
        "whole, 5 rows",
    ):
        assert part in result.output


def test_the_digest_stands_on_one_line_with_the_path_however_long_that_is(tmp_path: Path, make: Any) -> None:
    path = make.write(tmp_path, [make.row(1)], make.header(run_id="x" * 100))
    assert overview(path).file_sha256 in run("show", path).output.splitlines()[-1].split()


def test_show_as_json_has_all_of_it(golden: Path) -> None:
    view = json.loads(run("show", golden, "--json").output)
    assert view["header"]["run_id"] == "0198c5f2a3b4"
    assert [bucket["count"] for bucket in view["buckets"]] == [1, 1]
    assert view["targets"][0]["error_rates"]["wer"]["reference"] == 9
    assert view["slowest"][0]["value"] == 100.5


@pytest.mark.parametrize(
    ("options", "items"),
    [
        (["--failed"], ["prompt", "utterance-3"]),
        (["--bucket", "0000000000000002"], ["utterance-3"]),
        (["--bucket", "000000000000000"], ["prompt", "utterance-3"]),
        (["--target", "stt:moonshine/tiny"], ["utterance-1", "utterance-3"]),
        (["--target", "stt:moonshine/tiny", "--failed"], ["utterance-3"]),
    ],
)
def test_show_lists_the_cases_that_are_asked_for(golden: Path, options: list[str], items: list[str]) -> None:
    lines = [json.loads(line) for line in run("show", golden, *options, "--json").output.splitlines()]
    assert [line["item_id"].split()[0] for line in lines] == items
    people = run("show", golden, *options).output
    assert all(item in people for item in items)


def test_a_listed_case_says_why_it_failed(golden: Path) -> None:
    output = run("show", golden, "--bucket", "0000000000000001").output
    assert "0000000000000001  idle_timeout/receive 1011: nothing came, 1" in output


def test_asking_for_what_is_not_there_names_what_is(golden: Path, tmp_path: Path, make: Any) -> None:
    with pytest.raises(UsageError, match="it has stt:moonshine/tiny, tts:piper/voice/joe"):
        run("show", golden, "--target", "stt:other")
    with pytest.raises(UsageError, match="no case of bucket 'ff'"):
        run("show", golden, "--bucket", "ff")
    assert run("show", make.write(tmp_path, [make.row(1)]), "--failed").exit_code == 0


@pytest.mark.parametrize("options", [[], ["--json"], ["--failed"], ["--failed", "--json"]])
def test_what_is_whole_of_a_torn_file_is_shown(tmp_path: Path, golden: Path, options: list[str]) -> None:
    torn = tmp_path / "torn.jsonl"
    torn.write_bytes(b"".join(golden.read_bytes().splitlines(keepends=True)[:4]) + b'{"rec')
    result = run("show", torn, *options)
    assert result.exit_code == 4
    assert "idle_timeout" in result.output
    assert "torn" in result.output + result.stderr
    assert "5" in result.output + result.stderr


@pytest.mark.parametrize("content", [b"", b"\n", b"\x1b[2J\n", b"{}", b"\xff" * 100])
def test_what_is_no_artifact_at_all_is_said_to_be_none(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "x"
    path.write_bytes(content)
    result = run("show", path)
    assert result.exit_code == 4
    assert "at line 1" in result.output


HOSTILE = "\x1b]0;owned\x07\x1b[2J[red]x[/red][link=http://a]\u202e\x9b31m\r\n:smile:\ud800"


def hostile_artifact(directory: Path, make: Any, text: str = HOSTILE) -> Path:
    """Write an artifact with a text in every place that takes one."""
    run_header = make.header(2, normalizer=text, kind=text)
    runner = dict.fromkeys(("name", "version", "sha", "python", "platform"), text)
    target = run_header.targets[0]
    changed = {
        "targets": (_replaced(target, key=f"stt:{text}", model=text, settings={text: text}, secrets=(text,)),),
        "runner": _replaced(run_header.runner, **runner, contract=text),
        "datasets": (_replaced(run_header.datasets[0], id=text, version=text),),
        "replay_of": _replaced(run_header.replay_of, run_id=text),
        "metrics": {"ttfs": 1, "wer": 1, text: 1},
    }
    cause = make.failure(1, message=text, code=text, fingerprint=text or "x")
    names = {"target": f"stt:{text}", "item_id": text, "unit": text, "started": text}
    rows = [
        make.row(1, "ttfs", detail={text: 1.0}, reason=text, **names),
        make.row(1, "wer", detail={"N": 3.0}, **names),
        make.row(2, "ttfs", cause, **names),
        make.row(2, text, cause, **{**names, "metric_version": 1}),
    ]
    path: Path = make.write(directory, rows, _replaced(run_header, **changed), reason=text, finished=text)
    return path


def _replaced(record: Any, **changes: Any) -> Any:
    import msgspec

    return msgspec.structs.replace(record, **changes)


@pytest.mark.parametrize("options", [[], ["--json"], ["--failed"], ["--failed", "--json"], ["--bucket", "\x1b"]])
def test_nothing_in_a_file_steers_the_terminal(tmp_path: Path, make: Any, options: list[str]) -> None:
    path = hostile_artifact(tmp_path, make)
    if options[:1] == ["--bucket"]:
        options = ["--bucket", HOSTILE[:3]]
    output = run("show", path, *options).output
    assert "x" in output
    assert all(char.isprintable() or char == "\n" for char in output)
    assert "[red]" not in output or "--json" in options


@settings(max_examples=40, deadline=None)
@given(text=st.text(st.characters(min_codepoint=0, max_codepoint=0x10FFFF), max_size=30))
def test_any_text_anywhere_is_shown_in_plain_text(
    tmp_path_factory: pytest.TempPathFactory, make: Any, text: str
) -> None:
    path = hostile_artifact(tmp_path_factory.mktemp("hostile"), make, text)
    for options in ([], ["--failed"]):
        result = run("show", path, *options)
        assert result.exit_code == 0
        assert all(char.isprintable() or char == "\n" for char in result.output)


def test_memory_does_not_grow_with_the_rows_but_for_what_is_counted(tmp_path: Path, make: Any) -> None:
    peaks = []
    for size in (2_000, 20_000):
        rows = (make.row(number // 2, metric) for number, metric in enumerate(("ttfs", "wer") * (size // 2)))
        path = make.write(tmp_path, rows, make.header(size // 2, run_id=f"size-{size}"))
        tracemalloc.start()
        assert overview(path).problem is None
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] - peaks[0] < 18_000 * 200


def test_the_command_line_exits_with_the_code_of_the_error(tmp_path: Path, golden: Path) -> None:
    def code(*arguments: str) -> int:
        program = [sys.executable, "-c", "from sayagain.cli import main; main()", "artifact", *arguments]
        return subprocess.run(
            program, capture_output=True, check=False, env={**os.environ, "NO_COLOR": "1"}
        ).returncode

    torn = tmp_path / "torn.jsonl"
    torn.write_bytes(golden.read_bytes()[:-1])
    assert code("verify", str(golden)) == 0
    assert code("verify", str(torn)) == 4
    assert code("show", str(torn)) == 4
    assert code("show", str(tmp_path / "missing")) == 2


def test_the_words_that_a_failed_case_owed_count_as_deletions_beside_the_answered_ones(
    tmp_path: Path, make: Any
) -> None:
    rows = [make.row(1, "wer"), make.row(2, "wer", make.failure(1), detail={"N": 9.0})]
    rate = overview(make.write(tmp_path, rows)).targets[0].error_rates["wer"]
    assert (rate.reference, rate.reference_failed) == (9, 9)
    assert rate.percent_with_failures == 100 * (1 + 9) / 18
