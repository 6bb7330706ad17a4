"""Making a dataset from a folder of recordings and a table of their transcripts.

The new dataset holds its own audio, converted to mono 16-bit WAV at 16 kHz, and a manifest with every hash and
speech span. It appears whole or not at all: it is built in a temporary folder beside its destination and moved
there at the end. One recording is in memory at a time.
"""

import hashlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

import numpy as np

from sayagain.datasets import manifest, speech, transcripts
from sayagain.datasets.audio import Audio, AudioError, decode, to_pcm, wav_file
from sayagain.datasets.catalog import is_builtin
from sayagain.datasets.manifest import MANIFEST_FILE, Dataset, audio_path
from sayagain.datasets.staging import staged_folder
from sayagain.datasets.transcripts import Row, Transcripts
from sayagain.errors import DatasetError, UsageError
from sayagain.records import Benchmark, Item

NOT_STATED = "not stated"
"""Stands for a licence or an origin that nobody told the importer."""

AUDIO_DIR = "audio"
"""The folder of the converted recordings inside the new dataset's own."""

MAX_CLIPPED = 0.01
"""The share of samples that may lie beyond full scale; above it the scale itself must be wrong."""


@dataclass(frozen=True)
class About:
    """What an importer is told about a dataset that its files cannot say."""

    id: str
    version: str = "1"
    language: str = "en"
    licence: str = NOT_STATED
    origin: str = NOT_STATED
    reference_origin: str | None = None


@dataclass(frozen=True)
class Imported:
    """A dataset that was imported, and notes on what a reader should know about some of its items."""

    dataset: Dataset
    notes: tuple[str, ...]


def import_folder(
    folder: Path,
    table: Path,
    about: About,
    destination: Path,
    *,
    replace: bool = False,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> Imported:
    """Import the recordings in a folder that a table of transcripts names.

    Args:
        folder: The recordings; the table's paths are relative to it and must stay inside it.
        table: CSV, TSV or JSONL; see `sayagain.datasets.transcripts.read`.
        about: The dataset's id and description.
        destination: The folder to make.
        replace: Replace the dataset at the destination, if there is one.
        progress: Called after each row with the number of rows done and their total.

    Raises:
        UsageError: The id is not one or is a built-in dataset's, or the destination is in the way.
        DatasetError: The table or recordings have problems; all are listed, and nothing was written.
    """
    _check_target(folder, table, about, destination, replace=replace)
    listed = transcripts.read(table)
    if not listed.rows and not listed.problems:
        raise DatasetError(f"{table} names no recordings.")
    with staged_folder(destination, replace=replace) as stage:
        items, notes, problems = _import_rows(folder, listed, about, stage, progress)
        if problems:
            raise DatasetError(f"{table} cannot be imported; nothing was written. Correct or remove:", problems)
        dataset = _dataset(about, items, destination)
        (stage / MANIFEST_FILE).write_bytes(manifest.encode(dataset))
    return Imported(dataset, notes)


class _RowError(ValueError):
    """A row of the table that cannot become an item."""


def _check_target(folder: Path, table: Path, about: About, destination: Path, *, replace: bool) -> None:
    if not manifest.is_dataset_id(about.id):
        raise UsageError(f"{about.id!r} is not a dataset id: use letters, digits, '.', '_' and '-', at most 64.")
    if is_builtin(about.id):
        raise UsageError(f"{about.id!r} is the id of a built-in dataset; choose another.")
    if not folder.is_dir():
        raise UsageError(f"{folder} is not a folder.")
    if not destination.exists():
        return
    if not replace:
        raise UsageError(f"{destination} exists; use --replace to replace the dataset there, or another --out.")
    if not (destination / MANIFEST_FILE).is_file():
        raise UsageError(f"{destination} holds no dataset, so it is not replaced; remove it or use another --out.")
    inside = destination.resolve()
    for source in (folder, table):
        if source.resolve().is_relative_to(inside):
            raise UsageError(f"{source} lies inside {destination}, which would be replaced; use another --out.")


def _repeated_ids(rows: tuple[Row, ...]) -> Iterator[str]:
    lines: dict[str, list[int]] = {}
    for row in rows:
        lines.setdefault(_item_id(row), []).append(row.line)
    for item_id, where in lines.items():
        if len(where) > 1:
            yield f"lines {', '.join(map(str, where))}: the same id {item_id!r}; give each its own in an id column"


def _item_id(row: Row) -> str:
    """Return a row's id: its own, or else its path without the suffix."""
    path = PurePosixPath(row.path)
    return row.id if row.id is not None else str(path.parent / path.stem)


def _import_rows(
    folder: Path, listed: Transcripts, about: About, stage: Path, progress: Callable[[int, int], None]
) -> tuple[tuple[Item, ...], tuple[str, ...], tuple[str, ...]]:
    """Convert every row's recording into the stage and return the items, the notes and the problems."""
    (stage / AUDIO_DIR).mkdir()
    items: list[Item] = []
    notes = [f"column {name!r} is not used" for name in listed.unused]
    problems = [*listed.problems, *_repeated_ids(listed.rows)]
    for index, row in enumerate(listed.rows, start=1):
        try:
            item, item_notes = _import_item(folder, row, about, stage, f"{AUDIO_DIR}/{index:06d}.wav")
        except _RowError as error:
            problems.append(f"line {row.line} ({row.path}): {error}")
        else:
            items.append(item)
            notes += (f"{item.id}: {note}" for note in item_notes)
        progress(index, len(listed.rows))
    return tuple(items), tuple(notes), tuple(problems)


def _import_item(folder: Path, row: Row, about: About, stage: Path, name: str) -> tuple[Item, list[str]]:
    if not row.text:
        raise _RowError("the transcript is empty")
    audio, notes = _usable_audio(_source_bytes(folder, row.path))
    pcm = to_pcm(audio, speech.RATE)
    if not pcm:
        raise _RowError("the audio is shorter than one sample at 16 kHz")
    if not any(pcm):
        raise _RowError("the audio is silent: every sample is 0")
    span = speech.find_speech(pcm)
    if span is None:
        raise _RowError("no speech was found in the audio")
    content = wav_file(pcm, speech.RATE)
    item = Item(
        id=_item_id(row),
        text=row.text,
        sha256=hashlib.sha256(content).hexdigest(),
        audio=name,
        duration_s=round(len(pcm) / 2 / speech.RATE, 6),
        speech=span,
        language=row.language or about.language,
        speaker=row.speaker,
        tags=row.tags,
        reference_origin=about.reference_origin,
    )
    for problem in manifest.item_problems(item):
        raise _RowError(problem)
    (stage / name).write_bytes(content)
    return item, notes


def _source_bytes(folder: Path, path: str) -> bytes:
    try:
        return audio_path(folder, path).read_bytes()
    except FileNotFoundError as error:
        raise _RowError("there is no such file in the folder") from error
    except OSError as error:
        raise _RowError(f"the file cannot be read: {error.strerror}") from error
    except ValueError as error:
        raise _RowError(str(error)) from error


def _usable_audio(content: bytes) -> tuple[Audio, list[str]]:
    """Decode a recording and return it with what should be known about it."""
    try:
        audio = decode(content)
    except AudioError as error:
        raise _RowError(f"the audio {error}") from error
    beyond = int(np.count_nonzero(np.abs(audio.samples) > 1.0))
    if beyond > MAX_CLIPPED * audio.samples.size:
        raise _RowError(
            f"the audio is out of scale: {beyond} of {audio.samples.size} samples lie beyond full scale"
        )
    return audio, [f"{beyond} samples beyond full scale were clipped"] if beyond else []


def _dataset(about: About, items: tuple[Item, ...], root: Path) -> Dataset:
    return Dataset(
        id=about.id,
        version=about.version,
        benchmark=Benchmark.STT,
        licence=about.licence,
        origin=about.origin,
        language=about.language,
        items=items,
        root=root,
    )
