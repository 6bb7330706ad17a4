"""What makes two spellings of one utterance equal, so that WER and CER charge mistakes and not formatting.

docs/normalization.md explains every rule with its examples.
"""

from sayagain.metrics.normalization.scripts import subtags, uses_spaces

__all__ = ["NAME", "normalize", "rules_for", "uses_spaces"]

NAME = "sayagain-en/1"
"""Name and version of the English rules and of the basic ones beside them: part of a run's contract."""

_BASIC = "basic normalization/1"
_MONTH_FIRST = frozenset({"us", "ph", "ca"})
"""Regions that write the month before the day. English without a region is read as theirs."""


def rules_for(language: str) -> str:
    """Return the name of the rules applied to a language: NAME for English, else one that says "basic"."""
    return NAME if _is_english(language) else _BASIC


def normalize(text: str, language: str) -> str:
    """Return a text in the form in which it is compared: words in lower case parted by single spaces.

    `language` is a BCP 47 tag; a region decides how 5/6/2020 is read. Total (any string, never an exception),
    idempotent, linear in the text's length, and never empty when the text has a letter or digit.
    """
    if _is_english(language):
        from sayagain.metrics.normalization.english import normalize_english

        regions = [part for part in subtags(language)[1:] if len(part) == 2]
        return normalize_english(text, day_first=bool(regions) and regions[0] not in _MONTH_FIRST)
    from sayagain.metrics.normalization.basic import normalize_basic

    return normalize_basic(text)


def _is_english(language: str) -> bool:
    return subtags(language)[0] == "en"
