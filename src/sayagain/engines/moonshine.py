"""Moonshine: streaming recognition with the tiny English model of the moonshine-voice package.

The library transcribes the segment that is being spoken anew at every update, so an update takes longer the
longer a segment is (0.25 s at seven seconds, on one core).
"""

import ctypes
import os
import struct
import sys
import wave
from collections.abc import Callable
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
        self._forget = _forgetter(self._transcriber)

    def warm_up(self) -> None:
        """Transcribe a recording that the wheel brings: the voice detector lets only speech reach the model."""
        with as_file(files("moonshine_voice") / "assets" / "beckett.wav") as path:
            audio_format, pcm = _read_wav(path)
        stream = self._transcriber.create_stream()
        stream.start()
        stream.add_audio(_floats(pcm), audio_format.rate)
        stream.stop()
        stream.close()
        self._forget()

    def begin(self) -> Utterance:
        """Open a stream of its own for the utterance."""
        return MoonshineUtterance(self._transcriber, self._forget)


class MoonshineUtterance(Utterance):
    """One stream of the library; a line of it is a segment, and a complete line does not change."""

    def __init__(self, transcriber: Any, forget: Callable[[], None]) -> None:
        self._forget = forget
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
        """Free the stream and what the voice detector remembers of it; the transcript is already on its way."""
        self._stream.close()
        self._forget()

    def _progress(self, transcript: Any) -> Progress:
        lines = [(line.text.strip(), line.is_complete) for line in transcript.lines]
        complete = [text for text, is_complete in lines if is_complete]
        segments, self._completed = complete[self._completed :], len(complete)
        return Progress(
            segments=tuple(filter(None, segments)), hypothesis=" ".join(text for text, _ in lines if text)
        )


def _forgetter(transcriber: Any) -> Callable[[], None]:
    """Return what makes the library forget an utterance.

    All streams of a process share one voice detector, a recurrent network whose state is never reset (issue 229 of
    the library), so that where a segment starts, and at times what is heard in it, depends on what was spoken
    before. Silence does not clear it. The detector is made anew for the next stream when there is none, so the
    old one is destroyed; that takes 17 ms. Both symbols are those of the exact version that is required.
    """
    library = transcriber._lib
    try:
        detector = ctypes.c_void_p.in_dll(library, "_ZN21VoiceActivityDetector10silero_vadE")
        destroy = library["_ZN9SileroVadD1Ev"]
    except (AttributeError, ValueError):
        print("this build of moonshine-voice cannot be reset between utterances", file=sys.stderr)
        return lambda: None
    destroy.argtypes, destroy.restype = [ctypes.c_void_p], None

    def forget() -> None:
        old, detector.value = detector.value, None
        if old is not None:
            destroy(old)
        transcriber.create_stream().close()

    return forget


def _floats(pcm: bytes) -> list[float]:
    """Convert 16-bit little-endian samples to the numbers in [-1, 1) that the library takes."""
    return [sample / 32768 for sample in struct.unpack(f"<{len(pcm) // 2}h", pcm)]


def _read_wav(path: Path) -> tuple[AudioFormat, bytes]:
    with wave.open(str(path), "rb") as source:
        audio_format = AudioFormat(
            rate=source.getframerate(), width=source.getsampwidth(), channels=source.getnchannels()
        )
        return audio_format, source.readframes(int(WARM_UP_S * audio_format.rate))
