"""Whatever is in a file, reading it gives records or one clear error."""

import contextlib
import io
import json
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any, BinaryIO

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sayagain.artifact import read_artifact, verify
from sayagain.artifact.lines import MAX_LINE_BYTES, decode_line
from sayagain.artifact.reading import records
from sayagain.errors import CorruptArtifactError, SayagainError, TornArtifactError, UsageError
from sayagain.records import ResultRow

GOLDEN = (Path(__file__).parent / "golden" / "schema-1.jsonl").read_bytes()
LINES = GOLDEN.split(b"\n")[:-1]
ROW = LINES[1]


def read(content: bytes) -> list[ResultRow]:
    return [record for _, _, record in records(io.BytesIO(content)) if isinstance(record, ResultRow)]


def with_line(number: int, line: bytes) -> bytes:
    return b"\n".join([*LINES[: number - 1], line, *LINES[number:], b""])


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (b"", "empty"),
        (b"x", "malformed"),
        (b"[1]", "array"),
        (b"null", "null"),
        (b'{"record":"result"}', "missing required field `case_id`"),
        (ROW[:-1], "truncated"),
        (ROW + b"x", "trailing"),
        (b"\xef\xbb\xbf" + ROW, "malformed"),
        (ROW.replace(b"100.5", b"NaN"), "malformed"),
        (ROW.replace(b"100.5", b"Infinity"), "malformed"),
        (ROW.replace(b"100.5", b"1e999"), "out of range"),
        (ROW.replace(b"100.5", b'"100.5"'), "Expected `float | null`, got `str`"),
        (ROW.replace(b'"repeat":0', b'"repeat":0.5'), "Expected `int`"),
        (ROW.replace(b'"repeat":0', b'"repeat":' + b"9" * 5000), "out of range"),
        (ROW.replace(b"utterance-1", b"utter\\ud800ance"), ""),
        (ROW.replace(b"utterance-1", b"\xff"), "UTF-8"),
        (ROW.replace(b"utterance-1", b"a\x00b"), "malformed"),
        (ROW.replace(b'"repeat":0', b'"repeat":0,"repeat":1'), "same key twice"),
        (ROW.replace(b'"repeat":0', b'"repeat":0,"\\u0072epeat":1'), "same key twice"),
        (ROW.replace(b'"repeat":0', b'"repeat":0,"new":{"a":1,"a":2}'), "same key twice"),
        (ROW.replace(b'"repeat":0', b'"repeat":0,"new":"\\ud800"'), ""),
        (ROW.replace(b'"repeat":0', b'"repeat":0,"new":"\xff"'), "UTF-8"),
        (ROW.replace(b'"repeat":0', b'"repeat":0,"new":' + b"[" * 40 + b"]" * 40), "nested"),
        (ROW.replace(b'"repeat":0', b'"repeat":0,"new":' + b"[" * 10**6 + b"]" * 10**6), "nested"),
        (ROW.replace(b'"repeat":0', b'"repeat":0,"new":' + b'{"a":' * 10**5 + b"1" + b"}" * 10**5), "nested"),
        (ROW.replace(b'"succeeded"', b'"ok"'), "Invalid enum value"),
        (ROW.replace(b'"result"', b'"other"'), "Invalid value"),
        (LINES[0], "second run record"),
        (ROW.replace(b"moonshine", b"other"), "target"),
        (ROW.replace(b'"ttfs"', b'"other"'), "metric"),
        (ROW.replace(b'"metric_version":1', b'"metric_version":2'), "version"),
        (ROW.replace(b'"succeeded"', b'"failed"'), "failure exactly when"),
        (LINES[3].replace(b'"value":null', b'"value":1.0'), "no value"),
    ],
)
def test_a_wrong_line_is_named_with_its_reason(line: bytes, reason: str) -> None:
    with pytest.raises(CorruptArtifactError) as caught:
        read(with_line(2, line))
    assert caught.value.line == 2
    assert reason in caught.value.reason
    assert len(caught.value.reason) < 250
    assert str(caught.value).isprintable()


def test_what_the_file_says_cannot_steer_the_terminal() -> None:
    line = ROW.replace(b'"succeeded"', b'"\\u001b]0;owned\\u0007[red]\\u202e"')
    with pytest.raises(CorruptArtifactError) as caught:
        read(with_line(2, line))
    assert str(caught.value).isprintable()
    assert "[red]" not in str(caught.value)


@pytest.mark.parametrize(
    "line",
    [
        ROW.replace(b'"repeat":0', b'"repeat":0,"new":[{"a":"\\ud83d\\ude00"}]'),
        ROW.replace(b",", b" ,\t"),
        ROW.replace(b"100.5", b"1.005e2"),
        ROW.replace(b"100.5", b"7"),
        ROW.replace(b"utterance-1", "\u2028\u2029\x85\x0c".encode().replace(b"\x0c", b"")),
        ROW.replace(b"utterance-1", b"[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[["),
        json.dumps(dict(reversed(json.loads(ROW).items()))).encode(),
    ],
)
def test_an_unusual_line_that_is_right_is_a_record(line: bytes) -> None:
    assert len(read(with_line(2, line))) == 5


def test_a_line_ends_in_a_newline_and_in_nothing_else() -> None:
    assert read(GOLDEN)[2].item_id == "prompt \u2028 naïve 👍"


def test_unknown_fields_of_a_minor_version_are_ignored() -> None:
    header = LINES[0].replace(b'"1.0"', b'"1.7","later":{"a":[1]}')
    assert len(read(with_line(1, header))) == 5


class Endless(io.RawIOBase):
    """A file of one line that never ends."""

    def __init__(self, start: bytes, size: int) -> None:
        self._start, self._left = start, size

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        part = self._start or b"a" * min(len(buffer), self._left)
        part = part[: len(buffer)]
        self._start = self._start[len(part) :]
        self._left -= len(part)
        buffer[: len(part)] = part
        return len(part)


@pytest.mark.parametrize("start", [LINES[0] + b"\n" + b'{"record":"', b'{"record":"', b""])
def test_a_line_of_a_hundred_megabytes_is_refused_in_little_memory(start: bytes) -> None:
    stream: BinaryIO = io.BufferedReader(Endless(start, 100_000_000))
    tracemalloc.start()
    with pytest.raises(CorruptArtifactError, match="longer than"):
        for _ in records(stream):
            pass
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 8 * MAX_LINE_BYTES


@pytest.mark.parametrize("part", [b"[],", b'{"":0},', b'"",'])
def test_a_line_of_many_parts_takes_memory_in_proportion(part: bytes) -> None:
    line = ROW.replace(b'"repeat":0', b'"repeat":0,"new":[' + part * (400_000 // len(part)) + b" 0]")
    tracemalloc.start()
    decode_line(line, 1)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 100 * len(line)


@given(st.binary(max_size=400))
def test_random_bytes_are_an_error(content: bytes) -> None:
    with pytest.raises(SayagainError):
        read(content)


@settings(max_examples=400)
@given(st.data())
def test_a_mutated_artifact_is_read_or_refused(data: st.DataObject) -> None:
    content = bytearray(GOLDEN)
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(content) - 1))
        size = data.draw(st.integers(0, 40))
        content[at : at + size] = data.draw(
            st.binary(max_size=8) | st.sampled_from([b"\n", b"{", b'"', b"\\u", b"1"])
        )
    with contextlib.suppress(SayagainError):
        read(bytes(content))


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=30,
)


@given(VALUES, st.sampled_from(sorted(json.loads(ROW))))
def test_any_value_in_any_field_is_read_or_refused(value: Any, name: str) -> None:
    line = json.dumps({**json.loads(ROW), name: value}).encode()
    with contextlib.suppress(CorruptArtifactError):
        assert len(read(with_line(2, line))) == 5


@given(st.integers(0, len(GOLDEN) - 1))
def test_a_file_that_was_cut_anywhere_is_torn_and_its_whole_rows_are_read(size: int) -> None:
    whole: list[ResultRow] = []
    with pytest.raises(TornArtifactError):
        whole.extend(
            record for _, _, record in records(io.BytesIO(GOLDEN[:size])) if isinstance(record, ResultRow)
        )
    assert len(whole) == max(0, GOLDEN[:size].count(b"\n") - 1)


def test_read_artifact_names_the_file_and_the_line(change: Callable[[bytes, bytes], Path]) -> None:
    path = change(b'"value":100.5', b'"value":"x"')
    with pytest.raises(CorruptArtifactError, match=rf"^{path}, line 2: "):
        list(read_artifact(path).rows())


@pytest.mark.parametrize(
    "content", [b"", b"\n", b"\n\n", LINES[0] + b"\n", GOLDEN[:-1], GOLDEN[:-40], b"{}\n" * 3]
)
def test_a_file_that_is_not_whole_is_not_opened(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(content)
    with pytest.raises(CorruptArtifactError, match=str(path)):
        read_artifact(path)


@pytest.mark.parametrize("name", ["missing.jsonl", "."])
def test_a_file_that_cannot_be_opened_is_a_matter_of_usage(tmp_path: Path, name: str) -> None:
    with pytest.raises(UsageError, match="cannot read"):
        read_artifact(tmp_path / name)


def test_rows_can_be_read_again(golden: Path) -> None:
    artifact = read_artifact(golden)
    assert list(artifact.rows()) == list(artifact.rows())


def test_a_table_has_a_column_for_everything(golden: Path) -> None:
    table = read_artifact(golden).to_table()
    assert {len(column) for column in table.values()} == {5}
    assert table["metric"] == ["ttfs", "wer", "ttfa", "ttfs", "wer"]
    assert table["status"] == ["succeeded", "succeeded", "failed", "succeeded", "failed"]
    assert {type(value) for value in table["status"]} == {str}
    assert table["failure_kind"] == [None, None, "idle_timeout", None, "scoring"]
    assert table["failure_code"] == [None, None, "1011", None, None]
    assert table["detail_N"] == [None, 9, None, None, None]


def test_a_table_does_not_grow_a_column_for_each_row(tmp_path: Path, make: Any) -> None:
    rows = [make.row(number, detail={f"part-{number}": 1.0}) for number in range(300)]
    path = make.write(tmp_path, rows, make.header(300))
    assert verify(path).ok
    with pytest.raises(CorruptArtifactError, match="different parts"):
        read_artifact(path).to_table()


def test_reading_takes_memory_for_one_row(tmp_path: Path, make: Any) -> None:
    path = make.write(tmp_path, (make.row(number) for number in range(20_000)), make.header(20_000))
    tracemalloc.start()
    count = sum(1 for _ in read_artifact(path).rows())
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert count == 20_000
    assert peak < 6_000_000
