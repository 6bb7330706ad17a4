"""What the conversations of both directions share: a listener, a speaker, and how they end together."""

import asyncio
from abc import ABC, abstractmethod
from contextlib import suppress

from sayagain.simulator import faults
from sayagain.simulator.delays import Alarm
from sayagain.simulator.faults import Moment
from sayagain.simulator.plan import Plan
from sayagain.simulator.protocols.base import ClientError, Frame, StreamDialect
from sayagain.simulator.wire import Wire


class Conversation(ABC):
    """One connection: a listener takes what arrives, a speaker says what is due, at absolute deadlines."""

    def __init__(self, wire: Wire, dialect: StreamDialect, plan: Plan) -> None:
        self._wire = wire
        self._stream = dialect
        self._plan = plan
        self._loop = asyncio.get_running_loop()
        self._alarm = Alarm()

    async def run(self) -> None:
        """Hold the conversation until one side ends it."""
        if self._plan.suffers(faults.Silence):
            self._note_fault()
            while await self._wire.receive() is not None:
                pass
            return
        if self._plan.strikes_at(Moment.OPENING):
            if self._stream.client_first:
                await self._wire.receive()
            await self._wire.strike(self._stream, self._plan.fault)
            return
        for frame in self._stream.greeting():
            await self._wire.send(frame, "greeting_out")
        if self._plan.suffers(faults.WrongModel):
            self._note_fault()  # a client that minds leaves at the first message that names the model
        speaker = asyncio.create_task(self._speak())
        speaker.add_done_callback(self._give_up)
        try:
            await self._listen(speaker)
            if self._wire.closing and not speaker.done():
                await speaker
        finally:
            speaker.cancel()
            with suppress(asyncio.CancelledError, ConnectionError):
                await speaker

    @abstractmethod
    async def _speak(self) -> None:
        """Say everything that is due, until there is nothing more to say."""

    @abstractmethod
    async def _take(self, message: Frame, now: float) -> bool:
        """Take a message that arrived at `now`; return whether a fault is to strike at once.

        Raises:
            ClientError: The provider would refuse the message.
        """

    async def _listen(self, speaker: "asyncio.Task[None]") -> None:
        while (message := await self._wire.receive()) is not None:
            try:
                struck = await self._take(message, self._loop.time())
            except ClientError as error:
                speaker.cancel()
                self._wire.record.note("client_error", error=error.kind, message=str(error))
                await self._wire.report(self._stream, error.kind, str(error))
                return
            if struck:
                speaker.cancel()
                await self._wire.strike(self._stream, self._plan.fault)
                return

    def _give_up(self, speaker: "asyncio.Task[None]") -> None:
        """End the connection when the speaker failed, so that the listener does not wait for ever."""
        if not speaker.cancelled() and speaker.exception() is not None:
            self._wire.reset()

    def _note_fault(self) -> None:
        if self._plan.fault is not None:
            self._wire.record.note("fault", fault=faults.name(self._plan.fault))
