"""Words that always become other words (spelling, abbreviations), fillers, and words written apart or joined."""

from functools import cache

from sayagain.metrics.normalization.numerals import BELOW_HUNDRED, ZEROS, ZEROS_AFTER
from sayagain.metrics.normalization.tables import compounds, words
from sayagain.metrics.normalization.wordlists import word_set
from sayagain.metrics.normalization.written import JOINING_PREFIXES

FILLERS = word_set("uh uhh um umm uhm erm hm hmm hmmm mm mmm")
"""Sounds of hesitation, which are not scored. Sounds that answer (mhm, uh-huh) are words."""
_AFTER_UH = frozenset({"huh", "oh"})
_NUMBER_WORDS = frozenset({*BELOW_HUNDRED, *ZEROS, *ZEROS_AFTER})
_SPACED_PREFIXES = JOINING_PREFIXES & {"non", "anti", "multi", "semi"}
_NEVER_AFTER_PREFIX = word_set("and or of the a an is are was to in on at for")


def after_number(out: list[str]) -> bool:
    """Tell whether the last word is a number, so that a letter or `mm` after it is a unit."""
    return bool(out) and (out[-1][0].isdigit() or out[-1] in _NUMBER_WORDS)


def without_fillers(spoken: list[str]) -> list[str]:
    """Return the words without hesitations; 20 mm keeps its unit and uh-huh its meaning."""
    if FILLERS.isdisjoint(spoken):
        return spoken
    out: list[str] = []
    for index, word in enumerate(spoken):
        unit = word == "mm" and after_number(out)
        answer = word == "uh" and spoken[index + 1 : index + 2] and spoken[index + 1] in _AFTER_UH
        if word not in FILLERS or unit or answer:
            out.append(word)
    return out


def replaced(spoken: list[str]) -> list[str]:
    """Return the words with every spelling and abbreviation replaced by its canonical form."""
    table = words()
    if table.keys().isdisjoint(spoken):
        return spoken
    out: list[str] = []
    for word in spoken:
        replacement = table.get(word)
        if replacement is None:
            out.append(word)
        else:
            out += replacement
    return out


def joined(spoken: list[str]) -> list[str]:
    """Return the words with open compounds closed (web site, non profit), in one pass from the left."""
    if _first_words().isdisjoint(spoken):
        return spoken
    out: list[str] = []
    index = 0
    while index < len(spoken):
        word = spoken[index]
        following = spoken[index + 1] if index + 1 < len(spoken) else ""
        compound = compounds().get(f"{word} {following}")
        if compound is None and word in _SPACED_PREFIXES and _can_be_prefixed(following):
            compound = (word + following,)
        if compound is None:
            out.append(word)
            index += 1
        else:
            out += words().get(compound[0], compound)
            index += 2
    return out


def begins_compound(first: str, second: str) -> bool:
    """Tell whether two words are an open compound."""
    return f"{first} {second}" in compounds()


def _can_be_prefixed(word: str) -> bool:
    return len(word) > 2 and word.isalpha() and word not in _NEVER_AFTER_PREFIX


@cache
def _first_words() -> frozenset[str]:
    return frozenset(key.split()[0] for key in compounds()) | _SPACED_PREFIXES
