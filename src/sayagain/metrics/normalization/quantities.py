"""Numbers with what belongs to them: signs, money, units, clock times and dates, in one canonical order."""

import re

from sayagain.metrics.normalization.calendar import MONTH_SET, day, is_day, is_year
from sayagain.metrics.normalization.numerals import LETTER_ZEROS, REPEATS, STARTERS, begins_number, shifted
from sayagain.metrics.normalization.runs import Run, read_run
from sayagain.metrics.normalization.tables import units
from sayagain.metrics.normalization.wordlists import word_set
from sayagain.metrics.normalization.written import CURRENCY_SIGNS, RANGE

LONGEST_WORD = 4
"""Significant digits up to which a number is one word; a longer one is one word a digit."""
_PHONE_DIGITS = 10

_MAY_BEGIN = STARTERS | LETTER_ZEROS | CURRENCY_SIGNS.keys() | {"a", "point", RANGE}
_KEEPS_NUMBER_WHOLE = MONTH_SET | LETTER_ZEROS | REPEATS.keys() | {"past", "after", "till", "til"}
"""Words that read one digit after them in their own way, so a long number after them is not taken apart."""
_ALSO_VERBS = frozenset({"may", "march"})
_BEFORE_A_DURATION = frozenset({"a", "an", "every", "each", "another"})
_CURRENCIES = frozenset(CURRENCY_SIGNS.values())
_HUNDREDTHS = {"cent": "dollar euro", "cents": "dollar euro", "pence": "pound"}
_SAID_WITHOUT_CENTS = frozenset({"dollar", "euro", "pound"})
"""Currencies in which `one pound fifty` is 1.50."""
_CURRENCY_MAGNITUDES = {"m": 6, "mn": 6, "mm": 6, "b": 9, "bn": 9, "tn": 12}
_PART_OF_ONE = re.compile(r"0\.([0-9]{2})\Z")
_PERIODS = word_set("second minute hour day week month year night")
"""What an amount can be "a" or "an" of: five dollars an hour is $5/hour."""
_SCALES = {
    "c": "celsius",
    "celsius": "celsius",
    "centigrade": "celsius",
    "f": "fahrenheit",
    "fahrenheit": "fahrenheit",
}
_AREAS = {"square": "square", "sq": "square", "cubic": "cubic", "cu": "cubic"}
_POWERS = {"squared": "square", "cubed": "cubic"}
_ARTICLES = frozenset({"a", "an"})
_HALVES = frozenset({"percent", *_PERIODS})
_NOON = frozenset({"am", "pm"})
_LOOKAHEAD = 6
_READINGS = 5
"""Bound on how often a text is read; two readings settle any text that was not made up to defeat this."""


def has_quantities(words: list[str]) -> bool:
    """Tell whether anything in the words can be part of a number."""
    return not _MAY_BEGIN.isdisjoint(words) or any(word[0].isdigit() for word in words)


def rewritten(words: list[str]) -> list[str]:
    """Return the words with every number, and what belongs to it, in canonical form.

    What one reading writes side by side the next may read as one number (5 $20 bills → 5 20 dollar → 520 dollar,
    which is how they are said), so the words are read again until nothing changes.
    """
    for _ in range(_READINGS):
        before, words = words, _Reading(words).rewritten()
        if words == before:
            break
    return words


class _Reading:
    """Rewrites the numbers in one list of words."""

    def __init__(self, words: list[str]) -> None:
        self._count = len(words)
        self._words = words + [""] * _LOOKAHEAD
        self._out: list[str] = []

    def rewritten(self) -> list[str]:
        """Return the words of one reading."""
        index = 0
        while index < self._count:
            word = self._words[index]
            if word in _MAY_BEGIN or word[0].isdigit():
                index = self._read(word, index)
            else:
                self._out.append(word)
                index += 1
        return self._out

    def _last(self) -> str:
        return self._out[-1] if self._out else ""

    def _read(self, word: str, index: int) -> int:
        """Read the number that may begin at a word; return where the words go on."""
        following = self._words[index + 1]
        if word in CURRENCY_SIGNS:
            return self._read_after_sign(word, index + 1)
        if word == "second" and self._last() == "per":
            self._out.append(word)
            return index + 1
        run = read_run(self._words, index, self._last())
        if run is None:
            self._out.append("to" if word == RANGE else word)
            return index + 1
        if run.form == "ordinal" and following == "second" and self._last() in _BEFORE_A_DURATION:
            run = Run([str(int(run.text[:-2]) - 2)], run.end - 1)
        return self._place(run)

    def _read_after_sign(self, sign: str, index: int) -> int:
        """Read $5, $-5 and $5-10; a sign without a number is its currency's word."""
        if self._words[index] == "minus" and begins_number(self._words, index + 1):
            self._out.append("minus")
            index += 1
        run = read_run(self._words, index, self._last())
        if run is None or run.form != "number":
            self._out.append(CURRENCY_SIGNS[sign])
            return index
        if self._words[run.end] == RANGE:
            start = run.end + 1 + (self._words[run.end + 1] in CURRENCY_SIGNS)
            upper = read_run(self._words, start, "to")
            if upper is not None and upper.form == "number":
                self._append(run.text)
                self._out.append("to")
                run = upper
        return self._place(run, sign)

    def _place(self, run: Run, sign: str = "") -> int:
        """Write a number in the place of its words, with the date, money or unit that it is part of."""
        if run.form != "fraction":
            if self._last() in MONTH_SET:
                return self._place_day(run, sign)
            moved = None if sign else self._place_before_month(run)
            if moved is not None:
                return moved
        if run.form in {"ordinal", "decade"}:
            self._out.append(run.text)
            return run.end
        return self._place_amount(run.text, run, sign)

    def _place_day(self, run: Run, sign: str = "") -> int:
        """Write what follows a month: a day, a year, or both; ordinal or not (May 5th, 2020)."""
        if run.form == "ordinal":
            if not is_day(run.text):
                self._out.append(run.text)
                return run.end
            run = self._read_as_day(run.text, run.end - 1)
        spelled_year = all(len(part) == 1 for part in run.parts) and is_year(run.text)
        if len(run.parts) > 1 and is_day(run.parts[0]) and not spelled_year:
            first, rest = day(run.parts[0]), "".join(run.parts[1:])
            if not (len(first) == len(rest) == 2 and is_year(first + rest)):
                self._out.append(first)
                return self._place_amount(rest, run, sign)
        return self._place_amount(day(run.text) if is_day(run.text) else run.text, run, sign)

    def _read_as_day(self, number: str, index: int) -> Run:
        """Read the run that begins with a day, written as a plain number in the place of the word at `index`."""
        self._words[index] = day(number)
        return read_run(self._words, index, self._last()) or Run([day(number)], index + 1)

    def _place_before_month(self, run: Run) -> int | None:
        """Write (the) 5th (of) May and 5 May 2020 as may 5 and may 5 2020; return None when it is neither."""
        has_of = self._words[run.end] == "of" and run.form == "ordinal"
        month = self._words[run.end + has_of]
        if month not in MONTH_SET or len(run.parts) != 1 or not is_day(run.text) or run.fraction:
            return None
        after = run.end + has_of + 1
        if month in _ALSO_VERBS and not has_of and not self._year_at(after):
            return None
        has_the = self._last() == "the" and run.form == "ordinal"
        if self._out[-1 - has_the : len(self._out) - has_the] and self._out[-1 - has_the][0].isdigit():
            return None
        if has_the:
            self._out.pop()
        self._out.append(month)
        return self._place_day(self._read_as_day(run.text, after - 1))

    def _year_at(self, index: int) -> bool:
        run = read_run(self._words, index, "")
        return run is not None and run.form == "number" and is_year(run.text)

    def _place_amount(self, text: str, run: Run, sign: str) -> int:
        """Write a number followed by its fraction, its currency or its unit."""
        index = run.end
        if run.fraction:
            self._append(text)
            self._out.append(run.fraction)
            return self._unit(index)
        if sign and self._words[index] in _CURRENCY_MAGNITUDES and text.count(".") < 2:
            text, index = shifted(text, _CURRENCY_MAGNITUDES[self._words[index]]), index + 1
        unit = units().get(self._words[index], "")
        currency = CURRENCY_SIGNS.get(sign) or (unit if unit in _CURRENCIES else "")
        if currency:
            return self._money(text, currency, index + (unit == currency))
        after_feet = self._last() == "foot" and len(text) <= 2
        self._append(text)
        if (
            self._words[index] in _ARTICLES
            and text == "1/2"
            and self._words[index + 1] in _HALVES | units().keys()
        ):
            index += 1
        if self._words[index] == "oclock" and self._words[index + 1] in _NOON:
            return index + 1
        if after_feet and unit == "inch":
            return index + 1
        return self._unit(index)

    def _money(self, text: str, currency: str, index: int) -> int:
        """Write an amount as number and currency: 5.20 dollar, 50 cent."""
        hundredths, end = self._hundredths(currency, index)
        if hundredths and text.isdecimal():
            text, index = f"{text}.{hundredths}", end
        text = text.removesuffix(".00")
        part = _PART_OF_ONE.match(text)
        if part is not None and currency in _HUNDREDTHS["cent"].split() and not self._after_amount():
            text, currency = part[1].lstrip("0"), "cent"
        self._append(text)
        self._out.append(currency)
        return self._rate(index)

    def _after_amount(self) -> bool:
        """Tell whether an amount of money was just written, to which cents would be added."""
        before = [word for word in self._out[-2:] if word != "and"]
        return bool(before) and before[-1] in _CURRENCIES

    def _hundredths(self, currency: str, index: int) -> tuple[str, int]:
        """Read `and 20 cents` after an amount: two digits, or nothing."""
        run = read_run(self._words, index + (self._words[index] == "and"), "")
        if run is None or run.form != "number" or run.fraction:
            return "", index
        fits = run.text.isdecimal() and len(run.text) <= 2
        if fits and currency in _HUNDREDTHS.get(self._words[run.end], "").split():
            return run.text.rjust(2, "0"), run.end + 1
        follows_at_once = self._words[index] != "and" and self._words[run.end] not in units()
        if fits and len(run.text) == 2 and follows_at_once and currency in _SAID_WITHOUT_CENTS:
            return run.text, run.end
        return "", index

    def _unit(self, index: int) -> int:
        """Write the unit after a number, if there is one: feet and ft are foot, sq ft is square foot."""
        word, following = self._words[index], self._words[index + 1]
        if word in _AREAS and following in units():
            self._out += (_AREAS[word], units()[following])
            return index + 2
        unit = units().get(word)
        if unit is None or (len(word) == len(following) == 1 and following.isalpha()):
            return index
        if following in _POWERS:
            self._out += (_POWERS[following], unit)
            return index + 2
        self._out.append(unit)
        if following in _ARTICLES:
            return self._rate(index + 1)
        if unit == "degree" and following in _SCALES:
            self._out.append(_SCALES[following])
            return index + 2
        return index + 1

    def _rate(self, index: int) -> int:
        """Write `an hour` after a unit or an amount as `per hour`: mph and $5/hour say no more."""
        if self._words[index] in _ARTICLES and self._words[index + 1] in _PERIODS:
            self._out += ("per", self._words[index + 1])
            return index + 2
        return index

    def _append(self, number: str) -> None:
        """Write a number: one word, or one word a digit when it is long."""
        if self._last() == "negative":
            self._out[-1] = "minus"
        long = number.isdecimal() and len(number.rstrip("0")) > LONGEST_WORD
        if not long or self._last() in _KEEPS_NUMBER_WHOLE:
            self._out.append(number)
            return
        if len(number) >= _PHONE_DIGITS and self._last() == "plus":
            before = self._out[-2] if len(self._out) > 1 else ""
            if not before[:1].isdigit() and before not in _KEEPS_NUMBER_WHOLE:
                self._out.pop()
        self._out += number
