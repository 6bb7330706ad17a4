"""Synthesized audio on its way to the judge: kept in a folder of the run's own until the measuring is over."""

from pathlib import Path

import msgspec

from sayagain.records import AudioFormat, Benchmark, Case, FinishedCase, Record

_SUFFIX = ".spoken"


class Spoken(Record, frozen=True, kw_only=True):
    """The audio of one answered case, raw PCM in its format."""

    case: Case
    audio_format: AudioFormat
    audio: bytes


def keep(folder: Path, finished: FinishedCase) -> None:
    """Write the audio of a synthesis that succeeded; anything else has none. Raises OSError when it cannot."""
    trace = finished.final_attempt.trace
    wanted = finished.case.target.benchmark is Benchmark.TTS and finished.failure is None
    if wanted and trace.audio_format is not None:
        spoken = Spoken(case=finished.case, audio_format=trace.audio_format, audio=trace.audio)
        (folder / f"{finished.case.position}{_SUFFIX}").write_bytes(msgspec.msgpack.encode(spoken))


def kept(folder: Path) -> tuple[int, ...]:
    """Return the positions of the cases whose audio is kept, in order."""
    return tuple(sorted(int(path.stem) for path in folder.glob(f"*{_SUFFIX}")))


def read(folder: Path, position: int) -> Spoken:
    """Return the audio of a case; raises OSError or msgspec.DecodeError when it cannot be read."""
    return msgspec.msgpack.decode((folder / f"{position}{_SUFFIX}").read_bytes(), type=Spoken)
