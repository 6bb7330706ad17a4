"""When a transcript came: ttft, ttfs, finalization, audio_to_final, and rtfx for batch targets.

All are differences of two moments of one monotonic clock, in milliseconds, and none is clamped: a final that
comes before the speaker has finished gives a negative number.
"""

from collections.abc import Mapping

from sayagain.metrics.definitions import CannotMeasureError, Computation, Measurement
from sayagain.metrics.landmarks import NS_PER_MS, Landmarks
from sayagain.records import Item, SpeechSpan, Trace

_MS_PER_S = 1_000
_NO_SPEECH = "nothing is said in the item"


def ttft(item: Item, trace: Trace, landmarks: Landmarks) -> Measurement:
    """Time to first text: first transcript event with text - (t0 + start of speech), in ms.

    The detail keeps the same moment counted from the start of the audio, and whether it was a partial (1) or a
    final (0). An answer without any text has no such moment, and an item without speech no zero point: no value.
    """
    started_ns = _started_ns(landmarks)
    if landmarks.first_text_ns is None:
        return Measurement(None, "the answer holds no text")
    speech = _speech(item)
    if speech is None:
        return Measurement(None, _NO_SPEECH)
    since_audio_start_ms = (landmarks.first_text_ns - started_ns) / NS_PER_MS
    detail = {
        "since_audio_start_ms": since_audio_start_ms,
        "partial": float(landmarks.first_text_is_partial),
    }
    return Measurement(since_audio_start_ms - speech.start_s * _MS_PER_S, detail=detail)


def ttfs(item: Item, trace: Trace, landmarks: Landmarks) -> Measurement:
    """Time to final segment: last final segment - (t0 + end of speech), in ms, signed."""
    since_audio_start_ms = (_last_final_ns(landmarks) - _started_ns(landmarks)) / NS_PER_MS
    speech = _speech(item)
    if speech is None:
        return Measurement(None, _NO_SPEECH)
    return Measurement(since_audio_start_ms - speech.end_s * _MS_PER_S)


def finalization(item: Item, trace: Trace, landmarks: Landmarks) -> Measurement:
    """Last final segment - end-of-stream message sent, in ms, signed."""
    if landmarks.end_sent_ns is None:
        raise CannotMeasureError("the trace has no end-of-stream message")
    return Measurement((_last_final_ns(landmarks) - landmarks.end_sent_ns) / NS_PER_MS)


def audio_to_final(item: Item, trace: Trace, landmarks: Landmarks) -> Measurement:
    """Last final segment - start of the audio stream, in ms."""
    return Measurement((_last_final_ns(landmarks) - _started_ns(landmarks)) / NS_PER_MS)


def rtfx(item: Item, trace: Trace, landmarks: Landmarks) -> Measurement:
    """Audio duration ÷ (last final segment - start of upload): how many times faster than real time.

    The detail keeps the time until the upload was complete and the time after it, in ms.
    """
    if not item.duration_s or item.duration_s < 0:
        raise CannotMeasureError("the item has no audio duration")
    started_ns, final_ns = _started_ns(landmarks), _last_final_ns(landmarks)
    if final_ns <= started_ns:
        raise CannotMeasureError("the last final segment is not after the start of the upload")
    detail: dict[str, float] = {"audio_ms": item.duration_s * _MS_PER_S}
    if landmarks.end_sent_ns is not None:
        detail["upload_ms"] = (landmarks.end_sent_ns - started_ns) / NS_PER_MS
        detail["after_upload_ms"] = (final_ns - landmarks.end_sent_ns) / NS_PER_MS
    return Measurement(item.duration_s * _MS_PER_S * NS_PER_MS / (final_ns - started_ns), detail=detail)


def _started_ns(landmarks: Landmarks) -> int:
    if landmarks.started_ns is None:
        raise CannotMeasureError("the trace has no start of the audio stream")
    return landmarks.started_ns


def _last_final_ns(landmarks: Landmarks) -> int:
    if landmarks.last_final_ns is None:
        raise CannotMeasureError("the answer holds no final segment")
    return landmarks.last_final_ns


def _speech(item: Item) -> SpeechSpan | None:
    """Return where speech is; None for an item in which nothing is said, an error when it is merely not known."""
    if item.speech is None and item.text.strip():
        raise CannotMeasureError("the item does not say where its speech starts and ends")
    return item.speech


COMPUTATIONS: Mapping[str, Computation] = {
    "ttft": ttft,
    "ttfs": ttfs,
    "finalization": finalization,
    "audio_to_final": audio_to_final,
    "rtfx": rtfx,
}
"""The metrics of this family by name."""
