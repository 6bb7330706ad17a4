r"""Undo what hides words in error text: percent-encoding, backslash escapes and character references.

The redactor works on the decoded text and returns it, so that one search finds every spelling. Every step is a
single pass, and layers of one encoding (`%2520`, `\\u0041`) are undone in one.
"""

import re

from sayagain.artifact.plaintext import without_controls

ROUNDS = 4
"""How often the steps are repeated, for encodings inside each other."""

_PERCENT = re.compile(r"(?:%(?:25)*[0-9A-Fa-f]{2})+")
_PERCENT_BYTE = re.compile(r"%(?:25)*([0-9A-Fa-f]{2})")
_UNICODE_ESCAPE = re.compile(r"(?<!\\)(?:\\++u[0-9A-Fa-f]{4})+")
_UNICODE_UNIT = re.compile(r"u([0-9A-Fa-f]{4})")
_BYTE_ESCAPE = re.compile(r"(?<!\\)(?:\\++x[0-9A-Fa-f]{2})+")
_BYTE = re.compile(r"x([0-9A-Fa-f]{2})")
_SHORT_ESCAPE = re.compile(r"(?<!\\)\\++([\"'/bfnrt])")
_REFERENCE = re.compile(
    r"&(?:amp;)*(?:#(\d{1,7})|#x([0-9a-f]{1,6})|(amp|lt|gt|quot|apos|nbsp|commat));", re.IGNORECASE
)
_NAMED = {"amp": "&", "lt": "<", "gt": ">", "quot": '"', "apos": "'", "nbsp": " ", "commat": "@"}
_WRAPPED_BASE64 = re.compile(r"(?<=[A-Za-z0-9+/]{60})\r?\n(?=[A-Za-z0-9+/])")


def decoded(text: str) -> str:
    """Return the text with its encodings undone and without controls; line breaks stay. Linear in its length."""
    for _ in range(ROUNDS):
        before = text
        if "%" in text:
            text = _PERCENT.sub(_from_percent, text)
        if "\\" in text:
            text = _UNICODE_ESCAPE.sub(_from_unicode_escape, text)
            text = _BYTE_ESCAPE.sub(_from_byte_escape, text)
            text = _SHORT_ESCAPE.sub(_from_short_escape, text)
        if "&" in text:
            text = _REFERENCE.sub(_from_reference, text)
        text = without_controls(text)
        if text == before:
            break
    return _WRAPPED_BASE64.sub("", text)


def _from_percent(match: re.Match[str]) -> str:
    return _text(bytes.fromhex("".join(_PERCENT_BYTE.findall(match.group()))))


def _from_unicode_escape(match: re.Match[str]) -> str:
    units = "".join(_UNICODE_UNIT.findall(match.group()))
    return bytes.fromhex(units).decode("utf-16-be", "replace")


def _from_byte_escape(match: re.Match[str]) -> str:
    return _text(bytes.fromhex("".join(_BYTE.findall(match.group()))))


def _from_short_escape(match: re.Match[str]) -> str:
    char = match.group(1)
    return char if char in "\"'/" else "\n" if char in "nr" else " "


def _from_reference(match: re.Match[str]) -> str:
    decimal, hexadecimal, name = match.groups()
    if name:
        return _NAMED[name.lower()]
    point = int(decimal) if decimal else int(hexadecimal, 16)
    return chr(point) if point <= 0x10FFFF else "\ufffd"


def _text(octets: bytes) -> str:
    try:
        return octets.decode("utf-8")
    except UnicodeDecodeError:
        return octets.decode("latin-1")
