"""Spelled letters: C O 2 is CO2, u s a is USA; the article "a" and the pronoun "i" beside them stay words."""

from sayagain.metrics.normalization.tables import acronyms, words
from sayagain.metrics.normalization.words import FILLERS, after_number, begins_compound

_AMBIGUOUS = frozenset({"a", "i"})
_SPELLS_A_WORD = frozenset({"ok"})


def spelled_letters_joined(tokens: list[str]) -> list[str]:
    """Return the words with every run of single letters made one word."""
    if not _has_spelled_letters(tokens):
        return tokens
    out: list[str] = []
    index = 0
    while index < len(tokens):
        if tokens[index] == "k" and after_number(out):
            # A thousand, not the first of the letters after it: a 4K TV.
            out.append("k")
            index += 1
        end = _end_of_letters(tokens, index)
        if end - index > 1:
            _append_letters(tokens[index:end], out)
            index = end
        else:
            out += tokens[index : index + 1]
            index += 1
    return out


def _has_spelled_letters(tokens: list[str]) -> bool:
    """Tell whether two single letters stand side by side."""
    previous = False
    for token in tokens:
        single = len(token) == 1 and token.isalpha()
        if single and previous:
            return True
        previous = single
    return False


def _end_of_letters(tokens: list[str], index: int) -> int:
    """Return where the run of single letters from `index` ends, before a letter that begins a compound."""
    start = index
    while index < len(tokens) and len(tokens[index]) == 1 and tokens[index].isalpha():
        index += 1
    if index > start and index < len(tokens) and begins_compound(tokens[index - 1], tokens[index]):
        index -= 1
    return index


def _append_letters(letters: list[str], out: list[str]) -> None:
    """Write one run of letters: joined, but for an article or pronoun at its ends."""
    head, tail = 0, len(letters)
    if "".join(letters) not in acronyms():
        head = int(letters[0] in _AMBIGUOUS)
        tail -= int(letters[-1] in _AMBIGUOUS and tail > head)
    word = "".join(letters[head:tail])
    out += letters[:head]
    if word in _SPELLS_A_WORD:
        out += words()[word]
    elif word in words() or (word in FILLERS and not (word == "mm" and after_number(out))):
        # Spelled out it is not the word it would be taken for when it is read again.
        out += word
    elif word:
        out.append(word)
    out += letters[tail:]
