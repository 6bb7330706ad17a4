"""Deepgram Flux v2, turn by turn. Source: deepgram-sdk 7.17.0 (`listen.v2`).

There is no Finalize: a turn ends when the provider hears that it has ended, on `ForceEndTurn`, or on
`CloseStream`. The stand-in hears an end in digital silence after all of a known utterance, or after any sound if
the audio is unknown.
"""

from collections.abc import Mapping
from typing import Any, ClassVar

from sayagain.simulator.faults import ErrorKind
from sayagain.simulator.protocols.base import (
    END,
    FLUSH,
    NOTHING,
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
from sayagain.simulator.protocols.stt_deepgram import deepgram_refusal

SILENCE_S = 0.2
"""Digital silence that ends a turn."""

UPDATE_S = 0.25
"""Audio after which an `Update` comes, also of silence (documentation: the Flux state machine)."""


class DeepgramFlux(SttDialect):
    """`Connected`, then `TurnInfo` events; each turn ends with `EndOfTurn`."""

    path = "/v2/listen"
    impossible: ClassVar[Mapping[str, str]] = {
        "done_repeats": "it has no message that says that all is done",
        "empty_done": "it has no message that says that all is done",
        "wrong_model": "it names no model",
    }

    def __init__(self, opening: Opening) -> None:
        super().__init__(opening)
        self._sequence = -1
        self._begun: set[int] = set()
        self._sound = False
        self._quiet = 0
        self._trigger = "model"
        self._turns = 0
        self._in_turn = False
        self._heard_bytes = 0
        self._told_bytes = 0

    @classmethod
    def refusal(cls, status: int, message: str) -> tuple[Mapping[str, str], Any]:
        """Return the error in the body and in `dg-error`."""
        return deepgram_refusal(status, message, "00000000-0000-4000-8000-000000000000")

    def greeting(self) -> Frames:
        """Return `Connected`, message 0."""
        return (self._message("Connected"),)

    def hear(self, message: Frame) -> Heard:
        """Audio is binary; the rest is told by its type."""
        if isinstance(message, bytes):
            return Heard(pcm=message, replies=self._updates(message)) if message else END
        match decode(message).get("type"):
            case "ForceEndTurn":
                self._trigger = "manual"
                return FLUSH
            case "CloseStream":
                return END
            case _:
                return NOTHING

    def overheard(self, pcm: bytes) -> bool:
        """A turn ends once, after enough silence that follows the utterance."""
        if pcm.strip(b"\0"):
            self._sound, self._quiet = True, 0
            return False
        before, self._quiet = self._quiet, self._quiet + len(pcm)
        enough = int(SILENCE_S * 2 * self.rate)
        known = self.ear.utterance() is not None
        ended = self.ear.complete and self.ear.size - len(pcm) >= enough if known else self._sound
        return ended and before < enough <= self._quiet

    def partial(self, segment: Segment) -> Frames:
        """The first event of a turn says that it has begun."""
        event = "Update" if segment.index in self._begun else "StartOfTurn"
        self._begun.add(segment.index)
        return (self._turn(segment, event),)

    def final(self, segment: Segment) -> Frames:
        """Return the end of the turn and what brought it about."""
        self._in_turn, self._turns = False, segment.index + 1
        return (self._turn(segment, "EndOfTurn", trigger=self._trigger),)

    def report(self, error: ErrorKind, message: str) -> Report:
        """Return a fatal `Error` and the close that follows."""
        code = "INTERNAL_SERVER_ERROR" if error is ErrorKind.SERVER_ERROR else error.upper()
        close = 1011 if error is ErrorKind.SERVER_ERROR else 1008
        return Report((self._message("Error", code=code, description=message),), close, code)

    def _updates(self, pcm: bytes) -> Frames:
        """Return the `Update` that is due while no turn goes on: so much was heard, and nothing in it."""
        self._heard_bytes += len(pcm)
        self._in_turn = self._in_turn or bool(pcm.strip(b"\0"))
        if self._in_turn or self._heard_bytes - self._told_bytes < int(UPDATE_S * 2 * self.rate):
            return ()
        start, self._told_bytes = self._told_bytes, self._heard_bytes
        heard = Segment(self._turns, "", start / (2 * self.rate), self._heard_bytes / (2 * self.rate))
        return (self._turn(heard, "Update"),)

    def _turn(self, segment: Segment, event: str, **more: Any) -> str:
        return self._message(
            "TurnInfo",
            event=event,
            turn_index=segment.index,
            audio_window_start=segment.start_s,
            audio_window_end=segment.end_s,
            transcript=segment.text,
            words=[
                {"word": word, "confidence": 0.99, "start": start, "end": end}
                for word, start, end in words(segment)
            ],
            end_of_turn_confidence=0.95 if event == "EndOfTurn" else 0.05,
            **more,
        )

    def _message(self, kind: str, **more: Any) -> str:
        self._sequence += 1
        return encode({"type": kind, "request_id": self.id, "sequence_id": self._sequence} | more)
