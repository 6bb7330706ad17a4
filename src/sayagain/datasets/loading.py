"""Loading a dataset for a run: everything that can be wrong with it is said here, before anything is spent."""

import errno
import hashlib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from sayagain import failures
from sayagain.datasets import manifest
from sayagain.datasets.audio import Audio, AudioError, decode, to_pcm
from sayagain.datasets.catalog import locate
from sayagain.datasets.manifest import Dataset, audio_path
from sayagain.errors import DatasetError
from sayagain.records import AudioFormat, Benchmark, FailureKind, Item, Phase

DURATION_TOLERANCE_S = 0.002
"""How far a stated duration may be from the decoded one: manifests written by hand are rounded."""


def load(reference: str, datasets_dir: Path) -> Dataset:
    """Load the dataset that a reference means and verify every item of it.

    Args:
        reference: A built-in id, the id of an imported dataset, or the path of a manifest or its folder.
        datasets_dir: Where imported datasets lie.

    Raises:
        DatasetError: There is no such dataset, or it has problems; all of them are listed, item by item.
    """
    path = locate(reference, datasets_dir)
    dataset, malformed = manifest.read(path)
    problems = (*malformed, *verify(dataset))
    if problems:
        raise DatasetError(
            f"Dataset {dataset.id!r} ({path}) cannot be used; correct or remove these items:", problems
        )
    if not dataset.items:
        raise DatasetError(f"Dataset {dataset.id!r} ({path}) has no items.")
    return dataset


def verify(dataset: Dataset) -> tuple[str, ...]:
    """Check every item against its data and return what is wrong, each problem beginning with the item's id.

    An STT item needs a transcript, a speech span (without it no latency can be counted) and audio that is there,
    has the pinned hash, can be decoded and lasts as long as stated. A TTS item needs a prompt with the pinned hash
    and no audio. Ids are unique.
    """
    repeated = {item_id for item_id, count in Counter(item.id for item in dataset.items).items() if count > 1}
    problems = [f"{item_id}: the id is used by more than one item" for item_id in sorted(repeated)]
    for item in dataset.items:
        problems += (f"{item.id}: {problem}" for problem in _item_problems(dataset, item))
    return tuple(problems)


def read_pcm(dataset_root: Path, item: Item, format: AudioFormat) -> bytes:  # noqa: A002 - the noun of the codec
    """Return an item's audio as raw PCM in a format: mono, 16-bit little-endian, at any rate.

    The file's hash is checked again on the very bytes that are decoded.

    Raises:
        CaseFailedError: `dataset` when the file is missing, unreadable or not the one that was pinned;
            `audio_format` when it cannot be decoded or the format is not mono 16-bit.
    """
    if (format.width, format.channels) != (2, 1):
        raise failures.failed(
            FailureKind.AUDIO_FORMAT, Phase.PREPARE, "audio can be prepared as mono 16-bit PCM only"
        )
    try:
        return to_pcm(decode(_pinned_bytes(dataset_root, item)), format.rate)
    except AudioError as error:
        raise failures.failed(FailureKind.AUDIO_FORMAT, Phase.PREPARE, f"the audio file {error}") from error
    except OSError as error:
        code = errno.errorcode.get(error.errno or 0)
        message = f"the audio file {_os_reason(error)}"
        raise failures.failed(FailureKind.DATASET, Phase.PREPARE, message, code=code) from error
    except _NotPinnedError as error:
        raise failures.failed(FailureKind.DATASET, Phase.PREPARE, str(error)) from error


class _NotPinnedError(ValueError):
    """The item's data are not what its manifest pinned."""


def _item_problems(dataset: Dataset, item: Item) -> Iterator[str]:
    if not item.text.strip():
        yield "the transcript is empty" if dataset.benchmark is Benchmark.STT else "the prompt is empty"
    if dataset.benchmark is Benchmark.TTS:
        yield from _prompt_problems(item)
    else:
        yield from _utterance_problems(dataset.root, item)


def _prompt_problems(item: Item) -> Iterator[str]:
    if item.audio is not None:
        yield "a prompt has no audio path"
    if hashlib.sha256(item.text.encode()).hexdigest() != item.sha256:
        yield "the prompt is not the one that was pinned (its SHA-256 differs)"


def _utterance_problems(root: Path, item: Item) -> Iterator[str]:
    if item.speech is None:
        yield "there is no speech span; `sayagain datasets import` finds one"
    if item.audio is None:
        yield "there is no audio path"
    else:
        yield from _audio_problems(root, item)


def _audio_problems(root: Path, item: Item) -> Iterator[str]:
    try:
        audio = decode(_pinned_bytes(root, item))
    except AudioError as error:
        yield f"the audio file {item.audio} {error}"
    except OSError as error:
        yield f"the audio file {item.audio} {_os_reason(error)}"
    except _NotPinnedError as error:
        yield f"{item.audio}: {error}"
    else:
        yield from _duration_problems(item, audio)


def _duration_problems(item: Item, audio: Audio) -> Iterator[str]:
    if item.duration_s is None:
        yield f"there is no duration_s; the audio lasts {audio.duration_s:.6f} s"
    elif abs(item.duration_s - audio.duration_s) > DURATION_TOLERANCE_S:
        yield f"the audio lasts {audio.duration_s:.3f} s and duration_s says {item.duration_s:.3f} s"


def _pinned_bytes(root: Path, item: Item) -> bytes:
    """Read an item's audio file, having made sure that it is the one its manifest pinned."""
    if item.audio is None:
        raise _NotPinnedError("the item has no audio")
    try:
        path = audio_path(root, item.audio)
    except ValueError as error:
        raise _NotPinnedError(str(error)) from error
    if path.exists() and not path.is_file():
        raise _NotPinnedError("the audio path is not a file")
    content = path.read_bytes()
    if hashlib.sha256(content).hexdigest() != item.sha256:
        raise _NotPinnedError("the audio file is not the one that was pinned (its SHA-256 differs)")
    return content


def _os_reason(error: OSError) -> str:
    return "is missing" if isinstance(error, FileNotFoundError) else f"cannot be read: {error.strerror}"
