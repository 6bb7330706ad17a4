"""Reads one number, in words or digits or both, out of a list of words: the grammar of English numerals.

Values are strings of decimal digits, never floats, and no digit string longer than eighteen is turned into an
integer, so a number keeps its leading zeros and its length costs no more than linear time.
"""

import re
from dataclasses import dataclass

from sayagain.metrics.normalization.wordlists import counted_from

UNITS = counted_from(1, "one two three four five six seven eight nine")
TEENS = counted_from(10, "ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen")
TENS = counted_from(20, "twenty thirty forty fifty sixty seventy eighty ninety", step=10)
UNIT_DIGITS = {word: str(value) for word, value in UNITS.items()}
BELOW_HUNDRED = UNITS | TEENS | TENS
ZEROS = frozenset({"zero", "nought", "naught"})
LETTER_ZEROS = frozenset({"oh", "o"})
MAGNITUDES = {"thousand": 3, "million": 6, "billion": 9, "trillion": 12, "quadrillion": 15}
ZEROS_AFTER = {"hundred": 2, "k": 3, **MAGNITUDES}
"""Words that multiply the number before them, and how many zeros they add."""
REPEATS = {"double": 2, "triple": 3}
POINTS = frozenset({"point", "dot"})

_IRREGULAR_ORDINALS = {"one": "first", "two": "second", "three": "third", "five": "fifth", "eight": "eighth"} | {
    "nine": "ninth",
    "twelve": "twelfth",
}
ORDINALS = {
    _IRREGULAR_ORDINALS.get(word, word.removesuffix("y") + "ieth" if word.endswith("y") else word + "th"): value
    for word, value in BELOW_HUNDRED.items()
}
ORDINALS_AFTER = {"hundredth": 2, "thousandth": 3, "millionth": 6, "billionth": 9}
DECADES = {word.removesuffix("y") + "ies": f"{value}s" for word, value in TENS.items()}
CENTURIES = {"hundreds": 2, "thousands": 3}
"""After a number these name its years: the nineteen hundreds, the two thousands."""

_NUMERAL = re.compile(r"[0-9]+(?:\.[0-9]+)*\Z")
_ORDINAL = re.compile(r"[0-9]+(?:st|nd|rd|th)\Z")
_DECADE = re.compile(r"[0-9]+s\Z")
_FRACTION = re.compile(r"[0-9]+/[0-9]+\Z")
_LONGEST_INTEGER = 18

STARTERS = frozenset({*BELOW_HUNDRED, *ZEROS, *ORDINALS, *ORDINALS_AFTER, *DECADES, *REPEATS, "half", "quarter"})
"""Words with which a number can begin; `a`, `oh` and `point` can too, but only before certain words."""


@dataclass(frozen=True, slots=True)
class Numeral:
    """One number as read: its text, where the words go on, and which of the four forms it has."""

    text: str
    end: int
    form: str = "number"
    """number (36, 5.0, 1.2.3), ordinal (21st), decade (90s) or fraction (1/2)."""


def ordinal_text(number: str) -> str:
    """Return a number with its ordinal ending: 1 → 1st, 12 → 12th, 22 → 22nd."""
    if number[-2:] in {"11", "12", "13"}:
        return number + "th"
    return number + {"1": "st", "2": "nd", "3": "rd"}.get(number[-1:], "th")


def shifted(number: str, zeros: int) -> str:
    """Return a decimal number times ten to the power of `zeros`, exactly: 1.2 by 6 → 1200000."""
    if not zeros:
        return number
    whole, _, fraction = number.partition(".")
    moved = whole + fraction[:zeros].ljust(zeros, "0")
    moved = moved.lstrip("0") or "0" if whole.strip("0") == "" else moved
    rest = fraction[zeros:]
    return f"{moved}.{rest}" if rest else moved


def begins_number(words: list[str], index: int) -> bool:
    """Tell whether a cardinal or decimal number begins at a word.

    Here as everywhere the list of words ends in empty ones, so that looking ahead is safe.
    """
    word = words[index]
    if word == "a":
        return words[index + 1] in ZEROS_AFTER and words[index + 1] != "k"
    return word in BELOW_HUNDRED or word in ZEROS or _NUMERAL.match(word) is not None


def read_numeral(words: list[str], index: int) -> Numeral | None:
    """Read the one number that begins at `index`, or return None when none does."""
    word = words[index]
    if word[:1].isdecimal():
        return _read_digits(words, index)
    if word in ORDINALS:
        return Numeral(ordinal_text(str(ORDINALS[word])), index + 1, "ordinal")
    if word in DECADES:
        return Numeral(DECADES[word], index + 1, "decade")
    if word in ORDINALS_AFTER:
        return Numeral(ordinal_text("1" + "0" * ORDINALS_AFTER[word]), index + 1, "ordinal")
    if word in REPEATS:
        return _read_repeated(words, index)
    if word == "a" and begins_number(words, index):
        return _with_magnitudes("1", words, index + 1)
    if word in ZEROS:
        return _with_magnitudes("0", words, index + 1)
    small = _below_hundred(words, index)
    if small is None or small.form == "ordinal":
        return small
    return _with_magnitudes(small.text, words, small.end)


def _read_digits(words: list[str], index: int) -> Numeral | None:
    word = words[index]
    if _NUMERAL.match(word):
        return _with_magnitudes(word, words, index + 1)
    if _ORDINAL.match(word):
        return Numeral(word, index + 1, "ordinal")
    if _DECADE.match(word):
        return Numeral(word, index + 1, "decade")
    if _FRACTION.match(word):
        return Numeral(word, index + 1, "fraction")
    return None


def _read_repeated(words: list[str], index: int) -> Numeral | None:
    """Read `double five` as 55; `double twenty` and `double five hundred` repeat nothing."""
    digit = single_digit(words[index + 1])
    if digit is None or words[index + 2] in ZEROS_AFTER:
        return None
    return Numeral(digit * REPEATS[words[index]], index + 2)


def single_digit(word: str) -> str | None:
    """Return the digit a word names, or None: five and 5 are 5, oh is 0."""
    if word in UNITS:
        return str(UNITS[word])
    if word in ZEROS or word in LETTER_ZEROS:
        return "0"
    return word if len(word) == 1 and word.isdecimal() else None


def _with_magnitudes(number: str, words: list[str], index: int) -> Numeral:
    """Read the hundreds, thousands, millions… after a first number, and the smaller number after each.

    1.2 million; two thousand and five; three hundred twenty thousand four hundred and first.
    """
    if number.count(".") > 1:
        return Numeral(number, index)
    if words[index] in CENTURIES and number.isdecimal():
        return Numeral(f"{shifted(number, CENTURIES[words[index]])}s", index + 1, "decade")
    group = _with_hundreds(number, words, index)
    total = 0
    while True:
        zeros, index = following_zeros(words, group.end)
        ending = ORDINALS_AFTER.get(words[index]) if group.form == "number" else None
        if ending is not None and "." not in group.text:
            zeros, index = zeros + ending, index + 1
        digits = group.text[:-2] if group.form == "ordinal" else group.text
        value = shifted(digits, zeros)
        if "." in value or len(value) > _LONGEST_INTEGER or (total == 0 and zeros == 0):
            return (
                Numeral(ordinal_text(value), index, "ordinal")
                if group.form == "ordinal"
                else Numeral(value, index)
            )
        total += int(value)
        if group.form == "ordinal" or ending is not None:
            return Numeral(ordinal_text(str(total)), index, "ordinal")
        smaller = _smaller(words, index, zeros) if zeros else None
        if smaller is None:
            return Numeral(str(total), index)
        group = smaller


def following_zeros(words: list[str], index: int) -> tuple[int, int]:
    """Add up the zeros of the multiplying words from `index` on."""
    zeros = 0
    while words[index] in ZEROS_AFTER:
        zeros, index = zeros + ZEROS_AFTER[words[index]], index + 1
    return zeros, index


def _with_hundreds(number: str, words: list[str], index: int) -> Numeral:
    """Read `hundred` after a number, and what is below a hundred after that: nineteen hundred and five."""
    if words[index] != "hundred" or len(number) > _LONGEST_INTEGER - 2:
        return Numeral(number, index)
    value, index = shifted(number, 2), index + 1
    after_and = words[index] == "and"
    rest = _below_hundred(words, index + after_and) if "." not in value else None
    if rest is None or words[rest.end] == "hundred" or _is_spelled_on(words, rest, after_and):
        return Numeral(value, index)
    if rest.form == "ordinal":
        return Numeral(ordinal_text(str(int(value) + int(rest.text[:-2]))), rest.end, "ordinal")
    return Numeral(str(int(value) + int(rest.text)), rest.end)


def _is_spelled_on(words: list[str], rest: Numeral, after_and: bool) -> bool:
    """Tell whether what follows makes `rest` a number of its own: eight hundred, five five five."""
    return (after_and or len(rest.text) == 1) and begins_number(words, rest.end)


def _smaller(words: list[str], index: int, limit: int) -> Numeral | None:
    """Read the group that is added after a multiplying word: with its own zeros below ten to `limit`.

    After "and" it must be below a hundred and end the number, so "a thousand and one fifty" stays two numbers.
    """
    after_and = words[index] == "and"
    first = _below_thousand(words, index + after_and)
    if first is None:
        return None
    group = first if first.form == "ordinal" else _with_hundreds(first.text, words, first.end)
    zeros, _ = following_zeros(words, group.end)
    if group.form == "ordinal":
        return group if zeros == 0 and len(group.text) - 2 <= limit else None
    if (after_and and (len(group.text) > 2 or zeros)) or _is_spelled_on(words, group, after_and):
        return None
    return group if len(group.text) + zeros <= limit else None


def _below_thousand(words: list[str], index: int) -> Numeral | None:
    """Read words below a hundred, or up to three digits without a leading zero."""
    word = words[index]
    if word.isdecimal():
        return Numeral(word, index + 1) if len(word) <= 3 and not word.startswith("0") else None
    return _below_hundred(words, index)


def _below_hundred(words: list[str], index: int) -> Numeral | None:
    """Read a number or ordinal below a hundred: five, twenty one, 21, twenty first."""
    word = words[index]
    if word.isdecimal():
        return Numeral(word, index + 1) if len(word) <= 2 and not word.startswith("0") else None
    if word in ORDINALS and word != "second":
        return Numeral(ordinal_text(str(ORDINALS[word])), index + 1, "ordinal")
    if word not in BELOW_HUNDRED:
        return None
    value, index = BELOW_HUNDRED[word], index + 1
    following = words[index]
    if value >= 20 and following in UNITS:
        return Numeral(str(value + UNITS[following]), index + 1)
    if value >= 20 and ORDINALS.get(following, 99) < 10:
        return Numeral(ordinal_text(str(value + ORDINALS[following])), index + 1, "ordinal")
    return Numeral(str(value), index)
