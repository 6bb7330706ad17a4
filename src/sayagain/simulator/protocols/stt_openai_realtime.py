"""OpenAI realtime transcription sessions (GA). Source: openai 3.57.0 (`types.realtime`)."""

import base64
import itertools
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import msgspec

from sayagain.simulator.faults import ErrorKind
from sayagain.simulator.protocols.base import (
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
)

CODES = {
    ErrorKind.AUTH: ("invalid_request_error", "invalid_api_key"),
    ErrorKind.QUOTA: ("insufficient_quota", "insufficient_quota"),
    ErrorKind.RATE_LIMITED: ("rate_limit_error", "rate_limit_exceeded"),
    ErrorKind.CONCURRENCY: ("rate_limit_error", "concurrency_limit_exceeded"),
    ErrorKind.BAD_REQUEST: ("invalid_request_error", "invalid_value"),
    ErrorKind.SESSION_EXPIRED: ("invalid_request_error", "session_expired"),
    ErrorKind.SERVER_ERROR: ("server_error", "server_error"),
}

TRANSCRIPTION = "conversation.item.input_audio_transcription"


class _Append(msgspec.Struct):
    """What matters of the most frequent message."""

    type: str
    audio: str = ""


_append = msgspec.json.Decoder(_Append)


class OpenAiRealtime(SttDialect):
    """`delta`s are increments, `completed` is a whole item; a `commit` ends an item, nothing ends a session."""

    path = "/v1/realtime"
    closes = False
    impossible: ClassVar[Mapping[str, str]] = {"empty_done": "it has no message that says that all is done"}

    def __init__(self, opening: Opening) -> None:
        super().__init__(opening)
        self._events = itertools.count(1)
        self._session: dict[str, Any] = {"type": "transcription", "id": f"sess_{self.id}"}
        self._told: dict[int, str] = {}
        self._committed: set[int] = set()

    @property
    def rate(self) -> int:
        """The one rate there is."""
        return 24_000

    def greeting(self) -> Frames:
        """Return `session.created`."""
        return (self._event("session.created", session=self._session),)

    def hear(self, message: Frame) -> Heard:
        """Take audio as base64, configuration, and commits."""
        try:
            event = _append.decode(message)
        except (msgspec.MsgspecError, ValueError):
            raise ClientError(ErrorKind.BAD_REQUEST, "a JSON event was expected") from None
        match event.type:
            case "input_audio_buffer.append":
                try:
                    return Heard(pcm=base64.b64decode(event.audio, validate=True))
                except ValueError:
                    raise ClientError(ErrorKind.BAD_REQUEST, "audio is not base64") from None
            case "input_audio_buffer.commit":
                return FLUSH
            case "session.update":
                return Heard(replies=(self._updated(decode(message)),))
            case _:
                return NOTHING

    def partial(self, segment: Segment) -> Frames:
        """Return what is new since the last delta of the item."""
        new = segment.text.removeprefix(self._told.get(segment.index, ""))
        self._told[segment.index] = segment.text
        if not new:
            return ()
        return (self._event(f"{TRANSCRIPTION}.delta", item_id=self._item(segment), content_index=0, delta=new),)

    def final(self, segment: Segment) -> Frames:
        """Return the commit, what is new, and the whole item; a final said again repeats only the last."""
        completed = self._event(
            f"{TRANSCRIPTION}.completed",
            item_id=self._item(segment),
            content_index=0,
            transcript=segment.text,
            usage={"type": "duration", "seconds": round(segment.end_s - segment.start_s, 3)},
        )
        if segment.index in self._committed:
            return (completed,)
        self._committed.add(segment.index)
        committed = self._event("input_audio_buffer.committed", previous_item_id=None, item_id=self._item(segment))
        return (committed, *self.partial(segment), completed)

    def repeated(self, segments: Sequence[Segment]) -> Frames:
        """Return `conversation.item.done` for each item, which carries its transcript again."""
        return tuple(
            self._event(
                "conversation.item.done",
                previous_item_id=None,
                item={
                    "id": self._item(segment),
                    "type": "message",
                    "role": "user",
                    "status": "completed",
                    "content": [{"type": "input_audio", "transcript": segment.text}],
                },
            )
            for segment in segments
        )

    def report(self, error: ErrorKind, message: str) -> Report:
        """Return an `error` event; the sentences of an account's limits are followed by a close."""
        kind, code = CODES[error]
        details = {"type": kind, "code": code, "message": message, "param": None, "event_id": None}
        return Report((self._event("error", error=details),), 1000 if error is ErrorKind.SESSION_EXPIRED else 1008)

    def _updated(self, event: Mapping[str, Any]) -> str:
        asked = event.get("session")
        if not isinstance(asked, dict) or asked.get("type") != "transcription":
            raise ClientError(ErrorKind.BAD_REQUEST, "session.type must be 'transcription'")
        session = msgspec.convert(asked, dict[str, Any]) | {"id": self._session["id"]}
        if self.opening.model is not None:
            session["audio"] = {"input": {"transcription": {"model": self.opening.model}}}
        self._session = session
        return self._event("session.updated", session=session)

    def _item(self, segment: Segment) -> str:
        return f"item_{self.id[:8]}_{segment.index}"

    def _event(self, kind: str, **more: Any) -> str:
        return encode({"type": kind, "event_id": f"event_{next(self._events)}"} | more)
