"""`sayagain datasets`: list, show, verify and import datasets."""

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sayagain.cli import options
from sayagain.config import load_settings
from sayagain.records import Item

if TYPE_CHECKING:
    from sayagain.datasets.catalog import Entry
    from sayagain.datasets.manifest import Dataset

_NO_REFERENCE_ORIGIN = "not stated: whether a person wrote or checked the transcripts is unknown"


_datasets_dir = options.setting("datasets_dir", metavar="DIR")


@click.group()
def command() -> None:
    """List, show, verify and import datasets."""


@command.command("list")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@_datasets_dir
def list_(datasets_dir: str | None, *, as_json: bool) -> None:
    """List the datasets that can be named by their id: the built-in ones and the imported ones."""
    from sayagain.datasets.catalog import available

    entries = available(_resolved(datasets_dir))
    if as_json:
        click.echo(json.dumps([_entry_json(entry) for entry in entries], indent=2, ensure_ascii=False))
        return
    width = max(len(entry.id) for entry in entries)
    for entry in entries:
        click.echo(f"{entry.id:<{width}}  {_entry_line(entry)}")


@command.command()
@click.argument("reference", metavar="ID")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@_datasets_dir
def show(datasets_dir: str | None, reference: str, *, as_json: bool) -> None:
    """Show a dataset and its items. ID is an id, a manifest, or its folder; no audio is needed."""
    from sayagain.datasets.catalog import describe

    dataset = describe(reference, _resolved(datasets_dir))
    if as_json:
        click.echo(json.dumps(_dataset_json(dataset), indent=2, ensure_ascii=False))
        return
    for name, value in _facts(dataset):
        click.echo(f"{name:<12}{value}")
    for item in dataset.items:
        click.echo(f"\n{item.id}  {_item_line(item)}\n  {item.text}")


@command.command()
@click.argument("references", metavar="[REF]...", nargs=-1)
@_datasets_dir
def verify(datasets_dir: str | None, references: tuple[str, ...]) -> None:
    """Verify every item of the datasets named by REF, or of all: files, hashes, durations, transcripts, ids.

    Exits with 2 when anything is wrong, having listed all of it.
    """
    from sayagain.datasets.catalog import available
    from sayagain.datasets.loading import load
    from sayagain.errors import DatasetError

    problems: list[str] = []
    folder = _resolved(datasets_dir)
    named = references or tuple(entry.id for entry in available(folder))
    for reference in named:
        try:
            dataset = load(reference, folder)
        except DatasetError as error:
            problems.append(str(error).replace("\n", "\n  "))
        else:
            click.echo(f"{dataset.id}: {_items(dataset)} as pinned, sha256 {dataset.sha256}")
    if problems:
        raise DatasetError(f"{len(problems)} of {len(named)} datasets cannot be used:", tuple(problems))


@command.command("import")
@click.argument("folder", type=click.Path(path_type=Path))
@click.option(
    "--transcripts",
    "table",
    required=True,
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="A .csv, .tsv or .jsonl file with the columns path and text, and if wanted id, speaker, tags, language. "
    "Paths are relative to FOLDER.",
)
@click.option("--id", "dataset_id", required=True, metavar="ID", help="The new dataset's id.")
@click.option("--version", default="1", show_default=True, help="Its version.")
@click.option("--language", default="en", show_default=True, help="Language of items that do not state their own.")
@click.option("--licence", default=None, help="Licence of the recordings and transcripts.")
@click.option("--origin", default=None, help="Where the recordings come from.")
@click.option(
    "--reference-origin",
    default=None,
    help="Who wrote the transcripts, such as 'human, checked by a second person'.",
)
@click.option(
    "--out",
    default=None,
    metavar="DIR",
    type=click.Path(path_type=Path),
    help="The folder to make. Default: a folder named ID in the directory of imported datasets.",
)
@click.option("--replace", is_flag=True, help="Replace the dataset at the destination.")
@_datasets_dir
def import_(
    datasets_dir: str | None,
    folder: Path,
    table: Path,
    dataset_id: str,
    version: str,
    language: str,
    licence: str | None,
    origin: str | None,
    reference_origin: str | None,
    out: Path | None,
    replace: bool,
) -> None:
    """Make a dataset from the recordings in FOLDER and a table of their transcripts.

    Recordings may be in any format that libsndfile reads; each is converted to mono 16-bit WAV at 16 kHz or
    refused by name. When anything is wrong, everything is listed and nothing is written.
    """
    from sayagain.datasets.importing import NOT_STATED, About, import_folder

    about = About(
        id=dataset_id,
        version=version,
        language=language,
        licence=licence or NOT_STATED,
        origin=origin or NOT_STATED,
        reference_origin=reference_origin,
    )
    destination = out or _resolved(datasets_dir) / dataset_id
    with click.progressbar(length=1, label="Importing", file=sys.stderr) as bar:

        def progress(done: int, total: int) -> None:
            bar.length = total
            bar.update(done - bar.pos)

        imported = import_folder(folder, table, about, destination, replace=replace, progress=progress)
    for note in imported.notes:
        click.echo(f"note: {note}")
    for name, value in _facts(imported.dataset):
        click.echo(f"{name:<12}{value}")
    click.echo(f"Use it with --dataset {dataset_id if out is None else destination}")


def _resolved(datasets_dir: str | None) -> Path:
    return Path(load_settings({"datasets_dir": datasets_dir}).datasets_dir)


def _items(dataset: "Dataset") -> str:
    return "1 item" if len(dataset.items) == 1 else f"{len(dataset.items)} items"


def _entry_line(entry: "Entry") -> str:
    dataset = entry.dataset
    where = "built in" if entry.builtin else str(entry.path.parent)
    if dataset is None:
        return f"cannot be used: {entry.problem} ({where})"
    extent = _items(dataset) + (f", {dataset.seconds:.1f} s" if dataset.seconds else "")
    return f"{dataset.benchmark}  {dataset.language}  {extent}  {dataset.licence}  ({where})"


def _entry_json(entry: "Entry") -> dict[str, Any]:
    about = {"id": entry.id, "builtin": entry.builtin, "path": str(entry.path), "problem": entry.problem}
    return about | (_about_json(entry.dataset) if entry.dataset is not None else {})


def _about_json(dataset: "Dataset") -> dict[str, Any]:
    return {
        "id": dataset.id,
        "version": dataset.version,
        "benchmark": dataset.benchmark.value,
        "licence": dataset.licence,
        "origin": dataset.origin,
        "language": dataset.language,
        "sha256": dataset.sha256,
        "item_count": len(dataset.items),
        "duration_s": round(dataset.seconds, 6),
        "reference_origins": _reference_origins(dataset),
    }


def _dataset_json(dataset: "Dataset") -> dict[str, Any]:
    import msgspec

    return _about_json(dataset) | {"items": msgspec.to_builtins(dataset.items)}


def _reference_origins(dataset: "Dataset") -> list[str | None]:
    return list(dict.fromkeys(item.reference_origin for item in dataset.items))


def _facts(dataset: "Dataset") -> list[tuple[str, str]]:
    extent = f"{len(dataset.items)}" + (f", {dataset.seconds:.1f} s of audio" if dataset.seconds else "")
    origins = "; ".join(origin or _NO_REFERENCE_ORIGIN for origin in _reference_origins(dataset))
    return [
        ("id", dataset.id),
        ("version", dataset.version),
        ("benchmark", dataset.benchmark),
        ("language", dataset.language),
        ("items", extent),
        ("licence", dataset.licence),
        ("origin", dataset.origin),
        ("references", origins),
        ("folder", str(dataset.root)),
        ("sha256", dataset.sha256),
    ]


def _item_line(item: Item) -> str:
    parts = [", ".join(item.tags)] if item.tags else []
    if item.duration_s is not None:
        parts.append(f"{item.duration_s:.3f} s")
        span = item.speech
        parts.append(f"speech {span.start_s:.3f} to {span.end_s:.3f} s" if span else "no speech found")
    if item.speaker:
        parts.append(f"speaker {item.speaker}")
    return " | ".join(parts)
