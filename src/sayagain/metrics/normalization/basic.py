"""Basic normalization, for every language without rules of its own: characters only, no knowledge of words."""

import unicodedata

from sayagain.metrics.normalization.folding import compatible
from sayagain.metrics.normalization.scripts import has_no_spaces, without_idle_spaces

_DECIMAL_SEPARATORS = frozenset(".,\u066b\u066c")
_KEPT_SYMBOLS = frozenset("+%&@#")
"""Symbols that are said as a word, so that dropping one would forgive a mistake. Currency is kept by category."""
_INVISIBLE = frozenset("\u00ad\u0640\u200b\u200c\u200d\u2060\ufeff\ufe0e\ufe0f\u200e\u200f\u061c")
"""Characters that only change how text looks: soft hyphen, Arabic tatweel, joiners, direction marks."""
_MINUS = frozenset("-\u2212\ufe63\uff0d")
_SETTLING = 2
"""Taking a space out can bring marks together whose canonical order shows another idle space."""


def normalize_basic(text: str) -> str:
    """Return text in NFKC and folded case, without punctuation, with one space between words.

    Letters, vowel signs and other combining marks stay; digits of every script become 0 to 9; a decimal
    separator and a sign stay with their digits, so 1.5 is not 15 and -5 is not 5. Linear in the text's length.
    """
    normalized = " ".join(words(text))
    for _ in range(_SETTLING):
        normalized = compatible(without_idle_spaces(normalized))
    return normalized


def words(text: str) -> list[str]:
    """Return the words of `normalize_basic`, before scripts without spaces are joined."""
    folded = _fold(text)
    kept = [_kept(folded, index, char) for index, char in enumerate(folded)]
    return compatible("".join(kept)).split()


def _fold(text: str) -> str:
    return compatible(compatible(text).casefold())


def _kept(text: str, index: int, char: str) -> str:
    """Return what stands for one character: itself, a digit, or a space."""
    if char.isascii() and char.isalnum():
        return char
    if char in _INVISIBLE:
        return ""
    category = unicodedata.category(char)
    if category == "Nd":
        return str(unicodedata.decimal(char))
    if category[0] in "LMN":
        return char
    if category == "Sc" or char in _KEPT_SYMBOLS:
        return f" {char} "
    before, after = text[index - 1 : index], text[index + 1 : index + 2]
    if char in _DECIMAL_SEPARATORS and before.isdecimal() and after.isdecimal():
        return "."
    if char in _MINUS and after.isdecimal() and (has_no_spaces(before) or not before.isalnum()):
        return " -"
    return " "
