"""Which languages are written without spaces between words, and which characters their scripts have."""

import re

from sayagain.metrics.normalization.wordlists import word_set

_LANGUAGES_WITHOUT_SPACES = word_set("zh yue wuu cmn nan hak gan cdo lzh ja th lo km my bo dz shn")
_SCRIPTS_WITHOUT_SPACES = word_set("hani hans hant jpan hira kana hrkt bopo thai laoo khmr mymr tibt")

CHARACTERS_WITHOUT_SPACES = (
    "\u0e00-\u0eff"  # Thai, Lao
    "\u0f00-\u109f"  # Tibetan, Myanmar
    "\u1780-\u17ff"  # Khmer
    "\u3005-\u3007\u3040-\u30ff\u3100-\u312f\u31f0-\u31ff"  # kana, bopomofo
    "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"  # Han
)
"""The scripts without spaces, as the inside of a regular expression's character class."""

_ONE_OF_THEM = re.compile(f"[{CHARACTERS_WITHOUT_SPACES}]")
_SPACE_BESIDE_THEM = re.compile(f"(?<=[{CHARACTERS_WITHOUT_SPACES}]) | (?=[{CHARACTERS_WITHOUT_SPACES}])")


def subtags(language: str) -> list[str]:
    """Return the parts of a language tag in lower case: `zh_Hant-TW` gives zh, hant, tw."""
    return language.strip().lower().replace("_", "-").split("-")


def uses_spaces(language: str) -> bool:
    """Tell whether words are separated by spaces in a language or, where the tag names one, in its script.

    Where they are not, a word error rate has no words to count and the character error rate is the primary
    metric. An unknown tag is taken to use spaces. `ja` → False, `ja-Latn` → True, `und-Thai` → False, `ko` → True.
    """
    primary, *others = subtags(language)
    script = next((part for part in others if len(part) == 4 and part.isalpha()), None)
    if script is not None:
        return script not in _SCRIPTS_WITHOUT_SPACES
    return primary not in _LANGUAGES_WITHOUT_SPACES


def has_no_spaces(char: str) -> bool:
    """Tell whether a character belongs to a script that writes no spaces between words."""
    return _ONE_OF_THEM.match(char) is not None


def without_idle_spaces(text: str) -> str:
    """Take out single spaces beside characters of scripts that have none: 今日 は → 今日は."""
    return _SPACE_BESIDE_THEM.sub("", text)
