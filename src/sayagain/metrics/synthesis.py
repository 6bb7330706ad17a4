"""When and how steadily synthesized audio came: ttfa, synthesis, rtf and stall.

Zero is the moment at which the whole text had been sent. Sizes and times come from the events of the trace, sound
from its audio. `is_silent` is here for whoever must tell an empty answer from a spoken one.
"""

from collections.abc import Mapping

from sayagain.metrics.audibility import first_audible_frame, is_silent
from sayagain.metrics.definitions import CannotMeasureError, Computation, Measurement
from sayagain.metrics.landmarks import NS_PER_MS, Landmarks
from sayagain.metrics.playback import Playback, play
from sayagain.records import AudioFormat, Item, Trace

__all__ = ["COMPUTATIONS", "audio_format_of", "is_silent", "rtf", "stall", "synthesis", "ttfa"]

_MS_PER_S = 1_000


def ttfa(item: Item, trace: Trace, landmarks: Landmarks) -> Measurement:
    """Time to first audio, in ms: text fully sent → a listener hears the first audible sample.

    The listener is that of `playback`. The detail keeps the parts: `arrival_ms` of the chunk that completes the
    sample, `first_chunk_ms` of the first chunk, both from the same zero, and the `leading_silence_ms` before the
    sample in the audio. See docs/decisions/0003-one-playback-model.md.
    """
    text_sent_ns = _text_sent_ns(landmarks)
    audio_format = audio_format_of(trace)
    playback = _playback(landmarks, audio_format)
    if sum(size for _, size in landmarks.audio) != len(trace.audio):
        raise CannotMeasureError("the audio is not as long as the chunks that were received")
    try:
        frame = first_audible_frame(trace.audio, audio_format)
    except ValueError as error:
        raise CannotMeasureError(str(error)) from error
    if frame is None:
        raise CannotMeasureError("nothing in the audio is audible")
    detail = {
        "arrival_ms": (playback.arrival_ns(frame) - text_sent_ns) / NS_PER_MS,
        "first_chunk_ms": (landmarks.audio[0][0] - text_sent_ns) / NS_PER_MS,
        "leading_silence_ms": frame * _MS_PER_S / audio_format.rate,
    }
    return Measurement((playback.heard_ns(frame) - text_sent_ns) / NS_PER_MS, detail=detail)


def synthesis(item: Item, trace: Trace, landmarks: Landmarks) -> Measurement:
    """Text fully sent → last byte of audio, in ms."""
    return Measurement(_synthesis_ms(landmarks))


def rtf(item: Item, trace: Trace, landmarks: Landmarks) -> Measurement:
    """Real-time factor: synthesis ÷ duration of the audio; below 1 is faster than it plays."""
    audio_format = audio_format_of(trace)
    audio_ms = _playback(landmarks, audio_format).frames * _MS_PER_S / audio_format.rate
    return Measurement(_synthesis_ms(landmarks) / audio_ms, detail={"audio_ms": audio_ms})


def stall(item: Item, trace: Trace, landmarks: Landmarks) -> Measurement:
    """Silence heard because the buffer ran dry, in ms; the detail has the number of stalls and the longest."""
    playback = _playback(landmarks, audio_format_of(trace))
    detail = {"count": float(playback.stalls), "longest_ms": playback.longest_stall_ns / NS_PER_MS}
    return Measurement(playback.stall_ns / NS_PER_MS, detail=detail)


def _text_sent_ns(landmarks: Landmarks) -> int:
    if landmarks.text_sent_ns is None:
        raise CannotMeasureError("the trace does not say when the text had been sent")
    return landmarks.text_sent_ns


def _synthesis_ms(landmarks: Landmarks) -> float:
    if not landmarks.audio:
        raise CannotMeasureError("the answer holds no audio")
    return (landmarks.audio[-1][0] - _text_sent_ns(landmarks)) / NS_PER_MS


def audio_format_of(trace: Trace) -> AudioFormat:
    """Return the format of a trace's audio; raise CannotMeasureError when it is unknown or makes no sense."""
    audio_format = trace.audio_format
    if audio_format is None or audio_format.rate <= 0 or audio_format.frame_bytes <= 0:
        raise CannotMeasureError("the format of the audio is unknown")
    return audio_format


def _playback(landmarks: Landmarks, audio_format: AudioFormat) -> Playback:
    playback = play(landmarks.audio, audio_format)
    if playback.frames == 0:
        raise CannotMeasureError("the answer holds no audio")
    return playback


COMPUTATIONS: Mapping[str, Computation] = {"ttfa": ttfa, "synthesis": synthesis, "rtf": rtf, "stall": stall}
"""The metrics of this family by name."""
