import hashlib
from collections.abc import Callable
from pathlib import Path

import msgspec
import numpy as np
import pytest
import soundfile

from sayagain.datasets import available, builtin, load, read_pcm, verify
from sayagain.datasets.manifest import Dataset, encode
from sayagain.errors import DatasetError
from sayagain.failures import CaseFailedError
from sayagain.records import AudioFormat, Benchmark, FailureKind, Item, Phase

Make = Callable[..., Dataset]
MONO_16K = AudioFormat(rate=16_000)


def problems_of(reference: str, folder: Path) -> tuple[str, ...]:
    with pytest.raises(DatasetError) as error:
        load(reference, folder)
    assert error.value.exit_code == 2
    assert "words of" not in str(error.value)
    return error.value.problems


def prompts(root: Path, *texts: str, **changes: object) -> Dataset:
    items = tuple(
        msgspec.structs.replace(
            Item(id=f"p{index}", text=text, sha256=hashlib.sha256(text.encode()).hexdigest()), **changes
        )
        for index, text in enumerate(texts)
    )
    return Dataset("p", "1", Benchmark.TTS, "CC0", "a test", "en", items, root)


def test_a_sound_dataset_is_loaded_by_its_folder_its_manifest_and_its_id(utterances: Make, tmp_path: Path) -> None:
    written = utterances("a", "b")
    assert load(str(written.root), tmp_path / "none") == written
    assert load(str(written.root / "manifest.json"), tmp_path / "none") == written
    assert load("set", tmp_path) == written


def test_everything_that_is_wrong_is_listed_item_by_item(utterances: Make, tmp_path: Path) -> None:
    dataset = utterances(
        "missing",
        "changed",
        "silent",
        "twice",
        "twice",
        "noise",
        "short",
        "outside",
        "unspanned",
        "fine",
        changes={
            2: {"text": " \n"},
            5: {"sha256": hashlib.sha256(b"not audio").hexdigest()},
            6: {"duration_s": 0.6},
            7: {"audio": "../secret.wav"},
            8: {"speech": None},
        },
    )
    (dataset.root / "0.wav").unlink()
    (dataset.root / "1.wav").write_bytes((dataset.root / "1.wav").read_bytes() + b"x")
    (dataset.root / "5.wav").write_bytes(b"not audio")
    assert problems_of("set", tmp_path) == (
        "twice: the id is used by more than one item",
        "missing: the audio file 0.wav is missing",
        "changed: 1.wav: the audio file is not the one that was pinned (its SHA-256 differs)",
        "silent: the transcript is empty",
        "noise: the audio file 5.wav cannot be decoded: Format not recognised",
        "short: the audio lasts 0.500 s and duration_s says 0.600 s",
        "outside: ../secret.wav: the audio path must be relative and stay inside the folder",
        "unspanned: there is no speech span; `sayagain datasets import` finds one",
    )


def test_malformed_items_are_listed_beside_unusable_ones(utterances: Make, tmp_path: Path) -> None:
    dataset = utterances("a", "b")
    (dataset.root / "1.wav").unlink()
    manifest = dataset.root / "manifest.json"
    manifest.write_bytes(manifest.read_bytes().replace(b'"duration_s": 0.5', b'"duration_s": "0.5"', 1))
    first, second = problems_of("set", tmp_path)
    assert first == "$.items[0].duration_s: expected `float | null`, got `str`"
    assert second == "b: the audio file 1.wav is missing"


def test_a_path_that_is_a_folder_is_no_audio_file(utterances: Make, tmp_path: Path) -> None:
    dataset = utterances("a", changes={0: {"audio": "."}})
    assert verify(dataset) == ("a: .: the audio path is not a file",)


def test_a_dataset_without_items_is_refused(utterances: Make, tmp_path: Path) -> None:
    utterances()
    with pytest.raises(DatasetError, match="has no items"):
        load("set", tmp_path)


def test_prompts_are_pinned_by_their_text_and_have_no_audio(tmp_path: Path) -> None:
    assert verify(prompts(tmp_path, "Hello.", "Grüße!")) == ()
    assert verify(prompts(tmp_path, "Hello.", sha256="0" * 64)) == (
        "p0: the prompt is not the one that was pinned (its SHA-256 differs)",
    )
    assert verify(prompts(tmp_path, "Hello.", audio="a.wav")) == ("p0: a prompt has no audio path",)
    assert verify(prompts(tmp_path, " ")) == ("p0: the prompt is empty",)


@pytest.mark.parametrize(
    ("reference", "said"),
    [
        ("librivox5", "Did you mean librivox-5?"),
        ("sett", "Did you mean set?"),
        ("./nowhere/manifest.json", "Known ids: librivox-5, cards-5, prompts-30, set."),
        ("", "Known ids"),
    ],
)
def test_an_unknown_dataset_is_answered_with_the_nearest_ids(
    reference: str, said: str, utterances: Make, tmp_path: Path
) -> None:
    utterances("a")
    with pytest.raises(DatasetError) as error:
        load(reference, tmp_path)
    assert repr(reference) in str(error.value)
    assert said in str(error.value)


def test_built_in_datasets_come_before_imported_ones_and_broken_ones_say_why(
    utterances: Make, tmp_path: Path
) -> None:
    dataset = utterances("a")
    for name, content in (("broken", b"{"), ("renamed", encode(dataset)), (".new", encode(dataset))):
        (tmp_path / name).mkdir()
        (tmp_path / name / "manifest.json").write_bytes(content)
    entries = available(tmp_path)
    built_in = (*builtin(Benchmark.STT), *builtin(Benchmark.TTS))
    assert tuple(entry.id for entry in entries if entry.builtin) == built_in
    broken, renamed, usable = entries[len(built_in) :]
    assert (broken.id, renamed.id, usable.id) == ("broken", "renamed", "set")
    assert broken.problem is not None
    assert "is not a dataset manifest" in broken.problem
    assert renamed.problem == "its manifest says that its id is 'set'"
    assert usable.dataset == dataset


def test_without_imported_datasets_the_built_in_ones_are_there(tmp_path: Path) -> None:
    assert all(entry.builtin and entry.dataset for entry in available(tmp_path / "nowhere"))


@pytest.mark.parametrize("rate", [8_000, 16_000, 24_000])
def test_an_item_is_read_as_pcm_at_the_rate_its_provider_wants(rate: int, utterances: Make) -> None:
    dataset = utterances("a")
    pcm = read_pcm(dataset.root, dataset.items[0], AudioFormat(rate=rate))
    assert len(pcm) == rate  # half a second of two bytes a sample
    if rate == 16_000:
        stored = soundfile.read(dataset.root / "0.wav", dtype="int16")[0]
        assert np.array_equal(np.frombuffer(pcm, "<i2"), stored)


def failure_of(dataset: Dataset, audio_format: AudioFormat = MONO_16K, item: int = 0) -> tuple[FailureKind, str]:
    with pytest.raises(CaseFailedError) as error:
        read_pcm(dataset.root, dataset.items[item], audio_format)
    failure = error.value.failure
    assert failure.phase is Phase.PREPARE
    assert "words of" not in failure.message
    return failure.kind, failure.message


def test_a_file_that_has_gone_fails_as_dataset(utterances: Make) -> None:
    dataset = utterances("a")
    (dataset.root / "0.wav").unlink()
    assert failure_of(dataset) == (FailureKind.DATASET, "the audio file is missing")


def test_a_file_that_has_changed_fails_as_dataset(utterances: Make) -> None:
    dataset = utterances("a", "b")
    (dataset.root / "0.wav").write_bytes((dataset.root / "1.wav").read_bytes())
    kind, message = failure_of(dataset)
    assert kind is FailureKind.DATASET
    assert "not the one that was pinned" in message


def test_an_item_without_audio_or_with_a_path_outside_fails_as_dataset(utterances: Make) -> None:
    dataset = utterances("a", "b", changes={0: {"audio": None}, 1: {"audio": "/etc/passwd"}})
    assert failure_of(dataset)[0] is FailureKind.DATASET
    assert failure_of(dataset, item=1)[0] is FailureKind.DATASET


def test_a_pinned_file_that_cannot_be_decoded_fails_as_audio_format(utterances: Make) -> None:
    dataset = utterances("a", changes={0: {"sha256": hashlib.sha256(b"not audio").hexdigest()}})
    (dataset.root / "0.wav").write_bytes(b"not audio")
    assert failure_of(dataset) == (
        FailureKind.AUDIO_FORMAT,
        "the audio file cannot be decoded: Format not recognised",
    )


@pytest.mark.parametrize(("width", "channels"), [(3, 1), (2, 2)])
def test_pcm_that_is_not_mono_16_bit_cannot_be_had(width: int, channels: int, utterances: Make) -> None:
    dataset = utterances("a")
    asked = AudioFormat(rate=16_000, width=width, channels=channels)
    assert failure_of(dataset, asked)[0] is FailureKind.AUDIO_FORMAT
