"""The moments of a trace that metrics are counted from, found in one pass over its events."""

from dataclasses import dataclass, field

from sayagain.records import EventKind, Trace

NS_PER_MS = 1_000_000


@dataclass(slots=True)
class Landmarks:
    """Moments in nanoseconds on the trace's clock; one that did not happen is None.

    `last_final_ns` is the last final segment that holds text, or the last final segment when none does: an empty
    message after the last words adds nothing that a user waits for. `audio` holds arrival and size in bytes of
    every non-empty audio chunk, in order of arrival.
    """

    started_ns: int | None = None
    first_text_ns: int | None = None
    first_text_is_partial: bool = False
    last_final_ns: int | None = None
    end_sent_ns: int | None = None
    text_sent_ns: int | None = None
    audio: list[tuple[int, int]] = field(default_factory=list)

    @classmethod
    def of(cls, trace: Trace) -> "Landmarks":
        """Read the landmarks off a trace; transcript events need not be in the order of their times."""
        found = cls()
        last_blank_ns: int | None = None
        for event in trace.events:
            kind = event.kind
            if kind is EventKind.AUDIO_SENT:
                continue
            if kind is EventKind.AUDIO_RECEIVED:
                if event.size:
                    found.audio.append((event.t_ns, event.size))
            elif kind is EventKind.PARTIAL or kind is EventKind.FINAL:
                is_final = kind is EventKind.FINAL
                if event.text and event.text.strip():
                    found._note_text(event.t_ns, is_final)
                elif is_final:
                    last_blank_ns = _latest(last_blank_ns, event.t_ns)
            elif kind is EventKind.STREAM_STARTED:
                if found.started_ns is None:
                    found.started_ns = event.t_ns
            elif kind is EventKind.END_SENT:
                found.end_sent_ns = _latest(found.end_sent_ns, event.t_ns)
            elif kind is EventKind.TEXT_SENT:
                found.text_sent_ns = _latest(found.text_sent_ns, event.t_ns)
        if found.last_final_ns is None:
            found.last_final_ns = last_blank_ns
        return found

    def _note_text(self, t_ns: int, is_final: bool) -> None:
        if self.first_text_ns is None or t_ns < self.first_text_ns:
            self.first_text_ns = t_ns
            self.first_text_is_partial = not is_final
        if is_final:
            self.last_final_ns = _latest(self.last_final_ns, t_ns)


def _latest(known_ns: int | None, t_ns: int) -> int:
    return t_ns if known_ns is None or t_ns > known_ns else known_ns
