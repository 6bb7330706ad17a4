"""Feeding codecs: frame by frame, or in a conversation that the real code holds over a scripted channel."""

import asyncio
import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from sayagain.failures import CaseFailedError
from sayagain.providers.access import Access, Closed, HttpError
from sayagain.providers.catalog import entries
from sayagain.providers.codec import AudioChunk, Refused, Signal
from sayagain.providers.network import WebsocketStt
from sayagain.records import Failure, FailureKind, Item, Limits, Phase, Setting, Target
from sayagain.transports.base import Channel
from sayagain.transports.conversation import refusal, synthesize, transcribe
from sayagain.transports.pacing import now_ns
from sayagain.transports.tracing import Tracer

KEY = "not-a-real-key"
CLOSE = Closed(1000)

Said = dict[str, Any] | str | bytes | Closed
"""A frame for a codec; a dict stands for its JSON."""


def codec_of(key: str, **settings: Setting) -> Any:
    """Build the codec of a target of the catalog, with some settings changed."""
    (entry,) = (entry for entry in entries() if entry.target().key == key)
    target = entry.target()
    merged = Target(
        benchmark=target.benchmark,
        provider=target.provider,
        model=target.model,
        voice=target.voice,
        settings={**target.settings, **settings},
        secrets=target.secrets,
    )
    item = Item(id="one", text="ten of clubs", sha256="0" * 64)
    return entry.load_codec()(merged, item, Access(entry.base_url or "", dict.fromkeys(target.secrets, KEY)))


def frame(said: Said) -> str | bytes | Closed:
    """Return a frame as the websocket carries it."""
    return json.dumps(said) if isinstance(said, dict) else said


def heard(codec: Any, *said: Said) -> list[Signal]:
    """Feed frames, in order, and return everything they meant."""
    return [signal for one in said for signal in codec.receive(frame(one))]


def sent(frames: Iterable[Any]) -> list[Any]:
    """Return sent frames, with their JSON decoded where it is an object."""
    return [json.loads(one) if isinstance(one, str) and one.startswith("{") else one for one in frames]


def pcm_of(signals: Iterable[Signal]) -> bytes:
    """Return the audio among signals."""
    return b"".join(signal.pcm for signal in signals if isinstance(signal, AudioChunk))


def verdict(signals: Iterable[Signal]) -> tuple[FailureKind, str | None, bool]:
    """Return kind, code and whether to retry of the one refusal among signals, as the conversation reports it."""
    (refused,) = (signal for signal in signals if isinstance(signal, Refused))
    return judged(refused)


def judged(refused: Refused) -> tuple[FailureKind, str | None, bool]:
    """Return kind, code and whether to retry of a refusal."""
    failure = refusal(refused, Phase.RECEIVE).failure
    return failure.kind, failure.code, failure.retryable


def refused_upgrade(codec: Any, status: int, body: object) -> tuple[FailureKind, str | None, bool]:
    """Return the same for an HTTP answer in place of the upgrade."""
    return judged(codec.http_refusal(HttpError(status, json.dumps(body).encode())))


@dataclass
class Outcome:
    """How a conversation went: its failure, or None; what was sent; and what was heard until then."""

    failure: Failure | None
    sent: list[Any]
    tracer: Tracer
    joiner: str

    @property
    def transcript(self) -> str | None:
        """The transcript of a conversation that succeeded."""
        assert self.failure is None, self.failure
        return self.tracer.transcript(self.joiner)


class ScriptedChannel(Channel[Any]):
    """Says some frames at once, and the others when it was sent the frame that ends the stream."""

    def __init__(self, first: Iterable[Said], last: str | None, then: Iterable[Said], *, hangs: bool) -> None:
        self.sent: list[Any] = []
        self._last = last
        self._then = list(then)
        self._waiting: asyncio.Queue[Said | None] = asyncio.Queue()
        self._ending: tuple[None, ...] = () if hangs else (None,)
        for said in first:
            self._waiting.put_nowait(said)
        if last is None:
            self._finish()

    async def send(self, frame: Any) -> None:
        self.sent.append(frame)
        if isinstance(frame, str) and self._last is not None and _is(frame, self._last):
            self._finish()

    async def receive(self) -> tuple[int, Any] | None:
        said = await self._waiting.get()
        return None if said is None else (now_ns(), frame(said))

    async def close(self) -> None:
        """Nothing to release."""

    def _finish(self) -> None:
        for said in (*self._then, *self._ending):
            self._waiting.put_nowait(said)


def _is(frame: str, last: str) -> bool:
    return last in frame if last else frame == ""


async def converse(
    codec: Any,
    *,
    first: Iterable[Said] = (),
    last: str | None = None,
    then: Iterable[Said] = (),
    hangs: bool = False,
    limits: Limits | None = None,
) -> Outcome:
    """Hold a conversation: say `first` at once, and `then` after the text frame that has `last` in it.

    An empty `last` stands for an empty frame. With `hangs` the connection stays open after all that.
    """
    channel, tracer = ScriptedChannel(first, last, then, hangs=hangs), Tracer()
    bounds = limits or Limits(idle_timeout_s=30, final_timeout_s=30)
    failure = None
    try:
        if isinstance(codec, WebsocketStt):
            await transcribe(channel, codec, bytes(640), 0.01, tracer, bounds)
        else:
            await synthesize(channel, codec, "ten of clubs", tracer, bounds)
    except CaseFailedError as error:
        failure = error.failure
    return Outcome(failure, sent(channel.sent), tracer, getattr(codec, "joiner", ""))
