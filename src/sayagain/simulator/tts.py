"""The conversation of a speaking stream, the same for every provider: gather text, send audio at its deadlines."""

from collections import deque

from sayagain.simulator import faults
from sayagain.simulator.conversation import Conversation
from sayagain.simulator.delays import draw, sleep_until
from sayagain.simulator.faults import Moment
from sayagain.simulator.plan import Plan
from sayagain.simulator.protocols.base import Frame, TtsDialect
from sayagain.simulator.scenario import Tts
from sayagain.simulator.texts import text_digest
from sayagain.simulator.utterance import Audio, audio_for
from sayagain.simulator.wire import MALFORMED, Wire, padded


class TtsConversation(Conversation):
    """One connection of a speaking endpoint; texts that are complete are answered one after the other."""

    def __init__(self, wire: Wire, dialect: TtsDialect, plan: Plan, behaviour: Tts) -> None:
        super().__init__(wire, dialect, plan)
        self._dialect = dialect
        self._behaviour = behaviour
        self._gathered = ""
        self._marks: deque[tuple[str | None, float]] = deque()
        """What is to be spoken, or None for the end of the session, and when it was asked for."""

    async def _take(self, message: Frame, now: float) -> bool:
        said = self._dialect.hear(message)
        for frame in said.replies:
            await self._wire.send(frame)
        self._gathered += said.text
        if said.speak and self._gathered.strip():
            self._wire.record.note("text_in", characters=len(self._gathered), sha256=text_digest(self._gathered))
            self._marks.append((self._gathered, now))
            self._gathered = ""
            self._alarm.ring()
        if said.end:
            self._wire.record.note("end_in")
            self._marks.append((None, now))
            self._alarm.ring()
        return False

    async def _speak(self) -> None:
        while True:
            while not self._marks:
                await self._alarm.until(None)
            text, asked = self._marks.popleft()
            if text is None:
                await self._end()
                return
            audio = audio_for(text, self._dialect.rate, self._behaviour, self._plan)
            if not await self._send(audio, asked):
                return

    async def _send(self, audio: Audio, asked: float) -> bool:
        """Send the audio of a text; return False when a fault ended it."""
        due = asked + draw(self._behaviour.first_audio, self._plan.random("first_audio"))
        interval = self._plan.random("chunks")
        struck = min(1, audio.chunks - 1)
        for index, chunk in enumerate(audio):
            await sleep_until(due)
            due += draw(self._behaviour.chunk_interval, interval)
            if await self._ended_by_fault(index, chunk, index == struck):
                return False
            if index == struck and self._plan.suffers(faults.Malformed):
                self._note_fault()
                await self._wire.send(MALFORMED, "malformed_out")
                continue
            last = index == audio.chunks - 1
            for frame in self._dialect.audio(chunk, index, last):
                sent = self._enlarged(frame) if index == 0 else frame
                await self._wire.send(sent, "audio_out", index=index, audio_bytes=len(chunk))
        if not audio.chunks:
            await sleep_until(due)
        if self._plan.strikes_at(Moment.END):
            await self._wire.strike(self._dialect, self._plan.fault)
            return False
        if self._plan.suffers(faults.NoAudio, faults.Truncated, faults.OddChunks, faults.StrayWavHeader):
            self._note_fault()
        self._wire.record.note(
            "spoken",
            chunks=audio.chunks,
            audio_bytes=len(audio.content),
            audio_sha256=audio.sha256,
            leading_silence_ms=self._behaviour.leading_silence_ms,
        )
        for frame in self._dialect.spoken():
            await self._wire.send(frame, "spoken_out")
        return True

    async def _ended_by_fault(self, index: int, chunk: bytes, struck: bool) -> bool:
        fault = self._plan.fault
        if struck and self._plan.strikes_at(Moment.AUDIO):
            await self._wire.strike(self._dialect, fault)
            return True
        if struck and isinstance(fault, faults.Cut):
            self._note_fault()
            self._wire.cut(self._dialect.audio(chunk, index, False)[0])
            return True
        if isinstance(fault, faults.Stall) and index == fault.after_chunks:
            self._note_fault()
            return True
        return False

    def _enlarged(self, frame: Frame) -> Frame:
        if not isinstance(self._plan.fault, faults.Oversized):
            return frame
        self._note_fault()
        return padded(frame, self._plan.fault.bytes)

    async def _end(self) -> None:
        for frame in self._dialect.done():
            await self._wire.send(frame, "done_out")
        if self._dialect.closes:
            await self._wire.close()
