"""Written English to the words one would say: digits stay digits, but every symbol becomes a word or goes.

This is the only stage that sees case and punctuation. Each run of characters between spaces is read once, by
one regular expression whose repetitions over separators are bounded, so the work is linear in the text's length.
"""

import re

from sayagain.metrics.normalization import basic, contractions, web
from sayagain.metrics.normalization.calendar import date_words
from sayagain.metrics.normalization.tables import contractions as contracted
from sayagain.metrics.normalization.tables import dotted
from sayagain.metrics.normalization.wordlists import word_set

RANGE = "\u2013"
"""Stands between the two numbers of a range until `numbers` says "to"."""
CURRENCY_SIGNS = {"$": "dollar", "£": "pound", "€": "euro", "¥": "yen", "¢": "cent", "₹": "rupee"}
"""Signs of money. A sign before its number stays in place until `quantities` moves its word behind the number."""
_SIGNS = "".join(CURRENCY_SIGNS)

_ANNOTATION = re.compile(r"\[[^\[\]]{0,60}\]|<[A-Za-z/|][\w|/ -]{0,30}>")
_EDGE = "'\"()[]{},;:!?*_~|\\`"
_DASHES = frozenset({"-", RANGE, "\u2212"})
_HYPHENATED = re.compile(r"[a-z]+(?:-[a-z]+)+\Z", re.IGNORECASE)
_APOSTROPHIC = re.compile(r"[a-z]+(?:'[a-z]+)+\Z", re.IGNORECASE)
_INITIALS = re.compile(r"[a-z](?:\.[a-z])+\Z", re.IGNORECASE)
_DEGREE_TITLE = re.compile(r"[a-z]{1,2}(?:\.[a-z]{1,2}){1,3}\Z", re.IGNORECASE)
_NUMBERS_WITH_HYPHENS = re.compile(r"\d+(?:-\d+){2,}\Z|\d{3}-\d{4}\Z")
_FOREIGN = re.compile("[^\x00-\x7f£€¥¢₹°\u00d7÷±\u2212\u2013]")
_STREETS = {"st": "street", "dr": "drive"}
_GRADE = re.compile(r"[A-F]-\Z")

JOINING_PREFIXES = word_set("e non anti multi semi pre co sub inter micro")
"""First parts whose hyphen is dropped without a space: e-mail, non-profit, co-worker."""

_PART = re.compile(
    r"""
      (?P<iso_date>(?<!\d)\d{4}-\d{2}-\d{2}(?!\d))
    | (?P<slash_date>(?<![\d/])\d{1,2}/\d{1,2}/(?:\d{4}|\d{2})(?![\d/]))
    | (?P<clock>(?<![\d:])\d{1,2}:\d{2}(?::\d{2})?(?![\d:]))
    | (?P<ratio>(?<![\d:])\d{1,9}:\d{1,9}(?![\d:]))
    | (?P<height>(?<!\d)\d{1,2}'\d{1,2}(?![\d']))
    | (?P<said_apart>(?<!\d)(?:24/7|9/11|50[/-]50|20/20|7-11)(?!\d))
    | (?P<fraction>(?<![\d/])\d{1,9}/\d{1,9}(?![\d/]))
    | (?P<ordinal>\d++(?:,\d{3}){0,8}(?:st|nd|rd|th)(?![a-z]))
    | (?P<decade>\d++'?s(?![a-z]))
    | (?P<number>\d{1,3}(?:,\d{2,3}){0,8},\d{3}(?!\d)(?:\.\d+)?|\d++(?:\.\d++)*|\.\d+)
    | (?P<word>[a-z]++(?:'[a-z]++)*)
    | (?P<per_second>/(?:h|hr|s|sec|min)(?![a-z]))
    | (?P<symbol>.)
    """,
    re.VERBOSE | re.IGNORECASE | re.DOTALL,
)
_PER = {"h": "hour", "hr": "hour", "s": "second", "sec": "second", "min": "minute"}
_MAGNITUDE_WITH_CURRENCY = {
    "k": "thousand", "m": "million", "mm": "million", "mn": "million", "mil": "million",
    "b": "billion", "bn": "billion", "t": "trillion", "tn": "trillion",
}  # fmt: skip
_MAGNITUDE = {"M": "million", "mn": "million", "bn": "billion", "tn": "trillion", "Bn": "billion"}
_ALWAYS = {"&": "and", "%": "percent", "+": "plus", "@": "at", "=": "equals", "°": "degree", "±": "plus or minus"}
_ALONE = _ALWAYS | {
    "\u2212": "minus",
    "#": "hash",
    "\u00d7": "x",
    "÷": "divided by",
    "<": "less than",
    ">": "greater than",
}
_BESIDE_A_DIGIT = {
    "\u00d7": "x",
    "*": "times",
    "÷": "divided by",
    "^": "to the",
    "<": "less than",
    ">": "greater than",
}


class Scanner:
    """Reads one text into words; `day_first` says how 5/6/2020 is read, `annotations` keeps [laughter]."""

    def __init__(self, text: str, *, day_first: bool, annotations: bool) -> None:
        if not annotations and ("[" in text or "<" in text):
            text = _ANNOTATION.sub(" ", text)
        self._chunks = text.split()
        self._day_first = day_first
        self._out: list[str] = []

    def words(self) -> list[str]:
        """Return the words, in lower case and without punctuation."""
        for index, chunk in enumerate(self._chunks):
            if chunk.isalpha() and chunk.isascii():
                self._out.append(chunk.lower())
            else:
                self._read(chunk, index)
        return self._out

    def _read(self, chunk: str, index: int) -> None:
        """Read one run of characters between spaces that is more than letters."""
        lowered = chunk.lower()
        exact = contracted().get(lowered)
        if exact is not None:
            self._out += exact
            return
        core = chunk.lstrip(_EDGE)
        bare = core.rstrip(_EDGE + ".")
        if bare.isalpha() and bare.isascii():
            self._word_before_punctuation(bare.lower(), core[len(bare) :].startswith("."), index)
        elif not bare:
            self._punctuation(core, index)
        elif _APOSTROPHIC.match(bare):
            self._out += contractions.expand(bare.lower(), self._following(index))
        elif _HYPHENATED.match(bare):
            self._hyphenated(bare.lower().split("-"))
        elif _FOREIGN.search(bare):
            self._foreign(bare)
        else:
            self._symbols(bare, core[len(bare) :].startswith("."), index)

    def _following(self, index: int) -> str:
        """Return the word after a chunk, in lower case, or nothing."""
        return self._chunks[index + 1].strip(_EDGE + ".").lower() if index + 1 < len(self._chunks) else ""

    def _word_before_punctuation(self, word: str, has_dot: bool, index: int) -> None:
        if has_dot and word in _STREETS and self._ends_a_name(index):
            self._out.append(_STREETS[word])
            return
        meaning = dotted().get(word) if has_dot else None
        if meaning is not None and index + 1 < len(self._chunks):
            following = self._chunks[index + 1].lstrip(_EDGE)
            capital = self._chunks[index].lstrip(_EDGE)[0].isupper()
            names = capital and following[:1].isupper() and following[1:2].islower()
            if following[:1].isdigit() if meaning[1] == "number" else names:
                word = meaning[0]
        self._out.append(word)

    def _ends_a_name(self, index: int) -> bool:
        """Tell whether an abbreviation stands between a capitalized word and one in lower case: Wall St. fell."""
        before = self._chunks[index - 1] if index else ""
        following = self._chunks[index + 1] if index + 1 < len(self._chunks) else ""
        return before.isalpha() and before[0].isupper() and following[:1].islower()

    def _punctuation(self, core: str, index: int) -> None:
        """Read a chunk without letters or digits: a symbol alone is a word, a dash between numbers too."""
        symbol = core.rstrip(_EDGE + ".") or core.strip(".")
        self._alone(symbol, index)

    def _alone(self, symbol: str, index: int) -> None:
        if symbol in _DASHES and symbol != "\u2212":
            before, after = (self._number_at(index - 1), self._number_at(index + 1))
            if before is not None and after is not None:
                self._out.append(RANGE if before < after else "minus")
        elif symbol in _ALONE:
            self._out += _ALONE[symbol].split()

    def _number_at(self, index: int) -> int | None:
        if not 0 <= index < len(self._chunks):
            return None
        digits = self._chunks[index].strip(_EDGE + "." + _SIGNS).replace(",", "")
        return int(digits) if digits.isascii() and digits.isdigit() and len(digits) < 16 else None

    def _foreign(self, bare: str) -> None:
        """Read a chunk with letters of another script by the basic rules, what is left of it in ASCII by ours."""
        for word in basic.words(bare):
            if word.isascii():
                self._parts(word)
            else:
                self._out.append(word)

    def _hyphenated(self, parts: list[str]) -> None:
        if parts[0] in JOINING_PREFIXES or (parts[0] == "re" and parts[1][0] == "e"):
            parts[:2] = [parts[0] + parts[1]]
        self._out += parts

    def _symbols(self, bare: str, has_dot: bool, index: int) -> None:
        """Read a chunk of letters, digits and symbols."""
        if len(bare) == 1:
            self._alone_or_sign(bare, index)
        elif _INITIALS.match(bare) or (has_dot and _DEGREE_TITLE.match(bare)) or bare.lower() == "ph.d":
            self._out.append(bare.replace(".", "").lower())
        elif web.is_address(bare):
            self._out += web.spoken(bare)
        elif _NUMBERS_WITH_HYPHENS.match(bare) and not _PART.match(bare)["iso_date"]:  # type: ignore[index]
            self._out += bare.split("-")
        else:
            self._parts(bare)

    def _alone_or_sign(self, symbol: str, index: int) -> None:
        if symbol in CURRENCY_SIGNS:
            is_prefix = self._number_at(index - 1) is None and self._number_at(index + 1) is not None
            self._out.append(symbol if is_prefix else CURRENCY_SIGNS[symbol])
        elif symbol.isdigit():
            self._out.append(symbol)
        else:
            self._alone(symbol, index)

    def _parts(self, chunk: str) -> None:
        has_currency = any(sign in chunk for sign in CURRENCY_SIGNS)
        for match in _PART.finditer(chunk):
            kind, text = match.lastgroup, match.group()
            before = chunk[match.start() - 1 : match.start()]
            after = chunk[match.end() : match.end() + 1]
            if kind == "word":
                self._letters(text, before, has_currency)
            elif kind == "number":
                number = text.replace(",", "")
                self._out.append(f"0{number}" if number.startswith(".") else number)
            elif kind == "symbol":
                self._symbol(text, chunk, match.start(), before, after, has_currency)
            elif kind == "per_second":
                self._out += ("per", _PER[text[1:].lower()])
            else:
                self._composed(str(kind), text.lower())

    def _letters(self, text: str, before: str, has_currency: bool) -> None:
        if "'" in text:
            self._out += contractions.expand(text.lower(), "")
            return
        if before.isdigit():
            magnitude = _MAGNITUDE_WITH_CURRENCY.get(text.lower()) if has_currency else _MAGNITUDE.get(text)
            if magnitude is not None:
                self._out.append(magnitude)
                return
        self._out.append(text.lower())

    def _composed(self, kind: str, text: str) -> None:
        """Read a date, time, ratio, height, fraction, ordinal or decade written with digits."""
        match kind:
            case "iso_date":
                year, month, day = text.split("-")
                self._out += date_words(day, month, year) or [year, month, day]
            case "slash_date":
                first, second, year = text.split("/")
                month, day = (second, first) if self._day_first else (first, second)
                self._out += date_words(day, month, year) or date_words(month, day, year) or [first, second, year]
            case "clock":
                hour, *rest = text.split(":")
                hour = str(int(hour))
                self._out += [hour, "oclock"] if rest == ["00"] else [hour + "".join(rest)]
            case "ratio":
                first, second = text.split(":")
                self._out += [first, "to", second]
            case "height":
                feet, inches = text.split("'")
                self._out += [feet, "foot", inches]
            case "said_apart":
                self._out += re.split("[/-]", text)
            case "decade":
                self._out.append(text.replace("'", ""))
            case _:
                self._out.append(text.replace(",", ""))

    def _symbol(self, symbol: str, chunk: str, start: int, before: str, after: str, has_currency: bool) -> None:
        """Read one symbol by what stands beside it."""
        if symbol in CURRENCY_SIGNS:
            self._out.append(CURRENCY_SIGNS[symbol] if before.isdigit() and not after.isdigit() else symbol)
        elif symbol in _DASHES:
            self._dash(symbol, chunk, start, before, after)
        elif symbol == "#":
            self._hash(start, before, after)
        elif symbol in _ALWAYS:
            self._out += _ALWAYS[symbol].split()
        elif symbol == "/" and has_currency and after.isalpha() and (before.isdigit() or before in CURRENCY_SIGNS):
            self._out.append("per")
        elif symbol == "." and start == 0 and after.isalpha():
            self._out.append("dot")
        elif symbol in _BESIDE_A_DIGIT and (before.isdigit() or after.isdigit()):
            self._out += _BESIDE_A_DIGIT[symbol].split()

    def _dash(self, symbol: str, chunk: str, start: int, before: str, after: str) -> None:
        signs = _SIGNS + "."
        if symbol == "\u2212":
            self._out.append("minus")
        elif before and (before.isdigit() or before == "%") and (after.isdigit() or (after and after in signs)):
            self._dash_between_numbers(symbol, chunk, start)
        elif not before or before in CURRENCY_SIGNS or not (before.isalnum() or before in "-%'"):
            if after and (after.isdigit() or after in signs):
                self._out.append("minus")
        elif not after and start == 1 and _GRADE.match(chunk):
            self._out.append("minus")

    def _dash_between_numbers(self, symbol: str, chunk: str, start: int) -> None:
        left = re.search(r"(\d{1,15})[\d.%]?\Z", chunk[max(0, start - 17) : start])
        right = re.match(rf"[{_SIGNS}]?(\d{{1,15}})", chunk[start + 1 : start + 18])
        ascending = left is not None and right is not None and int(left[1]) < int(right[1])
        if symbol == RANGE or ascending or self._out[-2:-1] == ["from"]:
            self._out.append(RANGE)

    def _hash(self, start: int, before: str, after: str) -> None:
        if after.isdigit():
            self._out.append("number")
        elif not after:
            self._out.append("sharp" if before.isalpha() else "hash")
        elif start == 0 and after.isalpha():
            self._out.append("hashtag")
