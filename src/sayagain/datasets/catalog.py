"""Finding a dataset: built in, imported, or wherever a path says."""

import difflib
from dataclasses import dataclass
from pathlib import Path

from sayagain.datasets import manifest
from sayagain.datasets.manifest import MANIFEST_FILE, Dataset
from sayagain.errors import DatasetError
from sayagain.records import Benchmark

BUILTIN_DIR = Path(__file__).parent / "builtin"
"""Where the datasets lie that come with the package, one folder each."""

_BUILTIN = {Benchmark.STT: ("librivox-5", "cards-5"), Benchmark.TTS: ("prompts-30",)}


@dataclass(frozen=True)
class Entry:
    """One dataset that can be named by its id: where it lies and, unless `problem` says why not, what it holds."""

    id: str
    path: Path
    builtin: bool
    dataset: Dataset | None = None
    problem: str | None = None


def builtin(benchmark: Benchmark) -> tuple[str, ...]:
    """Return the ids of the built-in datasets of a benchmark, in the order in which they are run."""
    return _BUILTIN[benchmark]


def is_builtin(dataset_id: str) -> bool:
    """Say whether an id belongs to a built-in dataset; nothing else may take it."""
    return any(dataset_id in ids for ids in _BUILTIN.values())


def available(datasets_dir: Path) -> tuple[Entry, ...]:
    """Return every dataset that can be named by its id: the built-in ones, then the imported ones by name.

    Only manifests are read. A folder whose manifest cannot be used is there with its problem.
    """
    entries = [_entry(id_, BUILTIN_DIR / id_, is_builtin=True) for ids in _BUILTIN.values() for id_ in ids]
    for path in sorted(datasets_dir.glob(f"*/{MANIFEST_FILE}")):
        folder = path.parent
        if not folder.name.startswith(".") and not is_builtin(folder.name):
            entries.append(_entry(folder.name, folder, is_builtin=False))
    return tuple(entries)


def locate(reference: str, datasets_dir: Path) -> Path:
    """Return the manifest that a reference means: a built-in id, an imported id, a manifest, or its folder.

    Raises:
        DatasetError: There is no such dataset; it names the nearest ids.
    """
    if is_builtin(reference):
        return BUILTIN_DIR / reference / MANIFEST_FILE
    candidates = [datasets_dir / reference / MANIFEST_FILE] if manifest.is_dataset_id(reference) else []
    candidates += [Path(reference) / MANIFEST_FILE, Path(reference)]
    found = next((path for path in candidates if reference and path.is_file()), None)
    if found is None:
        raise DatasetError(_unknown(reference, datasets_dir))
    return found


def describe(reference: str, datasets_dir: Path) -> Dataset:
    """Read the manifest that a reference means, without looking at any audio.

    Raises:
        DatasetError: There is no such dataset, or its manifest is malformed; every malformed item is listed.
    """
    return _read(locate(reference, datasets_dir))


def _read(path: Path) -> Dataset:
    dataset, problems = manifest.read(path)
    if problems:
        raise DatasetError(f"{path} has malformed items; correct them:", problems)
    return dataset


def _entry(dataset_id: str, folder: Path, *, is_builtin: bool) -> Entry:
    path = folder / MANIFEST_FILE
    try:
        dataset = _read(path)
    except DatasetError as error:
        return Entry(dataset_id, path, is_builtin, problem=str(error).partition("\n")[0].rstrip(":"))
    if dataset.id != dataset_id:
        return Entry(dataset_id, path, is_builtin, problem=f"its manifest says that its id is {dataset.id!r}")
    return Entry(dataset_id, path, is_builtin, dataset)


def _unknown(reference: str, datasets_dir: Path) -> str:
    ids = [entry.id for entry in available(datasets_dir)]
    nearest = difflib.get_close_matches(reference, ids, n=3, cutoff=0.5)
    hint = f"Did you mean {' or '.join(nearest)}?" if nearest else f"Known ids: {', '.join(ids)}."
    return f"There is no dataset {reference!r}, by that id or at that path. {hint}"
