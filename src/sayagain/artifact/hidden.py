"""Look into the base64 and hexadecimal words of a text for what must not stay in it.

A word is decoded from each of its first four characters on, because it may begin in the middle of a group. All
words are decoded together, one search for each start, and a find condemns the whole word.
"""

import re
from array import array
from base64 import b64decode
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator
from itertools import accumulate

from sayagain.artifact.needles import Span

_WORD = re.compile(r"(?<![A-Za-z0-9+/_-])[A-Za-z0-9+/_-]{5,}+={0,2}")
_HEXADECIMAL = re.compile(r"(?<![0-9A-Fa-f])(?:[0-9A-Fa-f]{2}){4,}+(?![0-9A-Fa-f])")
_STANDARD = str.maketrans("-_", "+/")

Search = Callable[[str], Iterable[Span]]


def hidden(text: str, search: Search) -> Iterator[Span]:
    """Yield the words of a text that hold, decoded, something that `search` finds."""
    words = [match.span() for match in _WORD.finditer(text)]
    contents = [text[start:end].rstrip("=").translate(_STANDARD) for start, end in words]
    for skipped in range(4):
        # Filled up to whole groups, and a group of zeros between two words, so that none joins the next.
        groups = [_filled(content[skipped:]) + "AAAA" for content in contents]
        octets = b64decode("".join(groups))
        yield from _condemned(octets, words, [len(group) // 4 * 3 for group in groups], search)
    words = [match.span() for match in _HEXADECIMAL.finditer(text)]
    groups = [text[start:end] + "00" for start, end in words]
    yield from _condemned(bytes.fromhex("".join(groups)), words, [len(group) // 2 for group in groups], search)


def _filled(content: str) -> str:
    return content + "A" * (-len(content) % 4)


def _condemned(octets: bytes, words: list[tuple[int, int]], sizes: list[int], search: Search) -> Iterator[Span]:
    if not octets:
        return
    ends = array("q", accumulate(sizes))
    content = octets.decode("utf-8", "surrogateescape")
    chars = position = 0
    for start, end, label in sorted(search(content)):
        # Characters back to octets, span by span: the text before each is encoded once.
        begin = max(start, chars)
        if end <= begin:
            continue
        position += _size(content[chars:begin])
        first = bisect_right(ends, position)
        chars, position = end, position + _size(content[begin:end])
        last = bisect_right(ends, position - 1)
        yield words[first][0], words[last][1], label


def _size(text: str) -> int:
    return len(text.encode("utf-8", "surrogateescape"))
