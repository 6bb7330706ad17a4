"""One form for characters that look or sound the same: Unicode compatibility forms, quotes, spaces, accents."""

import re
import unicodedata

_JOINERS = "\u00ad\u200b\u200c\u200d\u2060\ufeff\ufe0e\ufe0f"
_DIRECTIONS = "\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
_VULGAR_FRACTIONS = "¼½¾⅐⅑⅒⅓⅔⅕⅖⅗⅘⅙⅚⅛⅜⅝⅞"
_APOSTROPHES = "\u2018\u2019\u201a\u201b\u02bc\u02b9\u2032\uff07`\u00b4"
_QUOTES = "\u201c\u201d\u201e\u201f\u2033\u00ab\u00bb"
_HYPHENS = "\u2010\u2011\ufe63\uff0d"
_TRADE_MARKS = "™®©℠"

_BEFORE_COMPATIBILITY = str.maketrans(
    {
        **dict.fromkeys(_JOINERS + _DIRECTIONS + _TRADE_MARKS, ""),
        **dict.fromkeys(_APOSTROPHES, "'"),
        **dict.fromkeys(_QUOTES, '"'),
        **dict.fromkeys(_HYPHENS, "-"),
        # NFKC would glue these to the digit before them: 1½ must not become 11/2, nor 10² become 102.
        **{
            char: f" {unicodedata.normalize('NFKC', char).replace(chr(0x2044), '/')} "
            for char in _VULGAR_FRACTIONS
        },
        "²": " squared",
        "³": " cubed",
        **{char: f" to the {unicodedata.digit(char)}" for char in "⁰⁴⁵⁶⁷⁸⁹"},
        "\u2044": "/",
        "№": " number ",
        "\u2012": "\u2013",
        "\u2014": " ",
        "\u2015": " ",
        "…": " ",
    }
)
_LATIN_LETTERS = str.maketrans(
    {"æ": "ae", "Æ": "Ae", "œ": "oe", "Œ": "Oe", "ø": "o", "Ø": "O", "ß": "ss", "ẞ": "SS", "đ": "d", "Đ": "D"}
    | {"ð": "d", "Ð": "D", "þ": "th", "Þ": "Th", "ł": "l", "Ł": "L", "\u0131": "i", "ħ": "h", "Ħ": "H"}
)
_LONG_RUN_OF_MARKS = re.compile(r"[^\w\s]{31,}")
_MOST_MARKS = 30
"""Combining marks kept on one letter: the bound of UAX #15, Stream-Safe Text, past which NFKC is not linear."""
_LATIN_WITH_MARKS = re.compile("([A-Za-z])[\u0300-\u036f]+")


def fold(text: str) -> str:
    """Return text in compatibility form (NFKC) with plain quotes and hyphens and no invisible characters.

    Accents are taken off Latin letters only (café, naïve), so the vowel signs of other scripts stay.
    """
    if text.isascii():
        return text
    composed = compatible(text.translate(_BEFORE_COMPATIBILITY)).translate(_LATIN_LETTERS)
    decomposed = unicodedata.normalize("NFKD", composed)
    return unicodedata.normalize("NFKC", _LATIN_WITH_MARKS.sub(r"\1", decomposed)).translate(_BEFORE_COMPATIBILITY)


def compatible(text: str) -> str:
    """Return text in NFKC, in linear time: of a longer run of combining marks only the first thirty are kept."""
    return unicodedata.normalize("NFKC", _LONG_RUN_OF_MARKS.sub(_first_marks, text))


def _first_marks(run: re.Match[str]) -> str:
    marks = 0
    kept: list[str] = []
    for char in run.group():
        marks = marks + 1 if unicodedata.combining(char) else 0
        if marks <= _MOST_MARKS:
            kept.append(char)
    return "".join(kept)
