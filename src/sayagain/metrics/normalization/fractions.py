"""Fractions in words or digits: one half, three quarters, 2/3; and the decimals that some of them equal."""

import re

from sayagain.metrics.normalization.numerals import MAGNITUDES, TEENS, UNITS, Numeral, shifted

_SINGULAR = {"half": 2, "third": 3, "quarter": 4, "fourth": 4, "fifth": 5, "sixth": 6, "seventh": 7} | {
    "eighth": 8,
    "ninth": 9,
    "tenth": 10,
}
_PLURAL = {"halves" if word == "half" else word + "s": value for word, value in _SINGULAR.items()}
_MEASURES = frozenset({"cup", "mile", "inch", "pound", "teaspoon", "tablespoon", "ounce", *MAGNITUDES})
DENOMINATORS = _SINGULAR.keys() | _PLURAL.keys()
"""Words that can make a fraction of the number before them."""
_DIGITS = re.compile(r"[0-9]{1,9}/[0-9]{1,9}\Z")
_DECIMALS = {2: 1, 4: 2, 5: 1, 8: 3, 10: 1}
"""Denominators whose fractions end, and after how many decimals."""


def read_fraction(words: list[str], index: int, *, after_and: bool = False) -> Numeral | None:
    """Read the fraction that begins at a word, or return None.

    "a third" is one only before "of", or after a number and "and"; "a quarter", a coin too, also before measures.
    """
    word, following = words[index], words[index + 1]
    if word == "half":
        return Numeral("1/2", index + 1, "fraction")
    if _DIGITS.match(word):
        return Numeral(word, index + 1, "fraction")
    if word == "a":
        certain = following == "half" or after_and or words[index + 2] == "of"
        if following in _SINGULAR and (certain or (following == "quarter" and words[index + 2] in _MEASURES)):
            return Numeral(f"1/{_SINGULAR[following]}", index + 2, "fraction")
        return None
    numerator = UNITS.get(word) or TEENS.get(word) or (int(word) if word.isdecimal() and len(word) < 3 else None)
    singular = numerator == 1 or following == "quarter"
    denominator = _PLURAL.get(following) or (_SINGULAR.get(following) if singular else None)
    if numerator is None or denominator is None:
        return None
    return Numeral(f"{numerator}/{denominator}", index + 2, "fraction")


def mixed(whole: str, fraction: str) -> str | None:
    """Return a whole number and a fraction as one decimal (2 and 1/2 is 2.5), or None when it does not end."""
    numerator, denominator = (int(part) for part in fraction.split("/"))
    places = _DECIMALS.get(denominator)
    if places is None or numerator >= denominator or "." in whole:
        return None
    decimals = str(numerator * 10**places // denominator).rjust(places, "0").rstrip("0")
    return f"{whole}.{decimals}" if decimals else None


def times_magnitude(fraction: str, words: list[str], index: int) -> Numeral | None:
    """Read `million` or `a million` after a fraction: half a million is 500000."""
    magnitude = index + (words[index] == "a")
    decimal = mixed("0", fraction)
    zeros = MAGNITUDES.get(words[magnitude])
    if decimal is None or zeros is None:
        return None
    return Numeral(shifted(decimal, zeros), magnitude + 1)
