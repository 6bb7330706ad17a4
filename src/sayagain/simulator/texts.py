"""What the stand-in says it has heard: known utterances recognised by their bytes, and controlled word errors.

A server is not told which item it hears. It knows a dataset's audio by SHA-256: of the first part of the PCM, so
that partials can already say the right words, and of the whole. The first part is as long as it must be for no two
items to share it.
"""

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

from sayagain.datasets import loading, manifest
from sayagain.errors import SayagainError, UsageError
from sayagain.records import AudioFormat

WORDS = ("apple", "river", "seven", "window", "mostly", "garden", "under", "paper")
"""What a substituted or inserted word becomes."""


@dataclass(frozen=True)
class Utterance:
    """A known item at one sample rate: what is said in it and how many bytes of PCM it has."""

    text: str
    size: int


@dataclass(frozen=True)
class Shelf:
    """The known utterances at one sample rate, by digest; `head` is the length in bytes that tells them apart."""

    head: int
    by_head: dict[bytes, Utterance]
    by_whole: dict[bytes, Utterance]

    @classmethod
    def of(cls, recordings: Iterable[tuple[str, bytes]]) -> "Shelf":
        """Build a shelf from transcripts and their PCM."""
        known = list(recordings)
        head = 8_000
        longest = max((len(pcm) for _, pcm in known), default=0)
        while head < longest and len({pcm[:head] for _, pcm in known}) < len({pcm for _, pcm in known}):
            head *= 2
        return cls(
            head,
            {_digest(pcm[:head]): Utterance(text, len(pcm)) for text, pcm in known if len(pcm) >= head},
            {_digest(pcm): Utterance(text, len(pcm)) for text, pcm in known},
        )


EMPTY = Shelf(0, {}, {})


@dataclass
class Library:
    """The utterances of a dataset: shelves by sample rate, and the texts of whole files by their SHA-256."""

    shelves: dict[int, Shelf] = field(default_factory=dict)
    files: dict[str, str] = field(default_factory=dict)

    @classmethod
    def load(cls, path: Path, rates: Iterable[int]) -> "Library":
        """Decode every item of a manifest at each sample rate.

        Raises:
            UsageError: The manifest or the audio of an item cannot be used.
        """
        dataset, problems = manifest.read(path)
        if problems:
            raise UsageError(f"{path} cannot be used: {problems[0]}.")
        items = [item for item in dataset.items if item.audio is not None]
        try:
            shelves = {
                rate: Shelf.of(
                    (item.text, loading.read_pcm(dataset.root, item, AudioFormat(rate=rate))) for item in items
                )
                for rate in rates
            }
        except SayagainError as error:
            raise UsageError(f"{path} cannot be used: {error}.") from error
        return cls(shelves, {item.sha256: item.text for item in items})


class Ear:
    """What has been heard on one connection: it counts and digests the PCM, and recognises what it knows."""

    def __init__(self, shelf: Shelf) -> None:
        self._shelf = shelf
        self._whole = hashlib.sha256()
        self._head = bytearray()
        self._utterance: Utterance | None = None
        self.size = 0
        self.chunks = 0

    def hear(self, pcm: bytes) -> None:
        """Take one chunk of PCM."""
        self._whole.update(pcm)
        self.size += len(pcm)
        self.chunks += 1
        if len(self._head) < self._shelf.head:
            self._head += pcm
            if len(self._head) >= self._shelf.head:
                self._utterance = self._shelf.by_head.get(_digest(self._head[: self._shelf.head]))

    @property
    def sha256(self) -> str:
        """SHA-256 of all the PCM so far (64 hex digits)."""
        return self._whole.hexdigest()

    def utterance(self) -> Utterance | None:
        """Return the utterance if it is known by now."""
        return self._utterance or self._shelf.by_whole.get(self._whole.digest())

    @property
    def complete(self) -> bool:
        """Whether all of a known utterance has been heard."""
        known = self.utterance()
        return known is not None and self.size >= known.size


@dataclass(frozen=True)
class Garbled:
    """A text with controlled errors, and how many of each kind were made."""

    text: str
    substitutions: int = 0
    deletions: int = 0
    insertions: int = 0


def garbled(text: str, rate: float, seed: str) -> Garbled:
    """Return a text in which about `rate` of the words are wrong; the same seed makes the same errors in a text.

    Each word is hit with probability `rate`; a hit is a substitution, a deletion or an insertion after it, all
    equally likely. At least one word remains.
    """
    if rate <= 0:
        return Garbled(text)
    random = Random(f"{seed}/words/{text}")  # noqa: S311 - a script, no secret
    words: list[str] = []
    made = dict.fromkeys(("substitutions", "deletions", "insertions"), 0)
    for word in text.split():
        if random.random() >= rate:
            words.append(word)
            continue
        kind = random.choice(tuple(made))
        made[kind] += 1
        other = random.choice([other for other in WORDS if other != word.lower()])
        words += {"substitutions": [other], "deletions": [], "insertions": [word, other]}[kind]
    if not words and text.split():
        made["deletions"] -= 1
        words = text.split()[:1]
    return Garbled(" ".join(words), **made)


def text_digest(text: str) -> str:
    """Return the SHA-256 of a text (64 hex digits): the log names texts, it does not hold them."""
    return hashlib.sha256(text.encode()).hexdigest()


def _digest(pcm: bytes | bytearray) -> bytes:
    return hashlib.sha256(pcm).digest()
