"""Real recordings and small datasets for the tests of this folder."""

import hashlib
import io
from collections.abc import Callable
from pathlib import Path

import msgspec
import numpy as np
import numpy.typing as npt
import pytest
import soundfile
from hypothesis import settings

from sayagain.datasets.catalog import BUILTIN_DIR
from sayagain.datasets.manifest import Dataset, encode
from sayagain.records import Benchmark, Item, SpeechSpan

settings.register_profile("unhurried", deadline=None)  # a busy machine is no defect
settings.load_profile("unhurried")

Samples = npt.NDArray[np.float32]
RECORDING = BUILTIN_DIR / "librivox-5" / "sense_and_sensibility_01_austen_64kb-0880.wav"


@pytest.fixture(scope="session")
def speech() -> Samples:
    """Three seconds of real speech, mono at 16 kHz."""
    return soundfile.read(RECORDING, dtype="float32")[0]  # type: ignore[no-any-return]


@pytest.fixture
def utterances(tmp_path: Path) -> Callable[..., Dataset]:
    """Write a dataset of short recordings and its manifest; `changes` overrides fields of single items."""

    def make(*item_ids: str, changes: dict[int, dict[str, object]] | None = None) -> Dataset:
        root = tmp_path / "set"
        root.mkdir(exist_ok=True)
        items: list[Item] = []
        for index, item_id in enumerate(item_ids):
            file = io.BytesIO()
            tone = 0.2 * np.sin(np.arange(8000) * (0.1 + index / 50))
            soundfile.write(file, tone, 16_000, format="WAV", subtype="PCM_16")
            (root / f"{index}.wav").write_bytes(file.getvalue())
            item = Item(
                id=item_id,
                text=f"words of item number {index}",
                sha256=hashlib.sha256(file.getvalue()).hexdigest(),
                audio=f"{index}.wav",
                duration_s=0.5,
                speech=SpeechSpan(start_s=0.1, end_s=0.4, vad="by hand"),
            )
            items.append(msgspec.structs.replace(item, **(changes or {}).get(index, {})))
        dataset = Dataset(
            id="set",
            version="1",
            benchmark=Benchmark.STT,
            licence="CC0",
            origin="a test",
            language="en",
            items=tuple(items),
            root=root,
        )
        (root / "manifest.json").write_bytes(encode(dataset))
        return dataset

    return make
