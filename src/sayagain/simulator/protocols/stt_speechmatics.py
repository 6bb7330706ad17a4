"""Speechmatics realtime v2. Source: speechmatics-rt 1.2.1; the close codes are from its documentation."""

from collections.abc import Mapping
from typing import Any, ClassVar

from sayagain.simulator.faults import ErrorKind
from sayagain.simulator.protocols.base import (
    END,
    FLUSH,
    NOTHING,
    ClientError,
    Frame,
    Frames,
    Heard,
    Opening,
    Report,
    Segment,
    SttDialect,
    decode,
    encode,
    words,
)

ERRORS = {
    ErrorKind.AUTH: ("not_authorised", 4001),
    ErrorKind.QUOTA: ("timelimit_exceeded", 4006),
    ErrorKind.RATE_LIMITED: ("quota_exceeded", 4005),
    ErrorKind.CONCURRENCY: ("quota_exceeded", 4005),
    ErrorKind.BAD_REQUEST: ("invalid_message", 1003),
    ErrorKind.SESSION_EXPIRED: ("session_timeout", 1008),
    ErrorKind.SERVER_ERROR: ("job_error", 4013),
}


class Speechmatics(SttDialect):
    """`StartRecognition` opens, each chunk of audio is acknowledged, `EndOfStream` ends.

    The transcript of a final ends with a space of its own: finals are joined as they are.
    """

    path = "/v2"
    client_first = True
    key_query = ("jwt",)
    impossible: ClassVar[Mapping[str, str]] = {
        "done_repeats": "its EndOfTranscript message has no text",
        "wrong_model": "it names no model",
    }

    def __init__(self, opening: Opening) -> None:
        super().__init__(opening)
        self._rate = 0
        self._partials = False
        self._chunks = 0

    @property
    def rate(self) -> int:
        """The rate of `StartRecognition`."""
        return self._rate or 16_000

    def hear(self, message: Frame) -> Heard:
        """Audio is binary and comes after `StartRecognition`."""
        if isinstance(message, bytes):
            if not self._rate:
                raise ClientError(ErrorKind.BAD_REQUEST, "audio came before StartRecognition")
            self._chunks += 1
            return Heard(pcm=message, replies=(f'{{"message":"AudioAdded","seq_no":{self._chunks}}}',))
        told = decode(message)
        match told.get("message"):
            case "StartRecognition":
                return Heard(replies=(self._start(told),))
            case "ForceEndOfUtterance":
                return FLUSH
            case "EndOfStream":
                # Any number will do: the SDK sends that of the last acknowledgement it happens to have seen.
                if not isinstance(told.get("last_seq_no"), int):
                    raise ClientError(ErrorKind.BAD_REQUEST, "last_seq_no is missing")
                return END
            case _:
                return NOTHING

    def partial(self, segment: Segment) -> Frames:
        """Return a partial if partials were asked for."""
        return (self._transcript("AddPartialTranscript", segment),) if self._partials else ()

    def final(self, segment: Segment) -> Frames:
        """Return `AddTranscript`."""
        return (self._transcript("AddTranscript", segment),)

    def done(self) -> Frames:
        """Return `EndOfTranscript`."""
        return (encode({"message": "EndOfTranscript"}),)

    def report(self, error: ErrorKind, message: str) -> Report:
        """Return an `Error` and a close."""
        kind, code = ERRORS[error]
        return Report((encode({"message": "Error", "type": kind, "reason": message}),), code, kind)

    def _start(self, told: Mapping[str, Any]) -> str:
        audio, config = told.get("audio_format"), told.get("transcription_config")
        if not isinstance(audio, dict) or not isinstance(config, dict) or "language" not in config:
            raise ClientError(ErrorKind.BAD_REQUEST, "audio_format and transcription_config.language are needed")
        rate = audio.get("sample_rate")
        if audio.get("type") != "raw" or audio.get("encoding") != "pcm_s16le" or not isinstance(rate, int):
            raise ClientError(ErrorKind.BAD_REQUEST, "the stand-in takes raw pcm_s16le with a sample_rate")
        self._rate = rate
        self._partials = config.get("enable_partials") is True
        info = {"language_description": "English", "word_delimiter": " ", "writing_direction": "left-to-right"}
        return encode({"message": "RecognitionStarted", "id": self.id, "language_pack_info": info})

    def _transcript(self, kind: str, segment: Segment) -> str:
        results = [
            {
                "type": "word",
                "start_time": start,
                "end_time": end,
                "alternatives": [{"content": word, "confidence": 0.99, "language": "en"}],
            }
            for word, start, end in words(segment)
        ]
        metadata = {
            "start_time": segment.start_s,
            "end_time": segment.end_s,
            "transcript": f"{segment.text} " if segment.text else "",
        }
        return encode({"message": kind, "format": "2.9", "metadata": metadata, "results": results})
