import shutil
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from sayagain.datasets import builtin, load, read_pcm
from sayagain.datasets.build import build_cards, build_librivox, build_prompts
from sayagain.datasets.catalog import BUILTIN_DIR
from sayagain.datasets.manifest import Dataset
from sayagain.datasets.speech import detector
from sayagain.records import AudioFormat, Benchmark

STT, TTS = builtin(Benchmark.STT), builtin(Benchmark.TTS)
ONE_CHUNK_S = 0.032


def shipped(dataset_id: str) -> Dataset:
    return load(dataset_id, Path("nowhere"))


@pytest.mark.parametrize("dataset_id", [*STT, *TTS])
def test_every_built_in_dataset_is_as_pinned(dataset_id: str) -> None:
    dataset = shipped(dataset_id)
    assert dataset.id == dataset_id
    assert dataset.licence
    assert dataset.origin
    assert all(item.reference_origin for item in dataset.items)


@pytest.mark.parametrize("dataset_id", STT)
def test_every_built_in_recording_has_its_speech_span_and_can_be_sent(dataset_id: str) -> None:
    dataset = shipped(dataset_id)
    assert len(dataset.items) == 5
    for item in dataset.items:
        assert item.speech is not None
        assert item.duration_s is not None
        assert item.speech.vad == detector()
        assert 0.1 < item.speech.start_s < 0.5
        assert item.duration_s - 0.6 < item.speech.end_s < item.duration_s
        pcm = read_pcm(dataset.root, item, AudioFormat(rate=16_000))
        assert len(pcm) / 32_000 == pytest.approx(item.duration_s)


def test_a_slip_in_one_reference_is_corrected_and_said() -> None:
    corrected = [item for item in shipped("librivox-5").items if "corrected" in (item.reference_origin or "")]
    assert [item.id for item in corrected] == ["librivox-0920"]
    assert "married a more amiable woman" in corrected[0].text


def test_the_prompts_are_thirty_of_many_lengths_and_say_what_they_exercise() -> None:
    items = shipped("prompts-30").items
    lengths = [len(item.text.split()) for item in items]
    assert len(items) == len({item.text for item in items}) == 30
    assert (min(lengths), max(lengths)) == (4, 31)
    tags = {tag for item in items for tag in item.tags}
    assert {"amount", "time", "address", "name", "order", "date", "phone", "confirmation", "apology"} <= tags
    assert all(item.tags for item in items)


def source_of(dataset_id: str, folder: Path, transcription: str, *, slip: bool) -> Path:
    """Lay out the part of the source package that a dataset was built from."""
    part = folder / "test" / "data" / transcription.partition("/")[0]
    part.mkdir(parents=True)
    lines = []
    for item in shipped(dataset_id).items:
        assert item.audio is not None
        shutil.copyfile(BUILTIN_DIR / dataset_id / item.audio, part / item.audio)
        text = item.text.replace("a more amiable", "a more a amiable") if slip else item.text
        lines.append(f"<s> {text}  </s> ({Path(item.audio).stem})\n")
    (part / transcription.partition("/")[2]).write_text("".join(lines), "utf-8")
    return folder


def without_speech(dataset: Dataset) -> list[object]:
    return [msgspec.structs.replace(item, speech=None) for item in dataset.items]


@pytest.mark.parametrize(
    ("dataset_id", "transcription", "build"),
    [
        ("librivox-5", "librivox/transcription", build_librivox),
        ("cards-5", "cards/cards.transcription", build_cards),
    ],
)
def test_built_in_recordings_are_rebuilt_from_the_source_package(
    dataset_id: str, transcription: str, build: Callable[[Path, Path], Dataset], tmp_path: Path
) -> None:
    source = source_of(dataset_id, tmp_path / "source", transcription, slip=dataset_id == "librivox-5")
    build(source, tmp_path / "out")
    rebuilt, pinned = load(str(tmp_path / "out" / dataset_id), tmp_path), shipped(dataset_id)
    assert without_speech(rebuilt) == without_speech(pinned)
    for new, old in zip(rebuilt.items, pinned.items, strict=True):
        assert new.speech is not None
        assert old.speech is not None
        # Another processor may round a probability to the other side of a threshold.
        assert new.speech.start_s == pytest.approx(old.speech.start_s, abs=ONE_CHUNK_S + 1e-6)
        assert new.speech.end_s == pytest.approx(old.speech.end_s, abs=ONE_CHUNK_S + 1e-6)


def test_the_prompts_are_rebuilt_from_their_table(tmp_path: Path) -> None:
    (tmp_path / "prompts-30").mkdir()
    shutil.copyfile(BUILTIN_DIR / "prompts-30" / "prompts.tsv", tmp_path / "prompts-30" / "prompts.tsv")
    build_prompts(tmp_path)
    rebuilt = (tmp_path / "prompts-30" / "manifest.json").read_bytes()
    assert rebuilt == (BUILTIN_DIR / "prompts-30" / "manifest.json").read_bytes()
