"""What is done to a record so that JSON, UTF-8 and schema 1 can hold it, and nobody has to lose a run over it."""

import math
from collections.abc import Mapping
from typing import Any

import msgspec

from sayagain.artifact.lines import MAX_LINE_BYTES, encode_line, encode_lines
from sayagain.artifact.schema import ArtifactRecord
from sayagain.errors import ArtifactWriteError
from sayagain.failures import KINDS, sanitized
from sayagain.records import ResultRow


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
    if row.detail is not None:
        changes["detail"] = {name: part for name, part in row.detail.items() if math.isfinite(part)}
    return msgspec.structs.replace(row, reason=row.reason or "a number was not finite", **changes)


def _is_finite(row: ResultRow) -> bool:
    # Adding costs less than asking each: a sum is finite unless a part is not, or it overflows, and then we look.
    total = (row.value or 0.0) + (row.connect_ms or 0.0) + (row.loop_lag_ms or 0.0)
    return math.isfinite(total) and (not row.detail or math.isfinite(sum(row.detail.values())))


def _finite(number: float | None) -> bool:
    return number is None or math.isfinite(number)


def encoded_rows(group: list[ResultRow]) -> bytes:
    """Return the lines of rows; raise ArtifactWriteError when one is too long."""
    try:
        lines = encode_lines(group)
    except UnicodeEncodeError:
        return b"".join(map(encoded, group))
    return lines if len(lines) <= MAX_LINE_BYTES else b"".join(map(encoded, group))


def encoded(record: ArtifactRecord) -> bytes:
    """Return a record's line; raise ArtifactWriteError when it is too long.

    Lone surrogates, which UTF-8 cannot hold, become U+FFFD.
    """
    try:
        line = encode_line(record)
    except UnicodeEncodeError:
        line = encode_line(msgspec.convert(_without_surrogates(msgspec.to_builtins(record)), type(record)))
    if len(line) > MAX_LINE_BYTES:
        raise ArtifactWriteError(f"a record is longer than the {MAX_LINE_BYTES:,} bytes that a line may have")
    return line


def _without_surrogates(value: Any) -> Any:
    if isinstance(value, str):
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if isinstance(value, dict):
        return {_without_surrogates(key): _without_surrogates(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [_without_surrogates(part) for part in value]
    return value
