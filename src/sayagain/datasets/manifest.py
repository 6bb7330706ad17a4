"""The manifest of a dataset: what its JSON looks like, and a dataset as the rest of the program sees it.

Nothing here opens an audio file; `sayagain.datasets.loading` does.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import msgspec

from sayagain.errors import DatasetError
from sayagain.records import Benchmark, Item, SpeechSpan, content_digest

FORMAT = "sayagain-dataset/1"
"""The only manifest format there is so far; a manifest names it in its first field."""

MANIFEST_FILE = "manifest.json"
"""The manifest's name inside a dataset's folder."""

_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_SHA256 = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True)
class Dataset:
    """A dataset whose manifest has been read. `root` is its folder, to which every audio path is relative."""

    id: str
    version: str
    benchmark: Benchmark
    licence: str
    origin: str
    language: str
    items: tuple[Item, ...]
    root: Path

    @property
    def sha256(self) -> str:
        """SHA-256 of the manifest's content: every field and every item, in order; not where it lies."""
        about = [self.id, self.version, self.benchmark, self.licence, self.origin, self.language]
        return content_digest([FORMAT, about, self.items])

    @property
    def seconds(self) -> float:
        """How long its audio plays in all, in seconds; 0 for prompts."""
        return sum(item.duration_s or 0.0 for item in self.items)


class _ManifestItem(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    id: str
    text: str
    audio: str | None = None
    sha256: str
    duration_s: float | None = None
    speech: SpeechSpan | None = None
    speaker: str | None = None
    tags: tuple[str, ...] = ()
    language: str | None = None
    reference_origin: str | None = None


class _Manifest(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    format: str
    id: str
    version: str
    benchmark: Benchmark
    licence: str
    origin: str
    language: str
    items: list[msgspec.Raw]


class _Format(msgspec.Struct):
    format: str


def is_dataset_id(text: str) -> bool:
    """Say whether a text can be a dataset's id: 1 to 64 letters, digits, `.`, `_` and `-`, no sign first."""
    return _ID.fullmatch(text) is not None


def read(path: Path) -> tuple[Dataset, tuple[str, ...]]:
    """Read a manifest file; see `parse`.

    Raises:
        DatasetError: The file cannot be read, or `parse` says so.
    """
    try:
        content = path.read_bytes()
    except OSError as error:
        raise DatasetError(f"{path} cannot be read: {error.strerror}.") from error
    return parse(content, path)


def parse(content: bytes, path: Path) -> tuple[Dataset, tuple[str, ...]]:
    """Turn the bytes of a manifest into a dataset of the items that are well formed, and a problem for each other.

    A problem begins with the exact path of the field (`$.items[3].speech.start_s`) and never holds its value.

    Args:
        content: The manifest, UTF-8 JSON.
        path: Where it lies; its folder becomes the dataset's root.

    Raises:
        DatasetError: It is not JSON, not of this format, or wrong outside its items.
    """
    try:
        stated = msgspec.json.decode(content, type=_Format).format
        if stated != FORMAT:
            raise DatasetError(f"{path} has the manifest format {stated!r}; this version reads {FORMAT!r}.")
        manifest = msgspec.json.decode(content, type=_Manifest)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise DatasetError(f"{path} is not a dataset manifest: {_described(error, '$')}.") from error
    if not is_dataset_id(manifest.id):
        raise DatasetError(f"{path}: $.id is not a dataset id: use letters, digits, '.', '_' and '-', at most 64.")
    items: list[Item] = []
    problems: list[str] = []
    for index, raw in enumerate(manifest.items):
        where = f"$.items[{index}]"
        try:
            item = _item(msgspec.json.decode(raw, type=_ManifestItem), manifest.language)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            problems.append(_described(error, where))
            continue
        items.append(item)
        problems += (f"{where}.{problem}" for problem in item_problems(item))
    dataset = Dataset(
        id=manifest.id,
        version=manifest.version,
        benchmark=manifest.benchmark,
        licence=manifest.licence,
        origin=manifest.origin,
        language=manifest.language,
        items=tuple(items),
        root=path.parent,
    )
    return dataset, tuple(problems)


def encode(dataset: Dataset) -> bytes:
    """Return the manifest of a dataset: indented UTF-8 JSON that `parse` turns into an equal dataset."""
    manifest = _Manifest(
        format=FORMAT,
        id=dataset.id,
        version=dataset.version,
        benchmark=dataset.benchmark,
        licence=dataset.licence,
        origin=dataset.origin,
        language=dataset.language,
        items=[msgspec.Raw(msgspec.json.encode(_stored(item, dataset.language))) for item in dataset.items],
    )
    return msgspec.json.format(msgspec.json.encode(manifest), indent=2) + b"\n"


def audio_path(root: Path, audio: str) -> Path:
    """Return where an item's audio lies, having made sure that it lies inside the dataset's folder.

    Raises:
        ValueError: The path is absolute, climbs with `..`, or leaves the folder through a symbolic link.
    """
    relative = Path(audio)
    if not audio or "\0" in audio or relative.is_absolute() or ".." in relative.parts:
        raise ValueError("the audio path must be relative and stay inside the folder")
    try:
        resolved = (root / relative).resolve()
    except (OSError, RuntimeError) as error:
        raise ValueError("the audio path is a symbolic link that leads nowhere") from error
    if not resolved.is_relative_to(root.resolve()):
        raise ValueError("the audio path leaves the folder through a symbolic link")
    return resolved


def item_problems(item: Item) -> Iterator[str]:
    """Yield what is wrong with the form of an item, each problem beginning with the field's name."""
    if not (0 < len(item.id) <= 200 and item.id.isprintable() and item.id == item.id.strip()):
        yield "id: expected 1 to 200 printable characters without space around them"
    if not _SHA256.fullmatch(item.sha256):
        yield "sha256: expected 64 lower-case hexadecimal digits"
    if item.duration_s is not None and not item.duration_s > 0:
        yield "duration_s: expected more than 0 seconds"
    if item.speech is not None and not 0 <= item.speech.start_s < item.speech.end_s:
        yield "speech: expected 0 <= start_s < end_s"
    if item.speech is not None and item.duration_s is not None and item.speech.end_s > item.duration_s:
        yield "speech.end_s: lies after the end of the audio"


def _item(stored: _ManifestItem, language: str) -> Item:
    return Item(
        id=stored.id,
        text=stored.text,
        sha256=stored.sha256,
        audio=stored.audio,
        duration_s=stored.duration_s,
        speech=stored.speech,
        language=stored.language if stored.language is not None else language,
        speaker=stored.speaker,
        tags=stored.tags,
        reference_origin=stored.reference_origin,
    )


def _stored(item: Item, language: str) -> _ManifestItem:
    return _ManifestItem(
        id=item.id,
        text=item.text,
        sha256=item.sha256,
        audio=item.audio,
        duration_s=item.duration_s,
        speech=item.speech,
        language=None if item.language == language else item.language,
        speaker=item.speaker,
        tags=item.tags,
        reference_origin=item.reference_origin,
    )


def _described(error: Exception, where: str) -> str:
    """Say what msgspec found, with the field's path from the root of the manifest in front."""
    if isinstance(error, UnicodeDecodeError):
        return f"{where}: not UTF-8"
    what, _, inner = str(error).partition(" - at `$")
    return f"{where}{inner.rstrip('`')}: {what[:1].lower()}{what[1:]}"
