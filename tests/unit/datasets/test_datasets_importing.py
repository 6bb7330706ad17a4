import struct
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import soundfile

from sayagain.datasets import load, read_pcm
from sayagain.datasets.importing import About, Imported, import_folder
from sayagain.errors import DatasetError, SayagainError, UsageError
from sayagain.records import AudioFormat, Item

Samples = npt.NDArray[np.float32]
ABOUT = About(id="mine")


@pytest.fixture
def recordings(tmp_path: Path) -> Path:
    folder = tmp_path / "recordings"
    folder.mkdir()
    return folder


def resampled(samples: Samples, rate: int) -> Samples:
    positions = np.arange(0, len(samples) - 1, 16_000 / rate)
    values: Samples = np.interp(positions, np.arange(len(samples)), samples).astype(np.float32)
    return values


def imported(recordings: Path, table: str, **options: Any) -> Imported:
    path = recordings.parent / "transcripts.csv"
    path.write_text(table, "utf-8")
    destination = recordings.parent / "datasets" / "mine"
    return import_folder(recordings, path, options.pop("about", ABOUT), destination, **options)


def refused(recordings: Path, table: str, **options: Any) -> tuple[str, ...]:
    """Import what cannot be imported, see that nothing was left behind, and return the problems."""
    before = sorted(recordings.parent.rglob("*"))
    with pytest.raises(DatasetError) as error:
        imported(recordings, table, **options)
    after = sorted(recordings.parent.rglob("*"))
    assert [path for path in after if path not in before] in ([], [recordings.parent / "transcripts.csv"])
    assert "secret words" not in str(error.value)
    return error.value.problems


def write_streamed(path: Path, samples: Samples, size: int) -> None:
    """Write a WAV file with the sizes that a program leaves that streams it."""
    soundfile.write(path, samples, 16_000)
    content = bytearray(path.read_bytes())
    struct.pack_into("<I", content, 4, size)
    struct.pack_into("<I", content, content.index(b"data") + 4, size)
    path.write_bytes(content)


FORMS: dict[str, Callable[[Path, Samples], None]] = {
    "8-bit.wav": lambda path, x: soundfile.write(path, x, 16_000, subtype="PCM_U8"),
    "16-bit.wav": lambda path, x: soundfile.write(path, x, 16_000, subtype="PCM_16"),
    "24-bit.wav": lambda path, x: soundfile.write(path, x, 16_000, subtype="PCM_24"),
    "32-bit.wav": lambda path, x: soundfile.write(path, x, 16_000, subtype="PCM_32"),
    "float.wav": lambda path, x: soundfile.write(path, x, 16_000, subtype="FLOAT"),
    "double.wav": lambda path, x: soundfile.write(path, x, 16_000, subtype="DOUBLE"),
    "a-law.wav": lambda path, x: soundfile.write(path, x, 16_000, subtype="ALAW"),
    "extensible.wav": lambda path, x: soundfile.write(path, x, 16_000, format="WAVEX", subtype="PCM_24"),
    "stereo.wav": lambda path, x: soundfile.write(path, np.column_stack([x, x]), 16_000),
    "six-channels.wav": lambda path, x: soundfile.write(path, np.column_stack([x] * 6), 16_000, format="WAVEX"),
    "8k.wav": lambda path, x: soundfile.write(path, resampled(x, 8_000), 8_000),
    "44k.wav": lambda path, x: soundfile.write(path, resampled(x, 44_100), 44_100),
    "48k-stereo.flac": lambda path, x: soundfile.write(path, np.column_stack([resampled(x, 48_000)] * 2), 48_000),
    "16k.flac": lambda path, x: soundfile.write(path, x, 16_000),
    "vorbis.ogg": lambda path, x: soundfile.write(path, x, 16_000),
    "opus.ogg": lambda path, x: soundfile.write(path, x, 16_000, subtype="OPUS"),
    "misnamed.txt": lambda path, x: soundfile.write(path, x, 16_000, format="WAV"),
    "streamed-ff.wav": lambda path, x: write_streamed(path, x, 0xFFFFFFFF),
    "streamed-0.wav": lambda path, x: write_streamed(path, x, 0),
}


@pytest.mark.parametrize("name", FORMS)
def test_every_form_of_recording_becomes_the_same_16_khz_mono_speech(
    name: str, recordings: Path, speech: Samples
) -> None:
    FORMS[name](recordings / name, speech)
    dataset = imported(recordings, f"path,text\n{name},he was not ill disposed\n").dataset
    assert load(str(dataset.root), recordings) == dataset
    (item,) = dataset.items
    info = soundfile.info(dataset.root / (item.audio or ""))
    assert (info.samplerate, info.channels, info.format, info.subtype) == (16_000, 1, "WAV", "PCM_16")
    assert abs(info.frames - len(speech)) <= 2
    pcm = np.frombuffer(read_pcm(dataset.root, item, AudioFormat(rate=16_000)), "<i2") / 32768
    length = min(len(pcm), len(speech))
    assert np.corrcoef(pcm[:length], speech[:length])[0, 1] > 0.95  # at 8 kHz half the spectrum is gone
    assert item.speech is not None
    assert item.speech.start_s == pytest.approx(0.256, abs=0.1)
    assert item.speech.end_s == pytest.approx(2.848, abs=0.1)


def test_a_16_khz_mono_16_bit_recording_keeps_every_sample(recordings: Path, speech: Samples) -> None:
    soundfile.write(recordings / "a.wav", speech, 16_000)
    dataset = imported(recordings, "a.wav,hello\n").dataset
    kept = soundfile.read(dataset.root / "audio/000001.wav", dtype="int16")[0]
    assert np.array_equal(kept, soundfile.read(recordings / "a.wav", dtype="int16")[0])


def test_what_the_table_says_reaches_the_items(recordings: Path, speech: Samples) -> None:
    (recordings / "calls").mkdir()
    soundfile.write(recordings / "calls" / "a.b.wav", speech, 16_000)
    soundfile.write(recordings / "c.wav", speech, 16_000)
    about = About("mine", "7", "de", "CC0", "our desk", reference_origin="human, checked twice")
    table = "path,text,id,speaker,tags,language\ncalls/a.b.wav,hello,,,,\nc.wav,good bye,last,Ann,far;loud,fr\n"
    dataset = imported(recordings, table, about=about).dataset
    first, last = dataset.items
    assert (first.id, first.text, first.speaker, first.tags, first.language) == (
        "calls/a.b",
        "hello",
        None,
        (),
        "de",
    )
    assert (last.id, last.text, last.speaker, last.tags, last.language) == (
        "last",
        "good bye",
        "Ann",
        ("far", "loud"),
        "fr",
    )
    assert {item.reference_origin for item in dataset.items} == {"human, checked twice"}
    assert (dataset.id, dataset.version, dataset.licence, dataset.origin) == ("mine", "7", "CC0", "our desk")


def test_everything_that_is_wrong_is_listed_at_once_and_nothing_is_written(
    recordings: Path, speech: Samples
) -> None:
    soundfile.write(recordings / "good.wav", speech, 16_000)
    soundfile.write(recordings / "good.flac", speech, 16_000)
    soundfile.write(recordings / "silent.wav", np.zeros(16_000), 16_000)
    soundfile.write(recordings / "hum.wav", 0.1 * np.sin(np.arange(32_000) * 0.02), 16_000)
    soundfile.write(recordings / "empty.wav", np.zeros(0), 16_000)
    soundfile.write(recordings / "nan.wav", np.append(speech, np.nan), 16_000, subtype="FLOAT")
    soundfile.write(recordings / "unscaled.wav", speech * 32768, 16_000, subtype="FLOAT")
    (recordings / "noise.wav").write_bytes(b"RIFFnothing of the kind")
    (recordings / "cut.wav").write_bytes((recordings / "good.wav").read_bytes()[:20_000])
    (recordings / "folder.wav").mkdir()
    (recordings / "link.wav").symlink_to("/etc/passwd")
    names = ["silent", "hum", "empty", "nan", "unscaled", "noise", "cut", "folder", "link", "missing"]
    table = (
        "path,text\ngood.wav,secret words\ngood.flac,secret words\n../up.wav,secret words\n/up.wav,secret words\n"
    )
    table += "".join(f"{name}.wav,secret words\n" for name in names) + "good.wav,\ngood.wav\n"
    problems = refused(recordings, table)
    assert problems == (
        "line 17: 1 columns where 2 are needed",
        "lines 2, 3, 16: the same id 'good'; give each its own in an id column",
        "line 4 (../up.wav): the audio path must be relative and stay inside the folder",
        "line 5 (/up.wav): the audio path must be relative and stay inside the folder",
        "line 6 (silent.wav): the audio is silent: every sample is 0",
        "line 7 (hum.wav): no speech was found in the audio",
        "line 8 (empty.wav): the audio holds no samples",
        "line 9 (nan.wav): the audio holds samples that are not numbers (NaN or infinite)",
        problems[8],
        problems[9],
        problems[10],
        "line 13 (folder.wav): the file cannot be read: Is a directory",
        "line 14 (link.wav): the audio path leaves the folder through a symbolic link",
        "line 15 (missing.wav): there is no such file in the folder",
        "line 16 (good.wav): the transcript is empty",
    )
    assert problems[8].startswith("line 10 (unscaled.wav): the audio is out of scale")
    assert problems[9].startswith("line 11 (noise.wav): the audio cannot be decoded")
    assert problems[10].startswith("line 12 (cut.wav): the audio is cut short")


def test_a_table_without_rows_imports_nothing(recordings: Path) -> None:
    refused(recordings, "path,text\n")


def test_an_id_that_a_manifest_could_not_hold_is_refused(recordings: Path, speech: Samples) -> None:
    soundfile.write(recordings / "a.wav", speech, 16_000)
    (problem,) = refused(recordings, f"path,text,id\na.wav,hello,{'x' * 201}\n")
    assert problem.startswith("line 2 (a.wav): id: expected 1 to 200 printable characters")


def test_a_few_samples_beyond_full_scale_are_clipped_and_said(recordings: Path, speech: Samples) -> None:
    samples = speech.copy()
    samples[20_000:20_003] = 1.5
    soundfile.write(recordings / "a.wav", samples, 16_000, subtype="FLOAT")
    assert imported(recordings, "a.wav,hello\n").notes == ("a: 3 samples beyond full scale were clipped",)


def test_an_existing_destination_stays_unless_it_is_to_be_replaced(recordings: Path, speech: Samples) -> None:
    soundfile.write(recordings / "a.wav", speech, 16_000)
    first = imported(recordings, "a.wav,hello\n").dataset
    with pytest.raises(UsageError, match="--replace"):
        imported(recordings, "a.wav,good bye\n")
    assert load(str(first.root), recordings) == first
    refused(recordings, "b.wav,gone\n", replace=True)
    assert load(str(first.root), recordings) == first
    second = imported(recordings, "a.wav,good bye\n", replace=True).dataset
    assert load(str(first.root), recordings) == second != first
    assert [path.name for path in first.root.parent.iterdir()] == ["mine"]


def test_a_folder_that_is_no_dataset_is_never_replaced(recordings: Path, speech: Samples) -> None:
    soundfile.write(recordings / "a.wav", speech, 16_000)
    precious = recordings.parent / "datasets" / "mine" / "thesis.txt"
    precious.parent.mkdir(parents=True)
    precious.touch()
    with pytest.raises(UsageError, match="holds no dataset"):
        imported(recordings, "a.wav,hello\n", replace=True)
    assert precious.exists()


def test_a_dataset_is_not_replaced_by_one_made_from_its_own_files(recordings: Path, speech: Samples) -> None:
    soundfile.write(recordings / "a.wav", speech, 16_000)
    dataset = imported(recordings, "a.wav,hello\n").dataset
    table = recordings.parent / "transcripts.csv"
    with pytest.raises(UsageError, match="lies inside"):
        import_folder(dataset.root / "audio", table, ABOUT, dataset.root, replace=True)


@pytest.mark.parametrize("dataset_id", ["", "../mine", "a b", "x" * 65, "librivox-5", "prompts-30"])
def test_an_id_that_is_taken_or_is_none_is_refused(dataset_id: str, recordings: Path) -> None:
    with pytest.raises(UsageError, match="dataset"):
        imported(recordings, "a.wav,hello\n", about=About(dataset_id))


def test_a_folder_that_is_not_there_is_said(recordings: Path) -> None:
    with pytest.raises(UsageError, match="is not a folder"):
        imported(recordings / "none", "a.wav,hello\n")


def test_a_destination_that_cannot_be_written_is_said_in_one_line(recordings: Path, speech: Samples) -> None:
    soundfile.write(recordings / "a.wav", speech, 16_000)
    (recordings.parent / "datasets").write_text("a file where a folder is needed")
    with pytest.raises(SayagainError, match=r"datasets/mine cannot be written: \w[^\n]*$"):
        imported(recordings, "a.wav,hello\n")


def test_progress_is_told_after_every_row(recordings: Path, speech: Samples) -> None:
    soundfile.write(recordings / "a.wav", speech, 16_000)
    seen: list[tuple[int, int]] = []
    table = "path,text,id\na.wav,hello,1\na.wav,hello,2\n"
    imported(recordings, table, progress=lambda done, total: seen.append((done, total)))
    assert seen == [(1, 2), (2, 2)]


def test_memory_does_not_grow_with_the_number_of_recordings(recordings: Path, speech: Samples) -> None:
    soundfile.write(recordings / "a.wav", speech, 16_000)

    def peak(count: int) -> int:
        table = "path,text,id\n" + "".join(f"a.wav,hello,{index}\n" for index in range(count))
        tracemalloc.start()
        imported(recordings, table, replace=True)
        size = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return size

    peak(1)
    recording_bytes = len(speech) * 4
    assert peak(12) - peak(2) < 2 * recording_bytes


def test_items_keep_the_order_of_the_table(recordings: Path, speech: Samples) -> None:
    soundfile.write(recordings / "a.wav", speech, 16_000)
    items: tuple[Item, ...] = imported(recordings, "path,text,id\na.wav,x,z\na.wav,x,a\na.wav,x,m\n").dataset.items
    assert [item.id for item in items] == ["z", "a", "m"]
