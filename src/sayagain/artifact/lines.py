"""One line of an artifact to one record, and back: strict JSON, bounded in length and depth."""

import json
import re
from collections.abc import Iterable
from typing import Any, BinaryIO, NoReturn

import msgspec

from sayagain.artifact.plaintext import one_line
from sayagain.artifact.schema import ArtifactRecord, check_version
from sayagain.errors import CorruptArtifactError, TornArtifactError
from sayagain.records import RunHeader

MAX_LINE_BYTES = 4 * 1024 * 1024
"""Length of a line, its newline included. Nothing longer is written, or read into memory."""

NEWLINE = 0x0A
MAX_DEPTH = 32
"""Arrays and objects inside each other. Schema 1 needs five."""

_BRACKET = re.compile(r'"(?:[^"\\]|\\.)*+"|[\[{\]}]')
_encoder = msgspec.json.Encoder()
_decoder = msgspec.json.Decoder(ArtifactRecord)


class _Version(msgspec.Struct):
    """What must be known of a header before the rest of it can be understood."""

    record: str = ""
    schema: str = ""


def encode_line(record: ArtifactRecord) -> bytes:
    """Return a record as one line; raise UnicodeEncodeError when a text in it cannot be UTF-8."""
    return _encoder.encode(record) + b"\n"


def encode_lines(records: Iterable[ArtifactRecord]) -> bytes:
    """Return records as lines; raise UnicodeEncodeError when a text in one cannot be UTF-8."""
    return _encoder.encode_lines(records)


def read_line(stream: BinaryIO, number: int) -> bytes:
    r"""Return the next line without its newline, or b"" at the end of the file.

    Lines end in `\n` and in nothing else. Raises CorruptArtifactError for a line that is empty, too long or torn.
    """
    line = stream.readline(MAX_LINE_BYTES + 1)
    if 1 < len(line) <= MAX_LINE_BYTES and line[-1] == NEWLINE:
        return line[:-1]
    if len(line) > MAX_LINE_BYTES:
        raise CorruptArtifactError(f"the line is longer than {MAX_LINE_BYTES:,} bytes", number)
    if line == b"\n":
        raise CorruptArtifactError("the line is empty", number)
    if line:
        raise TornArtifactError("the file ends in the middle of this line", number)
    return line


def decode_header(line: bytes) -> RunHeader:
    """Return the run record of an artifact's first line.

    Raises:
        UnsupportedSchemaError: It has a major version of the schema that is not read here.
        CorruptArtifactError: It is not a run record.
    """
    try:
        version = msgspec.json.decode(line, type=_Version)
    except (msgspec.DecodeError, RecursionError, ValueError):
        version = _Version()
    if version.record == "run" and version.schema:
        check_version(version.schema)
    record = decode_line(line, 1)
    if not isinstance(record, RunHeader):
        raise CorruptArtifactError("the first record is not a run record", 1)
    return record


def decode_line(line: bytes, number: int) -> ArtifactRecord:
    """Return the record of a line; raise CorruptArtifactError, which names it, for whatever is wrong with it."""
    try:
        record = _decoder.decode(line)
    except (msgspec.DecodeError, RecursionError, ValueError) as error:
        _reject(error, number)
    # What encodes to the same bytes again has no repeated key, no unknown field and nothing unusual about it;
    # that is nearly every line sayagain wrote, and looking costs ten times as much.
    if _encoder.encode(record) != line:
        _check_unusual(line, number)
    return record


def _check_unusual(line: bytes, number: int) -> None:
    """Check what the typed decoder does not see: repeated keys, and fields of a later minor version."""
    try:
        if line.count(b"[") + line.count(b"{") > MAX_DEPTH:
            _check_depth(line.decode("utf-8"))
        # The same test without types: whole numbers stay whole, unknown fields stay.
        if _encoder.encode(msgspec.json.decode(line)) != line:
            _check_strictly(line.decode("utf-8"))
    except (msgspec.DecodeError, RecursionError, ValueError) as error:
        _reject(error, number)


def _check_strictly(text: str) -> None:
    value = json.loads(text, object_pairs_hook=_without_repeats, parse_constant=_not_json)
    json.dumps(value, ensure_ascii=False).encode("utf-8")


def _check_depth(text: str) -> None:
    """Raise ValueError when brackets, those inside texts not counted, are open deeper than in any record."""
    depth = 0
    for match in _BRACKET.finditer(text):
        if match.group() in ("[", "{"):
            depth += 1
            if depth > MAX_DEPTH:
                raise ValueError("nested too deeply")
        elif match.group() in ("]", "}"):
            depth -= 1


def _without_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) != len(pairs):
        raise ValueError("an object has the same key twice")
    return value


def _not_json(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is not JSON")


def _reject(error: Exception, number: int) -> NoReturn:
    if isinstance(error, RecursionError):
        reason = "nested too deeply"
    elif isinstance(error, UnicodeError):
        reason = "a text is not UTF-8"
    else:
        reason = one_line(str(error))[:200]
    raise CorruptArtifactError(reason, number) from None
