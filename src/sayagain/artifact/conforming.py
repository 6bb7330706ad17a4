"""What is done to a record so that JSON, UTF-8 and schema 1 can hold it, and nobody has to lose a run over it."""

import math
from collections.abc import Mapping
from typing import Any, TypeVar

import msgspec

from sayagain.artifact.lines import MAX_LINE_BYTES, encode_line, encode_lines
from sayagain.errors import ArtifactWriteError
from sayagain.failures import KINDS, sanitized
from sayagain.records import ResultRow, RunHeader, Summary

AnyRecord = TypeVar("AnyRecord", RunHeader, ResultRow, Summary)


def fit(row: ResultRow, providers: Mapping[str, str]) -> ResultRow:
    """Return a row that JSON and schema 1 can hold: finite numbers, and only failures that were sanitized."""
    if row.failure is not None and row.failure.fingerprint is None:
        # Nobody vouches for this text, so what it says is left out.
        failure = sanitized(row.failure, KINDS[row.failure.kind].meaning, providers.get(row.target, ""))
        row = msgspec.structs.replace(row, failure=failure)
    if _is_finite(row):
        return row
    changes: dict[str, Any] = {
        name: None for name in ("value", "connect_ms", "loop_lag_ms") if not _finite(getattr(row, name))
    }
    if row.detail is not None and not all(map(math.isfinite, row.detail.values())):
        changes["detail"] = {name: part for name, part in row.detail.items() if math.isfinite(part)}
    if changes:
        changes["reason"] = row.reason or "a number was not finite"
    return msgspec.structs.replace(row, **changes)


def _is_finite(row: ResultRow) -> bool:
    # Adding costs less than asking each: a sum is finite unless a part is not, or it overflows, and then we look.
    total = (row.value or 0.0) + (row.connect_ms or 0.0) + (row.loop_lag_ms or 0.0)
    return math.isfinite(total) and (not row.detail or math.isfinite(sum(row.detail.values())))


def _finite(number: float | None) -> bool:
    return number is None or math.isfinite(number)


def encoded_rows(rows: list[ResultRow]) -> tuple[list[ResultRow], bytes]:
    """Return rows as they are written, and their lines; raise ArtifactWriteError when one is too long.

    Lone surrogates, which UTF-8 cannot hold, become U+FFFD.
    """
    try:
        lines = encode_lines(rows)
    except UnicodeEncodeError:
        rows = [_without_surrogates(row) for row in rows]
        lines = encode_lines(rows)
    return rows, lines if len(lines) <= MAX_LINE_BYTES else b"".join(map(encoded, rows))


def encoded(record: AnyRecord) -> bytes:
    """Return a record's line; raise ArtifactWriteError when it is too long.

    Lone surrogates, which UTF-8 cannot hold, become U+FFFD.
    """
    try:
        line = encode_line(record)
    except UnicodeEncodeError:
        line = encode_line(_without_surrogates(record))
    if len(line) > MAX_LINE_BYTES:
        raise ArtifactWriteError(f"a record is longer than the {MAX_LINE_BYTES:,} bytes that a line may have")
    return line


def _without_surrogates(record: AnyRecord) -> AnyRecord:
    return msgspec.convert(_replaced(msgspec.to_builtins(record)), type(record))


def _replaced(value: Any) -> Any:
    if isinstance(value, str):
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if isinstance(value, dict):
        return {_replaced(key): _replaced(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [_replaced(part) for part in value]
    return value
