"""Reading a table of audio paths and transcripts: CSV, TSV or JSONL.

Every problem names its line; none of them quotes a transcript.
"""

import csv
import io
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import msgspec

from sayagain.errors import DatasetError

REQUIRED = ("path", "text")
OPTIONAL = ("id", "speaker", "tags", "language")
TAG_SEPARATOR = ";"
"""Stands between the tags of one CSV or TSV field."""


@dataclass(frozen=True)
class Row:
    """One line of the table; what the table does not say is None, or no tags. `line` counts from 1."""

    line: int
    path: str
    text: str
    id: str | None = None
    speaker: str | None = None
    tags: tuple[str, ...] = ()
    language: str | None = None


@dataclass(frozen=True)
class Transcripts:
    """What a table holds: its usable rows, a problem for each other row, and the names of unused columns."""

    rows: tuple[Row, ...]
    problems: tuple[str, ...]
    unused: tuple[str, ...] = ()


class _JsonRow(msgspec.Struct):
    path: str
    text: str
    id: str | None = None
    speaker: str | None = None
    tags: str | list[str] = []
    language: str | None = None


def read(path: Path) -> Transcripts:
    """Read a table, its form told by the file's name: .csv, .tsv, .jsonl or .ndjson.

    A CSV or TSV begins with a line of column names, of which `path` and `text` are needed; without one it has
    exactly two columns, path and text. CSV fields may be quoted (RFC 4180); in TSV a quote is a character like
    any other. A byte order mark and CRLF line ends are accepted, and blank lines skipped.

    Raises:
        DatasetError: The file cannot be read, is not UTF-8, is of another form, or has no usable columns.
    """
    match path.suffix.lower():
        case ".csv":
            return _table(path, csv.reader(io.StringIO(_text(path), newline=""), strict=True))
        case ".tsv":
            lines = io.StringIO(_text(path), newline="")
            return _table(path, csv.reader(lines, delimiter="\t", quoting=csv.QUOTE_NONE, strict=True))
        case ".jsonl" | ".ndjson":
            return _json_lines(_text(path))
        case suffix:
            raise DatasetError(
                f"{path} is no table of transcripts: they are read from .csv, .tsv, .jsonl and .ndjson files, "
                f"told apart by their suffix; this has {suffix or 'none'}."
            )


def _text(path: Path) -> str:
    try:
        content = path.read_bytes()
    except OSError as error:
        raise DatasetError(f"{path} cannot be read: {error.strerror}.") from error
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise DatasetError(f"{path} is not UTF-8 (line {line}); save it as UTF-8.") from error


def _table(path: Path, reader: Iterator[list[str]]) -> Transcripts:
    numbered, problems = _numbered(reader)
    if not numbered:
        if problems:
            raise DatasetError(f"{path} cannot be read as a table:", problems)
        raise DatasetError(f"{path} has no lines.")
    columns, has_header = _columns(path, numbered[0][1])
    rows: list[Row] = []
    for line, fields in numbered[1:] if has_header else numbered:
        if len(fields) != len(columns):
            problems += (f"line {line}: {len(fields)} columns where {len(columns)} are needed",)
        else:
            rows.append(_row(line, dict(zip(columns, fields, strict=True))))
    return Transcripts(tuple(rows), problems, _unused(columns))


def _numbered(reader: Iterator[list[str]]) -> tuple[list[tuple[int, list[str]]], tuple[str, ...]]:
    """Number the rows by the line on which each ends, without blank ones; a torn row ends the table."""
    numbered: list[tuple[int, list[str]]] = []
    try:
        for fields in reader:
            if any(field.strip() for field in fields):
                numbered.append((reader.line_num, fields))  # type: ignore[attr-defined]
    except csv.Error as error:
        return numbered, (f"line {reader.line_num}: {error}",)  # type: ignore[attr-defined]
    return numbered, ()


def _columns(path: Path, first: list[str]) -> tuple[list[str], bool]:
    names = [name.strip().lower() for name in first]
    missing = [name for name in REQUIRED if name not in names]
    if not missing:
        repeated = sorted({name for name in (*REQUIRED, *OPTIONAL) if names.count(name) > 1})
        if repeated:
            raise DatasetError(f"{path} has more than one column {', '.join(repeated)}.")
        return names, True
    if len(missing) == len(REQUIRED) and len(first) == len(REQUIRED):
        return list(REQUIRED), False
    raise DatasetError(
        f"{path} needs a first line with the columns path and text (and, if wanted, {', '.join(OPTIONAL)}), "
        f"or no such line and exactly two columns; it lacks {' and '.join(missing)}."
    )


def _row(line: int, fields: dict[str, str]) -> Row:
    return Row(
        line=line,
        path=fields["path"].strip(),
        text=fields["text"].strip(),
        id=fields.get("id", "").strip() or None,
        speaker=fields.get("speaker", "").strip() or None,
        tags=_tags(fields.get("tags", "").split(TAG_SEPARATOR)),
        language=fields.get("language", "").strip() or None,
    )


def _json_lines(text: str) -> Transcripts:
    rows: list[Row] = []
    problems: list[str] = []
    names: dict[str, None] = {}
    for line, content in enumerate(text.split("\n"), start=1):
        if not content.strip():
            continue
        try:
            row = msgspec.json.decode(content, type=_JsonRow)
            names |= dict.fromkeys(msgspec.json.decode(content))
        except (msgspec.DecodeError, UnicodeEncodeError) as error:
            problems.append(f"line {line}: {error}")
            continue
        tags = row.tags.split(TAG_SEPARATOR) if isinstance(row.tags, str) else row.tags
        rows.append(
            Row(
                line=line,
                path=row.path.strip(),
                text=row.text.strip(),
                id=(row.id or "").strip() or None,
                speaker=(row.speaker or "").strip() or None,
                tags=_tags(tags),
                language=(row.language or "").strip() or None,
            )
        )
    return Transcripts(tuple(rows), tuple(problems), _unused(names))


def _tags(tags: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(tag.strip() for tag in tags if tag.strip()))


def _unused(columns: Iterable[str]) -> tuple[str, ...]:
    return tuple(name for name in columns if name not in (*REQUIRED, *OPTIONAL))
