"""Street and place abbreviations that mean two things: St. and Dr., and the points of the compass."""

from sayagain.metrics.normalization.wordlists import word_set

_TWO_MEANINGS = {"st": ("street", "saint"), "dr": ("drive", "doctor")}
_ONLY_AFTER_HOUSE_NUMBER = {"ln": "lane", "pl": "place", "ct": "court"}
_COMPASS = {"n": "north", "s": "south", "e": "east", "w": "west"} | {
    "ne": "northeast",
    "nw": "northwest",
    "se": "southeast",
    "sw": "southwest",
}
_STREETS = word_set("street avenue boulevard road drive lane court place highway parkway way st dr ln ct")
_NOT_A_NAME = word_set("and in at near is to or by for with on of the was from are who said has will that")
_STREET_SPAN = 4

TRIGGERS = _TWO_MEANINGS.keys() | _COMPASS.keys() | _ONLY_AFTER_HOUSE_NUMBER.keys()


def expanded(words: list[str]) -> list[str]:
    """Return the words with these abbreviations expanded by what stands around them."""
    if TRIGGERS.isdisjoint(words):
        return words
    return [_expanded(words, index, word) if word in TRIGGERS else word for index, word in enumerate(words)]


def _expanded(words: list[str], index: int, word: str) -> str:
    after_house_number = _follows_house_number(words, index)
    if word in _TWO_MEANINGS:
        street, title = _TWO_MEANINGS[word]
        before = words[index - 1] if index else ""
        after = words[index + 1] if index + 1 < len(words) else ""
        named = before.isalpha() and before not in _NOT_A_NAME
        ends_the_name = not after or after in _NOT_A_NAME or after[0].isdigit()
        return street if after_house_number or (named and ends_the_name) else title
    if word in _ONLY_AFTER_HOUSE_NUMBER:
        return _ONLY_AFTER_HOUSE_NUMBER[word] if after_house_number else word
    if index and words[index - 1] in _STREETS:
        return _COMPASS[word]
    before_street = not _STREETS.isdisjoint(words[index + 2 : index + 1 + _STREET_SPAN])
    return _COMPASS[word] if index and words[index - 1][0].isdigit() and before_street else word


def _follows_house_number(words: list[str], index: int) -> bool:
    """Tell whether a number stands a few words before, with at least one word between."""
    nearest = words[max(0, index - _STREET_SPAN) : max(0, index - 1)]
    return any(word[0].isdigit() for word in nearest)
