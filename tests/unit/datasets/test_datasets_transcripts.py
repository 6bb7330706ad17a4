import codecs
import csv
import io
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sayagain.datasets.transcripts import Row, Transcripts, read
from sayagain.errors import DatasetError

fields = (
    st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1, max_size=15).map(str.strip).filter(bool)
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("tables")


def table(folder: Path, name: str, content: str | bytes) -> Path:
    path = folder / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def plain(transcripts: Transcripts) -> list[tuple[str, str]]:
    assert transcripts.problems == ()
    return [(row.path, row.text) for row in transcripts.rows]


FULL = Row(
    line=2, path="a.wav", text="yes, please", id="one", speaker="Ann", tags=("noisy", "far"), language="en-GB"
)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("t.csv", 'path,text,id,speaker,tags,language\na.wav,"yes, please",one,Ann,noisy; far,en-GB\n'),
        ("t.csv", 'Text,PATH,language,tags,speaker,id\r\n"yes, please",a.wav,en-GB,noisy;far;noisy,Ann,one\r\n'),
        ("t.tsv", "path\ttext\tid\tspeaker\ttags\tlanguage\na.wav\tyes, please\tone\tAnn\tnoisy;far\ten-GB\n"),
        (
            "t.jsonl",
            '\n{"path": "a.wav", "text": "yes, please", "id": "one", "speaker": "Ann", "tags": ["noisy", "far"], '
            '"language": "en-GB"}\n',
        ),
        (
            "t.ndjson",
            '\r\n{"path":"a.wav","text":"yes, please","id":"one","speaker":"Ann",'
            '"tags":"noisy;far","language":"en-GB"}',
        ),
    ],
)
@pytest.mark.parametrize("mark", [b"", codecs.BOM_UTF8])
def test_every_form_of_table_says_the_same(name: str, content: str, mark: bytes, folder: Path) -> None:
    assert read(table(folder, name, mark + content.encode())) == Transcripts((FULL,), ())


@pytest.mark.parametrize(
    ("name", "content"),
    [("t.csv", "a.wav,hello\r\n\r\nb.wav,good bye\r\n"), ("t.TSV", "a.wav\thello\nb.wav\tgood bye")],
)
def test_a_table_of_two_columns_needs_no_header(name: str, content: str, folder: Path) -> None:
    assert plain(read(table(folder, name, content))) == [("a.wav", "hello"), ("b.wav", "good bye")]


def test_a_quote_in_tsv_is_a_character_like_any_other(folder: Path) -> None:
    assert plain(read(table(folder, "t.tsv", 'a.wav\t"hello\nb.wav\tsay "bye"'))) == [
        ("a.wav", '"hello'),
        ("b.wav", 'say "bye"'),
    ]


def test_columns_that_mean_nothing_are_named(folder: Path) -> None:
    assert read(table(folder, "t.csv", "path,text,speeker\na.wav,hi,Ann")).unused == ("speeker",)
    assert read(table(folder, "t.jsonl", '{"path": "a", "text": "b", "up_votes": 2}')).unused == ("up_votes",)


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("t.csv", "", "has no lines"),
        ("t.csv", "\n \n", "has no lines"),
        ("t.csv", "path,sentence\na.wav,hi", "lacks text"),
        ("t.csv", "a.wav,hi,Ann", "lacks path and text"),
        ("t.csv", "path,text,text\na,b,c", "more than one column text"),
        ("t.csv", "a.wav;hi", "lacks path and text"),
        ("t.csv", b"path,text\na.wav,caf\xe9", "is not UTF-8 (line 2)"),
        ("t.csv", "path,text".encode("utf-16"), "is not UTF-8 (line 1)"),
        ("t.csv", '"path', "cannot be read as a table"),
        ("t.txt", "a.wav hi", "this has .txt"),
        ("t", "a.wav hi", "this has none"),
    ],
)
def test_a_table_of_another_form_is_refused_with_what_is_needed(
    name: str, content: str | bytes, said: str, folder: Path
) -> None:
    path = table(folder, name, content)
    with pytest.raises(DatasetError) as error:
        read(path)
    assert str(path) in str(error.value)
    assert said in str(error.value)


def test_a_table_that_is_not_there_is_said(folder: Path) -> None:
    with pytest.raises(DatasetError, match="No such file"):
        read(folder / "none.csv")


def test_each_bad_line_is_listed_and_the_others_are_read(folder: Path) -> None:
    found = read(table(folder, "t.csv", 'path,text\na.wav,one\nb.wav\nc.wav,two,three\nd.wav,four\ne.wav,"hidden'))
    assert [row.path for row in found.rows] == ["a.wav", "d.wav"]
    assert found.problems == (
        "line 6: unexpected end of data",
        "line 3: 1 columns where 2 are needed",
        "line 4: 3 columns where 2 are needed",
    )


def test_each_bad_line_of_jsonl_is_listed_without_its_words(folder: Path) -> None:
    lines = ['{"path": "a", "text": "b"}', "[]", '{"path": "a"}', '{"path": "a", "text": 5}', '{"text": "hidden']
    found = read(table(folder, "t.jsonl", "\n".join(lines)))
    assert len(found.rows) == 1
    assert [problem.partition(":")[0] for problem in found.problems] == ["line 2", "line 3", "line 4", "line 5"]
    assert "hidden" not in "".join(found.problems)


@given(st.lists(st.tuples(fields, fields), min_size=1, max_size=5))
def test_what_csv_writes_is_read_back(folder: Path, rows: list[tuple[str, str]]) -> None:
    file = io.StringIO(newline="")
    csv.writer(file).writerows([("path", "text"), *rows])
    assert plain(read(table(folder, "random.csv", file.getvalue()))) == rows


@given(st.lists(st.tuples(fields, fields), min_size=1, max_size=5))
def test_what_json_writes_is_read_back(folder: Path, rows: list[tuple[str, str]]) -> None:
    lines = "\n".join(json.dumps({"path": path, "text": text}) for path, text in rows)
    assert plain(read(table(folder, "random.jsonl", lines))) == rows


@given(st.sampled_from([".csv", ".tsv", ".jsonl"]), st.binary(max_size=100))
def test_any_bytes_are_a_table_or_an_error_of_one_kind(folder: Path, suffix: str, content: bytes) -> None:
    path = table(folder, f"bytes{suffix}", content)
    try:
        found = read(path)
    except DatasetError:
        return
    assert all(isinstance(row.text, str) for row in found.rows)
