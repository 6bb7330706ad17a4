"""Reads a run of adjacent numbers as one string of digits, because speech does not say where one number ends.

"nine one one", "9-1-1" and "911"; "nineteen ninety nine" and "1999"; "ten thirty" and "10:30" meet that way.
"""

from dataclasses import dataclass, field

from sayagain.metrics.normalization.fractions import DENOMINATORS, mixed, read_fraction, times_magnitude
from sayagain.metrics.normalization.numerals import (
    CENTURIES,
    LETTER_ZEROS,
    ORDINALS_AFTER,
    POINTS,
    REPEATS,
    STARTERS,
    TEENS,
    TENS,
    UNIT_DIGITS,
    UNITS,
    ZEROS_AFTER,
    Numeral,
    begins_number,
    following_zeros,
    read_numeral,
    shifted,
    single_digit,
)
from sayagain.metrics.normalization.wordlists import word_set

_INTERJECTIONS_AFTER_OH = word_set("no my well yeah yes god wait dear man boy come hey wow and i you we")
_NOUN_BEFORE_POINT = word_set("the this that some what which any a my your our his her its their one at")
_COMPLETES_A_NUMBER = ZEROS_AFTER.keys() | ORDINALS_AFTER.keys() | CENTURIES.keys() | DENOMINATORS
"""Words that make more of the number before them; before all others a digit or plain number is complete."""
_CAN_EXTEND = STARTERS | POINTS | LETTER_ZEROS | {"a", "and"}
_PAST = frozenset({"past", "after"})
_TO = frozenset({"to", "till", "til"})


@dataclass(slots=True)
class Run:
    """Adjacent numbers: their texts in order, where the words go on, and their form."""

    parts: list[str] = field(default_factory=list)
    end: int = 0
    form: str = "number"
    fraction: str = ""
    """A fraction said after the number that has no decimal form: two and a third."""

    @property
    def text(self) -> str:
        """The numbers as one string."""
        return "".join(self.parts)


def read_run(words: list[str], index: int, before: str) -> Run | None:
    """Read the adjacent numbers from a word on, or return None when none begins there.

    `before` is the word before them, which can make "point" a noun.
    """
    run = Run(end=index)
    if _leads_with_zero(words, index):
        run.parts.append("0")
        run.end += 1
    elif words[index] == "point" and before not in _NOUN_BEFORE_POINT and _decimal_digits(words, index + 1):
        run.parts.append("0")
    while _extend(run, words):
        pass
    return run if run.parts else None


def _leads_with_zero(words: list[str], index: int) -> bool:
    """Tell whether `oh` opens a spelled number: before at least three more digits."""
    return words[index] in LETTER_ZEROS and all(single_digit(word) for word in words[index + 1 : index + 4])


def _extend(run: Run, words: list[str]) -> bool:
    """Read one more number into the run; return whether another may follow."""
    word = words[run.end]
    if word not in _CAN_EXTEND and not word[:1].isdigit():
        return False
    if run.parts:
        if word in POINTS:
            return _read_decimals(run, words)
        if word == "and":
            return _read_mixed(run, words, run.end + 1, after_and=True)
        if word in LETTER_ZEROS:
            return _read_letter_zero(run, words)
    if words[run.end + 1] not in _COMPLETES_A_NUMBER and (digits := UNIT_DIGITS.get(word) or _plain(word)):
        return _take(run, Numeral(digits, run.end + 1))
    time = _read_quarter_hour(words, run.end)
    if time is not None:
        return _take(run, time)
    fraction = read_fraction(words, run.end)
    if fraction is not None:
        return _read_fraction(run, fraction, words)
    numeral = read_numeral(words, run.end)
    if numeral is None:
        return False
    if numeral.form == "number":
        return _take(run, numeral)
    joins = not run.parts or (numeral.form == "decade" and len(run.text) <= 2)
    if joins:
        _take(run, numeral)
        run.form = numeral.form
    return False


def _plain(word: str) -> str:
    """Return a word of digits alone, or nothing."""
    return word if word.isdecimal() else ""


def _take(run: Run, numeral: Numeral) -> bool:
    run.parts.append(numeral.text)
    run.end = numeral.end
    return True


def _read_decimals(run: Run, words: list[str]) -> bool:
    """Read `point five oh`: every digit that follows the point, then the magnitudes of the whole."""
    digits: list[str] = []
    index = run.end + 1
    while (found := _decimal_digits(words, index)) is not None:
        digits.append(found.text)
        index = found.end
    if not digits:
        return False
    number = f".{''.join(digits)}"
    if "." in run.parts[-1]:
        return _take(run, Numeral(number, index))
    zeros, end = following_zeros(words, index)
    return _take(run, Numeral(shifted(run.parts.pop() + number, zeros), end))


def _decimal_digits(words: list[str], index: int) -> Numeral | None:
    word = words[index]
    if word.isdecimal():
        return Numeral(word, index + 1)
    if word in REPEATS:
        return read_numeral(words, index)
    digit = single_digit(word)
    if digit is not None:
        return Numeral(digit, index + 1)
    if word in TEENS:
        return Numeral(str(TEENS[word]), index + 1)
    if word in TENS:
        unit = UNITS.get(words[index + 1], 0)
        return Numeral(str(TENS[word] + unit), index + 1 + bool(unit))
    return None


def _read_letter_zero(run: Run, words: list[str]) -> bool:
    """Read `oh` or `o` inside a number as a zero: nine oh five; but not "I have five, oh no"."""
    word, following = words[run.end], words[run.end + 1]
    inside = begins_number(words, run.end + 1) or following in LETTER_ZEROS or following in REPEATS
    several = len(run.parts) > 1 or len(run.parts[0]) > 1
    last = word == "oh" and several and following not in _INTERJECTIONS_AFTER_OH
    return _take(run, Numeral("0", run.end + 1)) if inside or last else False


def _read_fraction(run: Run, fraction: Numeral, words: list[str]) -> bool:
    if run.parts and _read_mixed(run, words, run.end, after_and=False):
        return True
    if run.fraction:
        return False
    number = times_magnitude(fraction.text, words, fraction.end)
    if number is not None:
        return _take(run, number)
    if not run.parts:
        _take(run, fraction)
        run.form = "fraction"
    return False


def _read_mixed(run: Run, words: list[str], index: int, *, after_and: bool) -> bool:
    """Read the fraction after a whole number: two and a half, 2 1/2; with magnitudes after it."""
    fraction = read_fraction(words, index, after_and=after_and)
    if fraction is None or "." in run.parts[-1]:
        return False
    number = mixed(run.parts[-1], fraction.text)
    if number is None:
        run.fraction, run.end = fraction.text, fraction.end
        return False
    run.parts.pop()
    zeros, end = following_zeros(words, fraction.end)
    return _take(run, Numeral(shifted(number, zeros), end))


def _read_quarter_hour(words: list[str], index: int) -> Numeral | None:
    """Read half past ten as 1030, quarter past ten as 1015 and (a) quarter to ten as 945."""
    index += words[index] == "a" and words[index + 1] == "quarter"
    part, relation = words[index], words[index + 1]
    if part not in {"half", "quarter"} or relation not in _PAST | _TO or (part, relation) == ("half", "after"):
        return None
    hour = read_numeral(words, index + 2)
    if hour is None or not hour.text.isdecimal() or not 1 <= int(hour.text[:3]) <= 12:
        return None
    if relation in _TO:
        return None if part == "half" else Numeral(f"{(int(hour.text) - 2) % 12 + 1}45", hour.end)
    return Numeral(hour.text.lstrip("0") + ("30" if part == "half" else "15"), hour.end)
