"""What is done to values that a database cannot hold, so that no case is ever lost over one.

Providers decide what a transcript, a code or a message contains, and both databases must give back the same:

- In every text, also inside traces, NUL and each lone surrogate becomes U+FFFD, the replacement character.
- A metric's value that is not finite becomes null, with a reason that says what it was.
- A part of a metric's detail that is not finite is left out; a connect time that is not finite becomes null.
- A lag that is not finite becomes the largest number there is: it then reads as a contaminated measurement,
  never as a clean one.
"""

import math
import re
import sys
from collections.abc import Mapping
from typing import Any

import msgspec

REPLACEMENT = "\N{REPLACEMENT CHARACTER}"

_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")
_ESCAPED_NUL = b"\\u0000"


def clean_text(text: str) -> str:
    """Return a text that every database can hold."""
    return _UNSTORABLE.sub(REPLACEMENT, text)


def clean_optional(text: str | None) -> str | None:
    """Return a text that every database can hold; None stays None."""
    return None if text is None else clean_text(text)


def clean_json(value: Any) -> str:
    """Return the JSON of a value, every text in it cleaned; a number that is not finite becomes null."""
    try:
        encoded = msgspec.json.encode(value)
    except UnicodeEncodeError:
        return _cleaned_json(value)
    if _ESCAPED_NUL in encoded:
        return _cleaned_json(value)
    return encoded.decode()


def clean_number(value: float | None) -> float | None:
    """Return a finite number, or None."""
    return value if value is not None and math.isfinite(value) else None


def clean_lag(value: float) -> float:
    """Return a lag in milliseconds; one that is not finite is the largest there is."""
    return value if math.isfinite(value) else sys.float_info.max


def clean_value(value: float | None, reason: str | None) -> tuple[float | None, str | None]:
    """Return a metric's value and reason; a value that is not finite is null and its reason says so."""
    if value is None or math.isfinite(value):
        return value, clean_optional(reason)
    return None, clean_optional(reason) or f"the value was not finite: {value}"


def clean_detail(detail: Mapping[str, float] | None) -> str | None:
    """Return the JSON of a metric's parts without those that are not finite; None stays None."""
    if detail is None:
        return None
    return clean_json({name: part for name, part in detail.items() if math.isfinite(part)})


def _cleaned_json(value: Any) -> str:
    return msgspec.json.encode(_cleaned(msgspec.to_builtins(value))).decode()


def _cleaned(value: Any) -> Any:
    if isinstance(value, str):
        return clean_text(value)
    if isinstance(value, dict):
        return {clean_text(key): _cleaned(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [_cleaned(part) for part in value]
    return value
