"""English contractions and possessives: a word with an apostrophe becomes words without one."""

from sayagain.metrics.normalization.tables import contractions as known_contractions
from sayagain.metrics.normalization.wordlists import word_set

_SUFFIXES = {"n't": "not", "'re": "are", "'ve": "have", "'ll": "will", "'m": "am"}
_TAKES_IS = word_set(
    "he she it that this what who where when how why there here everybody everyone everything nobody nothing "
    "somebody someone something anybody anyone anything"
)
_SAYS_HAS = word_set("been got had become gotten")
_SAYS_HAD = word_set("been better gone done had seen")
_SAYS_IS = word_set("a an the not been got going gonna here there so too very just still already always never")
"""What follows "'s" after a noun only when it is short for "is" or "has", never in "John's book"."""


def expand(word: str, following: str) -> tuple[str, ...]:
    """Return the words a lower-case word with apostrophes stands for, given the word that follows it.

    can't → can not; it's been → it has been; John's going → john is going; John's book → johns book.
    """
    known = known_contractions().get(word)
    if known is not None:
        return known
    for suffix, meaning in _SUFFIXES.items():
        if word.endswith(suffix) and len(word) > len(suffix):
            return (*_stem(word, suffix), meaning)
    if word.endswith("'d"):
        return (*_stem(word, "'d"), "had" if following in _SAYS_HAD else "would")
    if word.endswith("'s") and (word[:-2] in _TAKES_IS or following in _SAYS_IS):
        return (*_stem(word, "'s"), "has" if following in _SAYS_HAS else "is")
    return (word.replace("'", ""),)


def _stem(word: str, suffix: str) -> tuple[str, ...]:
    """Return what stands before a suffix; of two suffixes (shouldn't've) the inner one is read as well."""
    stem = word.removesuffix(suffix)
    for inner, meaning in _SUFFIXES.items():
        if stem.endswith(inner) and len(stem) > len(inner):
            return (stem.removesuffix(inner).replace("'", ""), meaning)
    return (stem.replace("'", ""),)
