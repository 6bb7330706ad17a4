"""Reads the data tables of the rules, once each: tab-separated lines, `#` for comments."""

import json
from functools import cache
from importlib.resources import files
from types import MappingProxyType

Phrases = MappingProxyType[str, tuple[str, ...]]
"""A word, and the words that stand for it."""


def rows(name: str) -> list[list[str]]:
    """Return the rows of one data file, without comments and empty lines."""
    text = files(__package__).joinpath("data", name).read_text(encoding="utf-8")
    return [line.split("\t") for line in text.splitlines() if line and not line.startswith("#")]


def phrases(name: str) -> dict[str, tuple[str, ...]]:
    """Return a two-column file as a mapping from a word to the words that replace it."""
    return {word: tuple(replacement.split()) for word, replacement in rows(name)}


@cache
def acronyms() -> frozenset[str]:
    """Return the acronyms that begin or end with A or I, in lower case."""
    return frozenset(word for (word,) in rows("acronyms.txt"))


@cache
def web_labels() -> frozenset[str]:
    """Return the last labels by which an address or a file name is known."""
    return frozenset(word for (word,) in rows("web.txt"))


@cache
def compounds() -> Phrases:
    """Return the compounds: `first second` to the word they are also written as."""
    return MappingProxyType({f"{first} {second}": (joined,) for first, second, joined in rows("compounds.tsv")})


@cache
def dotted() -> Phrases:
    """Return the abbreviations that need their dot: to the word meant and what has to follow it."""
    return MappingProxyType({word: (meaning, follows) for word, meaning, follows in rows("dotted.tsv")})


@cache
def units() -> MappingProxyType[str, str]:
    """Return every spelling of a unit, to the one word that stands for it after a number."""
    table = {spelling: unit for spellings, unit in rows("units.tsv") for spelling in (*spellings.split(), unit)}
    return MappingProxyType(table)


@cache
def contractions() -> Phrases:
    """Return the contractions that no suffix rule explains, to the words they stand for."""
    return MappingProxyType(phrases("contractions.tsv"))


@cache
def spelling() -> MappingProxyType[str, str]:
    """Return British spellings to American ones: whisper-normalizer's list with our changes."""
    # The file is read without importing its package's code, which would cost more than all our rules.
    source = files("whisper_normalizer").joinpath("normalizers", "english.json")
    table: dict[str, str] = json.loads(source.read_text(encoding="utf-8"))
    for british, american in rows("spelling.tsv"):
        table[british] = american
    return MappingProxyType({british: american for british, american in table.items() if american})


@cache
def words() -> Phrases:
    """Return every word that is always replaced, wherever it stands, to its replacement in final form."""
    table: dict[str, tuple[str, ...]] = {british: (american,) for british, american in spelling().items()}
    for name in ("abbreviations.tsv", "contractions.tsv"):
        for word, replacement in phrases(name).items():
            table[word] = tuple(spelling().get(part, part) for part in replacement)
    return MappingProxyType(table)
