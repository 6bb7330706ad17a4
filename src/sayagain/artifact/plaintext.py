"""Plain text for a person: nothing in it can steer a terminal or pretend to be something else."""

import re

_ANSI = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]?|[\]PX^_][^\x07\x1b\x9c]*(?:\x07|\x1b\\|\x9c)?|[ -/]*[0-~]?)")
"""Escape sequences (ECMA-48): CSI, the strings OSC, DCS, SOS, PM and APC, and the two-character ones."""

_LINE_BREAK = re.compile("\r\n|[\r\n\v\f\x1c-\x1e\x85\u2028\u2029]")
_SURROGATE = re.compile("[\ud800-\udfff]")
_MARKUP = re.compile(r"\[(?=[a-z#/@])([^\[\]]{0,200})\]?")
"""What the rich library would read as markup; `[Errno 111]` is not."""

_SPACE = re.compile(r"\s+")


def without_controls(text: str) -> str:
    """Return the text without escape sequences, controls and other characters that print nothing.

    A lone surrogate becomes U+FFFD. Every kind of line break becomes a newline and is kept.
    """
    if text.isprintable():
        return text
    text = _SURROGATE.sub("\ufffd", _LINE_BREAK.sub("\n", _ANSI.sub("", text)))
    return "".join(char for char in text if char.isprintable() or char.isspace())


def one_line(text: str) -> str:
    """Return the text as one line that neither a terminal nor a markup renderer gives a meaning to."""
    return _SPACE.sub(" ", _MARKUP.sub(_in_parentheses, without_controls(text))).strip()


def _in_parentheses(match: re.Match[str]) -> str:
    closed = match.group().endswith("]")
    return f"({match.group(1)})" if closed else f"({match.group(1)}"
