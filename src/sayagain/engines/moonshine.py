"""Moonshine: streaming recognition with the tiny English model of the moonshine-voice package.

The library transcribes the segment that is being spoken anew at every update, so an update takes longer the
longer a segment is (0.25 s at seven seconds, on one core).
"""

import os
import struct
import wave
from importlib.metadata import version
from importlib.resources import as_file, files
from pathlib import Path
from typing import Any

from sayagain.engines.interface import EngineError, Progress, SttEngine, Utterance
from sayagain.records import AudioFormat

SAMPLE_RATE = 16_000
WARM_UP_S = 2.0


class Moonshine(SttEngine):
    """Loads the model of the wheel. `threads` 1 keeps inference on one thread, 0 leaves it to the library.

    With its own choice of threads the library takes twice the processor time for the same latency, because the
    others spin while they wait. `update_interval_s` is the new audio, in seconds, that makes it transcribe again.
    """

    def __init__(self, threads: int = 1, update_interval_s: float = 0.5) -> None:
        if threads == 1:
            # Read by the library when it creates its inference sessions; it offers no other thread setting.
            os.environ["MOONSHINE_ORT_SINGLE_THREAD"] = "1"
        from moonshine_voice.moonshine_api import ModelArch
        from moonshine_voice.transcriber import Transcriber

        self.version = version("moonshine-voice")
        options = {"transcription_interval": update_interval_s, "return_audio_data": "false"}
        with as_file(files("moonshine_voice") / "assets" / "tiny-en") as model:
            self._transcriber = Transcriber(str(model), ModelArch.TINY, options=options)

    def warm_up(self) -> None:
        """Transcribe a recording that the wheel brings: the voice detector lets only speech reach the model."""
        with as_file(files("moonshine_voice") / "assets" / "beckett.wav") as path:
            audio_format, pcm = _read_wav(path)
        stream = self._transcriber.create_stream()
        stream.start()
        stream.add_audio(_floats(pcm), audio_format.rate)
        stream.stop()
        stream.close()

    def begin(self) -> Utterance:
        """Open a stream of its own for the utterance."""
        return MoonshineUtterance(self._transcriber)


class MoonshineUtterance(Utterance):
    """One stream of the library; a line of it is a segment, and a complete line does not change."""

    def __init__(self, transcriber: Any) -> None:
        # Python would update at its own interval on top of the library's; only the library's is wanted.
        self._stream = transcriber.create_stream(update_interval=float("inf"))
        self._stream.start()
        self._completed = 0

    def accept(self, pcm: bytes) -> Progress:
        """Add audio; the library transcribes when enough of it is new, and else repeats its last answer."""
        self._stream.add_audio(_floats(pcm), SAMPLE_RATE)
        return self._progress(self._stream.update_transcription())

    def finish(self) -> Progress:
        """Transcribe what is still waiting, then end the stream.

        In that order: once it is stopped the library drops audio that it has not analyzed, up to one interval.
        """
        from moonshine_voice.transcriber import MOONSHINE_FLAG_FORCE_UPDATE

        self._stream.update_transcription(MOONSHINE_FLAG_FORCE_UPDATE)
        transcript = self._stream.stop()
        if transcript is None:
            raise EngineError("moonshine failed to end its stream")
        return self._progress(transcript)

    def close(self) -> None:
        """Free the stream."""
        self._stream.close()

    def _progress(self, transcript: Any) -> Progress:
        lines = [(line.text.strip(), line.is_complete) for line in transcript.lines]
        complete = [text for text, is_complete in lines if is_complete]
        segments, self._completed = complete[self._completed :], len(complete)
        return Progress(
            segments=tuple(filter(None, segments)), hypothesis=" ".join(text for text, _ in lines if text)
        )


def _floats(pcm: bytes) -> list[float]:
    """Convert 16-bit little-endian samples to the numbers in [-1, 1) that the library takes."""
    return [sample / 32768 for sample in struct.unpack(f"<{len(pcm) // 2}h", pcm)]


def _read_wav(path: Path) -> tuple[AudioFormat, bytes]:
    with wave.open(str(path), "rb") as source:
        audio_format = AudioFormat(
            rate=source.getframerate(), width=source.getsampwidth(), channels=source.getnchannels()
        )
        return audio_format, source.readframes(int(WARM_UP_S * audio_format.rate))
