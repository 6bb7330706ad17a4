"""Rebuild the built-in datasets from their sources: `python -m sayagain.datasets.build SOURCE`.

SOURCE is the unpacked source package of pocketsphinx 5.1.1. The recordings are copied byte for byte; the
references come from its transcription files; the prompts come from the table beside their manifest.
"""

import csv
import hashlib
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import click

from sayagain.datasets import speech
from sayagain.datasets.audio import decode, to_pcm
from sayagain.datasets.catalog import BUILTIN_DIR
from sayagain.datasets.manifest import MANIFEST_FILE, Dataset, encode
from sayagain.records import Benchmark, Item

_TRANSCRIPTION = re.compile(r"<s>\s*(?P<text>.*?)\s*</s>\s*\((?P<file>[^)]+)\)")
_SOURCE = "test data of the pocketsphinx 5.1.1 source package (Carnegie Mellon University)"
_SHIPPED = "shipped with the recording in pocketsphinx 5.1.1"
_SLIP = ("a more a amiable", "a more amiable")
"""A slip in one reference, and what the reader says."""
_BOOK = f"the book's text, {_SHIPPED}"
_BOOK_CORRECTED = f"{_BOOK}, where it reads 'more a amiable': corrected to the book's 'more amiable'"


def build_librivox(source: Path, builtin_dir: Path = BUILTIN_DIR) -> Dataset:
    """Build `librivox-5`: five sentences of one reader, from `test/data/librivox` of the source package."""
    folder = source / "test" / "data" / "librivox"
    items = tuple(
        _utterance(
            item_id=f"librivox-{name.rpartition('-')[2]}",
            text=text.replace(*_SLIP),
            wav=folder / f"{name}.wav",
            speaker="librivox-sense-and-sensibility-01",
            tags=("read", "prose"),
            reference_origin=_BOOK_CORRECTED if _SLIP[0] in text else _BOOK,
        )
        for name, text in _transcription(folder / "transcription")
    )
    return _written(
        Dataset(
            id="librivox-5",
            version="1",
            benchmark=Benchmark.STT,
            licence="Public domain",
            origin=f"LibriVox reading of Sense and Sensibility (Jane Austen), chapter 1; {_SOURCE}",
            language="en",
            items=items,
            root=builtin_dir / "librivox-5",
        ),
        folder,
    )


def build_cards(source: Path, builtin_dir: Path = BUILTIN_DIR) -> Dataset:
    """Build `cards-5`: five spoken playing cards, from `test/data/cards` of the source package."""
    folder = source / "test" / "data" / "cards"
    items = tuple(
        _utterance(
            item_id=f"cards-{name}",
            text=text,
            wav=folder / f"{name}.wav",
            speaker=None,
            tags=("command", "cards"),
            reference_origin=f"transcript {_SHIPPED}",
        )
        for name, text in _transcription(folder / "cards.transcription")
    )
    return _written(
        Dataset(
            id="cards-5",
            version="1",
            benchmark=Benchmark.STT,
            licence="BSD-2-Clause (see NOTICE)",
            origin=f"Spoken playing cards; {_SOURCE}",
            language="en",
            items=items,
            root=builtin_dir / "cards-5",
        ),
        folder,
    )


def build_prompts(builtin_dir: Path = BUILTIN_DIR) -> Dataset:
    """Build `prompts-30`: what a customer-service voice says, from `prompts.tsv` beside the manifest."""
    root = builtin_dir / "prompts-30"
    with (root / "prompts.tsv").open(encoding="utf-8", newline="") as lines:
        rows = list(csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE))
    items = tuple(
        Item(
            id=row["id"],
            text=row["text"],
            sha256=hashlib.sha256(row["text"].encode()).hexdigest(),
            tags=tuple(row["tags"].split(",")),
            reference_origin="written for sayagain",
        )
        for row in rows
    )
    return _written(
        Dataset(
            id="prompts-30",
            version="1",
            benchmark=Benchmark.TTS,
            licence="Apache-2.0",
            origin="Written for sayagain in the customer-service register; every person and number is invented",
            language="en",
            items=items,
            root=root,
        )
    )


def _transcription(path: Path) -> Iterator[tuple[str, str]]:
    """Yield each file's name and transcript from a Sphinx transcription: `<s> text </s> (name)`."""
    for match in _TRANSCRIPTION.finditer(path.read_text("utf-8")):
        yield match["file"], match["text"]


def _utterance(
    *, item_id: str, text: str, wav: Path, speaker: str | None, tags: tuple[str, ...], reference_origin: str
) -> Item:
    content = wav.read_bytes()
    audio = decode(content)
    return Item(
        id=item_id,
        text=text,
        sha256=hashlib.sha256(content).hexdigest(),
        audio=wav.name,
        duration_s=round(audio.duration_s, 6),
        speech=speech.find_speech(to_pcm(audio, speech.RATE)),
        speaker=speaker,
        tags=tags,
        reference_origin=reference_origin,
    )


def _written(dataset: Dataset, source: Path | None = None) -> Dataset:
    dataset.root.mkdir(parents=True, exist_ok=True)
    for item in dataset.items:
        if source is not None and item.audio is not None:
            shutil.copyfile(source / item.audio, dataset.root / item.audio)
    (dataset.root / MANIFEST_FILE).write_bytes(encode(dataset))
    return dataset


@click.command()
@click.argument("source", type=click.Path(path_type=Path, exists=True, file_okay=False))
def main(source: Path) -> None:
    """Rebuild the built-in datasets from SOURCE, the unpacked source package of pocketsphinx 5.1.1."""
    for dataset in (build_librivox(source), build_cards(source), build_prompts()):
        click.echo(f"{dataset.id}: {len(dataset.items)} items, {dataset.sha256}")


if __name__ == "__main__":
    main()
