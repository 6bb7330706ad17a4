"""Find known texts, whole or in part, however they are spelled.

Both the text and the needles are folded: lower case, compatibility forms and accents undone, letters and digits
only. So case, white space, punctuation and `+` for a space make no difference. A folded position is mapped back
through the word it came from.

Policy by the folded length of a needle, because a short one cannot be told from the words of a message:
from `ANYWHERE` on it is found inside words too; from `WHOLE_WORDS` on as whole words; a shorter one only when it
stands alone between quotation marks or is the whole text. A needle in a non-Latin script counts three a letter.
"""

import re
import unicodedata
from array import array
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import accumulate

ANYWHERE = 8
WHOLE_WORDS = 4
LONGEST = 20_000
"""Characters of a needle that are looked at."""

_WORD = re.compile(r"[^\W_]+")
_QUOTES = frozenset("\"'`\u2018\u2019\u201c\u201d\u00ab\u00bb")
_OFFSETS_KEPT = 4

Span = tuple[int, int, str]
"""Start, end and label of a part of the text that must not stay."""


def folded(word: str) -> str:
    """Return the letters and digits of a word in the form in which texts are compared."""
    if word.isascii():
        return word.lower()
    return "".join(char for char in unicodedata.normalize("NFKD", word.casefold()) if char.isalnum())


class FoldedText:
    """A text's folded letters and digits, with the way back to the text."""

    def __init__(self, text: str) -> None:
        self.text = text
        words = [match.span() for match in _WORD.finditer(text)]
        parts = [folded(text[start:end]) for start, end in words]
        self.letters = "".join(parts)
        self._words = words
        self._lengths = array("q", map(len, parts))
        self._ends = array("q", accumulate(self._lengths))

    def span(self, start: int, end: int) -> tuple[int, int]:
        """Return the part of the text from which the folded letters `start` to `end` came."""
        first, last = self._word(start), self._word(end - 1)
        return self._inside(first, start)[0], self._inside(last, end - 1)[1]

    def word_count(self, start: int, end: int) -> int:
        """Return how many words the folded letters `start` to `end` touch."""
        return self._word(end - 1) - self._word(start) + 1

    def is_whole_words(self, start: int, end: int) -> bool:
        """Say whether the folded letters begin where a word begins and end where one ends."""
        first, last = self._word(start), self._word(end - 1)
        return self._ends[first] - self._lengths[first] == start and self._ends[last] == end

    def stands_alone(self, start: int, end: int) -> bool:
        """Say whether the folded letters are the whole text or all that stands between quotation marks."""
        if not self.is_whole_words(start, end):
            return False
        if start == 0 and end == len(self.letters):
            return True
        first, last = self.span(start, end)
        return self.text[first - 1 : first] in _QUOTES and self.text[last : last + 1] in _QUOTES

    def _word(self, position: int) -> int:
        return bisect_right(self._ends, position)

    def _inside(self, number: int, position: int) -> tuple[int, int]:
        """Return where a folded letter of a word came from: the letter itself, or the word when it was changed."""
        start, end = self._words[number]
        if not self.text[start:end].isascii():
            return start, end
        at = start + position - (self._ends[number] - self._lengths[number])
        return at, at + 1


@dataclass(frozen=True, eq=False)
class Needle:
    """A known text: what stands for it, and the shortest part of it that counts."""

    source: FoldedText
    label: str
    shortest_part: int
    part_words: int

    @classmethod
    def secret(cls, text: str) -> "Needle":
        """A credential: any eight letters and digits of it in a row count."""
        return cls(FoldedText(text[:LONGEST]), "<secret>", 8, 1)

    @classmethod
    def words(cls, text: str, label: str = "<text>") -> "Needle":
        """A transcript, reference or prompt: twelve letters of it in a row count when they touch three words.

        Twenty count anyhow, and four in a script other than Latin.
        """
        source = FoldedText(text[:LONGEST])
        return cls(source, label, 12, 3) if source.letters.isascii() else cls(source, label, 4, 1)

    @property
    def letters(self) -> str:
        """The folded letters and digits that are looked for."""
        return self.source.letters

    @property
    def weight(self) -> int:
        """Length of the letters, three for each that is not ASCII."""
        return len(self.letters) + 2 * sum(not char.isascii() for char in self.letters[:ANYWHERE])

    def counts(self, text: FoldedText, start: int, end: int) -> bool:
        """Say whether the folded letters `start` to `end`, all of the needle, are it and not a chance likeness."""
        if self.weight >= ANYWHERE:
            return True
        if self.weight >= WHOLE_WORDS and text.is_whole_words(start, end):
            return True
        return text.stands_alone(start, end)

    def part_counts(self, start: int, size: int) -> bool:
        """Say whether `size` of the needle's letters from `start` on must not stay."""
        if size < self.shortest_part:
            return False
        return size >= 20 or self.source.word_count(start, start + size) >= self.part_words


class Needles:
    """Needles that are looked for together."""

    def __init__(self, needles: Iterable[Needle]) -> None:
        self._needles = tuple(needle for needle in needles if needle.letters)
        self._parts: dict[int, dict[str, list[tuple[Needle, int]]]] = {}
        for needle in self._needles:
            self._index(needle)

    def _index(self, needle: Needle) -> None:
        size = _window(needle.shortest_part)
        windows = self._parts.setdefault(needle.shortest_part, {})
        for offset in range(len(needle.letters) - size + 1):
            found = windows.setdefault(needle.letters[offset : offset + size], [])
            if len(found) < _OFFSETS_KEPT:
                found.append((needle, offset))

    def find(self, text: FoldedText) -> Iterator[Span]:
        """Yield every part of the text that is a needle or enough of one. Linear in the text's length."""
        for needle in self._needles:
            at = text.letters.find(needle.letters)
            while at >= 0:
                end = at + len(needle.letters)
                if needle.counts(text, at, end):
                    yield (*text.span(at, end), needle.label)
                else:
                    end = at + 1
                at = text.letters.find(needle.letters, end)
        for shortest, windows in self._parts.items():
            yield from _find_parts(text, shortest, windows)


def _find_parts(text: FoldedText, shortest: int, windows: dict[str, list[tuple[Needle, int]]]) -> Iterator[Span]:
    """Look at every stride-th window only: a common part of `shortest` letters always holds one of them whole."""
    size = _window(shortest)
    letters = text.letters
    done = 0
    for at in range(0, len(letters) - size + 1, shortest - size + 1):
        found = windows.get(letters[at : at + size])
        if found is None or at < done:
            continue
        for needle, offset in found:
            before, size = _common(letters, needle.letters, at, offset, at - done)
            if needle.part_counts(offset - before, size):
                yield (*text.span(at - before, at - before + size), needle.label)
                done = at - before + size
                break


def _common(letters: str, needle: str, at: int, offset: int, most_before: int) -> tuple[int, int]:
    """Extend a window that two texts share: return how many letters before it they share, and how many in all."""
    before = 0
    while before < min(most_before, offset) and letters[at - before - 1] == needle[offset - before - 1]:
        before += 1
    after = 0
    while (
        at + after < len(letters)
        and offset + after < len(needle)
        and letters[at + after] == needle[offset + after]
    ):
        after += 1
    return before, before + after


def _window(shortest: int) -> int:
    return shortest * 2 // 3
