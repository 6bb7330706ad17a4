"""What a client reported, joined with what the stand-in recorded: the error of each moment, in milliseconds.

Client and stand-in are processes of one machine and read one monotonic clock. The stand-in notes a message right
after its write call has returned; a case is recognised by the SHA-256 of its audio or text, which nobody else has.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import msgspec

from sayagain.transports.pacing import NS_PER_MS

METRICS = ("ttft", "finalization", "ttfa", "pacing")
"""What errors are taken of; `pacing` is how late chunks of audio left."""


class Heard(msgspec.Struct):
    """What a client reported of one transcription, in nanoseconds of the shared clock.

    `key` is the SHA-256 of the audio's PCM; `partials` are their arrivals, `final` that of the last final, `ended`
    the instant at which the end of the stream had left, `left` when each chunk of audio left, `late` how late.
    """

    key: str
    partials: list[int]
    final: int
    ended: int
    left: list[int]
    late: list[int]


class Spoken(msgspec.Struct):
    """What a client reported of one synthesis: `asked` is when the text had left, `chunks` when audio arrived.

    `key` is the SHA-256 of the text.
    """

    key: str
    asked: int
    chunks: list[int]


class Reported(msgspec.Struct):
    """What a client reported of all its cases."""

    heard: list[Heard] = []
    spoken: list[Spoken] = []


class Errors(msgspec.Struct):
    """Reported minus true, in milliseconds, by metric; `lost` cases are not in it, because a moment is missing.

    Every partial counts as the first text that it could have been, and every chunk as the first audio.
    """

    ms: dict[str, list[float]]
    lost: int = 0


def errors(
    reported: Reported,
    record: Iterable[Mapping[str, Any]],
    counts: Callable[[int], bool] = lambda instant_ns: True,
) -> Errors:
    """Return the error of every moment that a client reported, the stand-in recorded, and `counts` accepts."""
    known = _Known(record)
    found = Errors({metric: [] for metric in METRICS})

    def note(metric: str, instants: Iterable[int], late_ns: Iterable[int]) -> None:
        pairs = zip(instants, late_ns, strict=True)
        found.ms[metric] += [late / NS_PER_MS for instant, late in pairs if counts(instant)]

    for heard in reported.heard:
        truth = known.heard.get(heard.key)
        if truth is None or truth.end is None or len(truth.partials) != len(heard.partials) or not truth.finals:
            found.lost += 1
            continue
        note("ttft", heard.partials, differences(heard.partials, truth.partials))
        note("finalization", [heard.final], [(heard.final - heard.ended) - (truth.finals[-1] - truth.end)])
        note("pacing", heard.left, heard.late)
    for spoken in reported.spoken:
        truth = known.spoken.get(spoken.key)
        if truth is None or truth.asked is None or len(truth.chunks) != len(spoken.chunks):
            found.lost += 1
            continue
        sooner = spoken.asked - truth.asked
        late_ns = (late - sooner for late in differences(spoken.chunks, truth.chunks))
        note("ttfa", spoken.chunks, late_ns)
    return found


def differences(seen: Iterable[int], true: Iterable[int]) -> list[int]:
    """Return how much later each moment was seen than it was."""
    return [one - other for one, other in zip(seen, true, strict=True)]


class _Connection:
    """What the stand-in did on one connection, and when."""

    def __init__(self) -> None:
        self.partials: list[int] = []
        self.finals: list[int] = []
        self.chunks: list[int] = []
        self.asked: int | None = None
        self.end: int | None = None


class _Known:
    """The stand-in's record, by what was said on each connection."""

    def __init__(self, record: Iterable[Mapping[str, Any]]) -> None:
        self.heard: dict[str, _Connection] = {}
        self.spoken: dict[str, _Connection] = {}
        self._connections: dict[int, _Connection] = {}
        for line in record:
            self._take(line)

    def _take(self, line: Mapping[str, Any]) -> None:
        connection = self._connections.setdefault(line["connection"], _Connection())
        at_ns = line["t_ns"]
        match line["event"]:
            case "partial_out":
                connection.partials.append(at_ns)
            case "final_out":
                connection.finals.append(at_ns)
            case "audio_out":
                connection.chunks.append(at_ns)
            case "end_in" if "audio_sha256" in line:
                connection.end = at_ns
                self.heard[line["audio_sha256"]] = connection
            case "text_in":
                connection.asked = at_ns
                self.spoken[line["sha256"]] = connection
