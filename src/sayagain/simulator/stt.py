"""The conversation of a transcribing stream, the same for every provider: listen, say partials, say finals."""

import time
from collections import deque
from collections.abc import Iterable
from typing import Any

from sayagain.simulator import faults
from sayagain.simulator.conversation import Conversation
from sayagain.simulator.delays import draw, sleep_until
from sayagain.simulator.faults import Moment
from sayagain.simulator.plan import Plan
from sayagain.simulator.protocols.base import Frame, Segment, SttDialect
from sayagain.simulator.scenario import Stt
from sayagain.simulator.texts import EMPTY, Ear, Garbled, Utterance, garbled, text_digest
from sayagain.simulator.wire import MALFORMED, Wire, padded

UNSETTLED = (faults.NoFinal, faults.EmptyFinal, faults.EmptyDone, faults.OnlyPartials)
"""The faults with which no segment becomes final before its time."""


class SttConversation(Conversation):
    """One connection of a transcribing endpoint."""

    def __init__(self, wire: Wire, dialect: SttDialect, plan: Plan, behaviour: Stt) -> None:
        super().__init__(wire, dialect, plan)
        self._dialect = dialect
        self._behaviour = behaviour
        self._marks: deque[tuple[bool, float]] = deque()
        self._first_audio: float | None = None
        self._last_audio_ns = 0
        self._shown = 0
        self._settled = 0
        self._segments: list[Segment] = []
        self._altered = False
        self._known: Utterance | None = None
        self._said: Garbled | None = None
        self._said_words: list[str] = []

    async def _take(self, message: Frame, now: float) -> bool:
        heard = self._dialect.hear(message)
        for frame in heard.replies:
            await self._wire.send(frame)
        if heard.pcm:
            self._listen_to(heard.pcm, now)
            if self._struck_by_now():
                return True
        if heard.flush or heard.end:
            self._mark(heard.end, now)
        return False

    def _listen_to(self, pcm: bytes, now: float) -> None:
        self._last_audio_ns = time.perf_counter_ns()
        if self._first_audio is None:
            self._first_audio = now
            self._dialect.ear = Ear(self._plan.library.shelves.get(self._dialect.rate, EMPTY))
            self._wire.record.note("first_audio_in", self._last_audio_ns, size=len(pcm))
            self._alarm.ring()
        self._dialect.ear.hear(pcm)
        if self._dialect.overheard(pcm):
            self._mark(False, now)

    def _struck_by_now(self) -> bool:
        fault = self._plan.fault
        return (
            isinstance(fault, faults.Timed)
            and fault.at is Moment.AUDIO
            and self._dialect.heard_s * 1000 >= fault.after_ms
        )

    def _mark(self, end: bool, now: float) -> None:
        """Note that the client, or the provider's own ear, wants what is pending."""
        ear = self._dialect.ear
        facts: dict[str, Any] = {"audio_bytes": ear.size, "audio_chunks": ear.chunks, "audio_sha256": ear.sha256}
        self._wire.record.note("end_in" if end else "flush_in", last_audio_ns=self._last_audio_ns, **facts)
        self._marks.append((end, now))
        self._alarm.ring()

    async def _speak(self) -> None:
        while self._first_audio is None and not self._marks:
            await self._alarm.until(None)
        interval = self._plan.random("partials")
        due = (self._first_audio or 0.0) + draw(self._behaviour.first_partial, interval)
        while True:
            while not self._marks:
                more = self._shown < len(self._words())
                rung = await self._alarm.until(due if more else None)
                if more and not rung:
                    await self._progress()
                    due += draw(self._behaviour.partial_interval, interval)
            if await self._finish(*self._marks.popleft()):
                return

    async def _progress(self) -> None:
        """Say some more words: as a partial, or as a final when a segment is full."""
        words = self._words()
        self._shown = min(self._shown + self._behaviour.partial_words, len(words))
        length = self._behaviour.segment_words
        if length is not None and self._shown - self._settled >= length and not self._plan.suffers(*UNSETTLED):
            await self._settle(words[self._settled : self._settled + length], flushed=False)
            return
        segment = self._segment(words[self._settled : self._shown], flushed=False)
        for frame in self._dialect.partial(segment):
            await self._wire.send(frame, "partial_out", segment=segment.index, words=self._shown - self._settled)

    async def _finish(self, end: bool, marked: float) -> bool:
        """Bring out what is pending; return whether the speaker has nothing more to say, ever."""
        words = self._words() if self._first_audio is not None else []
        if self._settled < len(words):
            await sleep_until(marked + draw(self._behaviour.finalization, self._plan.random("finalization")))
            if await self._ended_by_fault():
                return True
            await self._finals(words)
            if self._wire.closing:
                return True
        elif (end or not self._dialect.closes) and await self._ended_by_fault():
            return True  # every segment was final before, and it is due all the same
        if not end:
            for frame in self._dialect.flushed():
                await self._wire.send(frame, "flushed_out")
            if not self._dialect.closes:
                await self._repeat()
            return False
        await self._repeat()
        for frame in self._dialect.done():
            await self._wire.send(frame, "done_out")
        if self._dialect.closes:
            await self._wire.close()
        return True

    async def _ended_by_fault(self) -> bool:
        fault = self._plan.fault
        if self._plan.strikes_at(Moment.END):
            await self._wire.strike(self._dialect, fault)
            return True
        if isinstance(fault, faults.NoFinal):
            self._wire.record.note("fault", fault="no_final")
            return True
        if isinstance(fault, faults.OnlyPartials):
            self._wire.record.note("fault", fault="only_partials")
            await self._wire.close()
            return True
        return False

    async def _finals(self, words: list[str]) -> None:
        if self._plan.suffers(faults.EmptyFinal, faults.EmptyDone):
            if self._plan.suffers(faults.EmptyFinal):
                await self._settle([], flushed=True)
            self._note_fault()
            self._settled = self._shown = len(words)
            return
        self._note_transcript()
        length = self._behaviour.segment_words or len(words)
        while self._settled < len(words) and not self._wire.closing:
            await self._settle(words[self._settled : self._settled + length], flushed=True)

    async def _settle(self, words: list[str], flushed: bool) -> None:
        """Say a final; it begins where the one before it ended."""
        segment = self._segment(words, flushed)
        self._segments.append(segment)
        self._settled += len(words)
        self._shown = max(self._shown, self._settled)
        frames = self._dialect.final(segment)
        if self._plan.suffers(faults.DuplicatedFinals):
            self._note_fault()
            frames = (*frames, *self._dialect.final(segment))
        await self._say(frames, segment)

    async def _say(self, frames: Iterable[Frame], segment: Segment) -> None:
        fault = self._plan.fault
        facts = {"segment": segment.index, "words": len(segment.text.split()), "sha256": text_digest(segment.text)}
        for frame in frames:
            if not self._altered and isinstance(fault, faults.Cut | faults.Malformed | faults.Oversized):
                self._altered = True
                self._note_fault()
                if isinstance(fault, faults.Cut):
                    self._wire.cut(frame)
                    return
                if isinstance(fault, faults.Malformed):
                    await self._wire.send(MALFORMED, "malformed_out")
                    continue
                await self._wire.send(padded(frame, fault.bytes), "final_out", **facts)
                continue
            await self._wire.send(frame, "final_out", **facts)

    async def _repeat(self) -> None:
        if self._plan.suffers(faults.DoneRepeats) and self._segments:
            self._note_fault()
            for frame in self._dialect.repeated(self._segments):
                await self._wire.send(frame, "repeated_out")

    def _segment(self, words: list[str], flushed: bool) -> Segment:
        """Place words in the audio in proportion to the text: a start can be an id, so no two are alike."""
        start = self._segments[-1].end_s if self._segments else 0.0
        said = (self._settled + len(words)) / max(len(self._words()), 1) if words else 1.0
        return Segment(len(self._segments), " ".join(words), start, self._dialect.heard_s * said, flushed)

    def _text(self) -> Garbled:
        """Return what is said here; it changes only when the audio becomes known."""
        known = self._dialect.ear.utterance()
        if self._said is None or known is not self._known:
            behaviour = self._behaviour
            if behaviour.script:
                text = behaviour.script[self._plan.ordinal % len(behaviour.script)]
            else:
                text = known.text if known is not None else behaviour.fallback
            self._known = known
            self._said = garbled(text, behaviour.word_error_rate, self._plan.seed)
            words = self._said.text.split()
            self._said_words = words[: (len(words) + 1) // 2] if self._plan.suffers(faults.Truncated) else words
        return self._said

    def _words(self) -> list[str]:
        self._text()
        return self._said_words

    def _note_transcript(self) -> None:
        said = self._text()
        facts = {"substitutions": said.substitutions, "deletions": said.deletions, "insertions": said.insertions}
        known = self._dialect.ear.utterance() is not None
        self._wire.record.note("transcript", words=len(said.text.split()), known=known, **facts)
        if self._plan.suffers(faults.Truncated):
            self._note_fault()
