"""sayagain as the client that is measured: a whole run, with its recorder and ledger, whose traces are kept."""

import asyncio
import dataclasses
import hashlib
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from pathlib import Path

import msgspec

from sayagain.calibration.load import CHUNK_S, Load, stagger_s
from sayagain.calibration.truth import Heard, Reported, Spoken, differences
from sayagain.config import Settings
from sayagain.datasets import load as load_dataset
from sayagain.datasets.manifest import Dataset
from sayagain.ledger import open_ledger
from sayagain.providers.deepgram import DeepgramStt, DeepgramTts
from sayagain.records import AudioFormat, Benchmark, Case, EventKind, Limits, Target
from sayagain.runner.candidate import Candidate
from sayagain.runner.cloud import transport_of
from sayagain.runner.orchestrator import Display
from sayagain.runner.plan import ListedStage, Plan, make_plan
from sayagain.runner.preflight import assemble
from sayagain.runner.run import run_prepared
from sayagain.transports import waking
from sayagain.transports.base import Session, Transport
from sayagain.transports.pacing import NS_PER_S
from sayagain.transports.sending import chunks
from sayagain.transports.tracing import Tracer

NO_KEY = "no-key-in-a-calibration"

STT_TARGET = Target(
    benchmark=Benchmark.STT,
    provider="calibration",
    model="stt",
    settings={
        "model": "nova-3",
        "language": "en",
        "encoding": "linear16",
        "sample_rate": 16_000,
        "interim_results": True,
        "chunk_ms": 1000 * CHUNK_S,
    },
    adapter=DeepgramStt.version,
)
TTS_TARGET = Target(
    benchmark=Benchmark.TTS,
    provider="calibration",
    model="tts",
    voice="any",
    settings={"model": "aura-2-thalia-en", "sample_rate": 24_000, "encoding": "linear16", "language": "en"},
    adapter=DeepgramTts.version,
)


class Witness(Transport):
    """A transport that is used as it is, and whose traces are kept."""

    def __init__(self, inner: Transport, reported: Reported) -> None:
        self._inner = inner
        self._reported = reported
        self.joiner = inner.joiner
        self.audio_format = inner.audio_format
        self.local = inner.local

    async def prepare(self) -> None:
        """Prepare the transport, and load what a witness uses: from disk, that would hold up the loop later."""
        hashlib.sha256(bytes(4096))
        stagger_s(0)
        await self._inner.prepare()

    @asynccontextmanager
    async def session(self) -> AsyncIterator[Session]:
        """Offer a session that is watched."""
        async with self._inner.session() as session:
            yield _Watched(session, self._reported)

    async def aclose(self) -> None:
        """Close the transport."""
        await self._inner.aclose()


class _Watched(Session):
    def __init__(self, inner: Session, reported: Reported) -> None:
        self._inner = inner
        self._reported = reported

    async def attempt(self, case: Case, pcm: bytes, tracer: Tracer, limits: Limits) -> None:
        await asyncio.sleep(stagger_s(case.position))
        await self._inner.attempt(case, pcm, tracer, limits)
        if case.target.benchmark is Benchmark.STT:
            self._reported.heard.append(_heard(pcm, tracer))
        else:
            self._reported.spoken.append(_spoken(case.item.text, tracer))


def run_sayagain(
    load: Load,
    base: str,
    folder: Path,
    manifests: tuple[Path, Path],
    display: Display,
    beside: tuple[Dataset, Candidate] | None = None,
) -> Reported:
    """Run every case against the stand-in at `base` and return what was reported.

    `beside` is more work for the same run, which is not reported: another provider's target and its dataset.
    """
    reported = Reported()
    db = f"sqlite:///{folder / 'ledger.db'}"

    def candidate(target: Target, codec: type) -> Candidate:
        def connect(limits: Limits) -> Transport:
            return Witness(transport_of(codec, target, base, {"CALIBRATION_KEY": NO_KEY}, limits), reported)

        return Candidate(target, connect)

    candidates = [candidate(STT_TARGET, DeepgramStt), candidate(TTS_TARGET, DeepgramTts)]
    datasets = [load_dataset(str(manifest), folder) for manifest in manifests]
    plans = [make_plan(datasets, (STT_TARGET, TTS_TARGET))]
    if beside is not None:
        plans.append(make_plan([beside[0]], [beside[1].target]))
        candidates.append(beside[1])
    limits = Limits(
        attempts=1,
        concurrency=load.streams * len(plans),
        provider_concurrency=load.streams,
        connect_timeout_s=30,
        case_timeout_s=60,
    )
    prepared = assemble(Settings(db=db), _at_once(plans), candidates, limits=limits)
    prepared = dataclasses.replace(prepared, artifact_dir=None)
    with open_ledger(db) as ledger:
        waking.run(run_prepared(prepared, ledger, db, display))
    return reported


def _at_once(plans: Iterable[Plan]) -> Plan:
    """Return one stage of everything: each provider's cases in their order, the providers beside one another."""
    stages = [stage for plan in plans for stage in plan.stages]
    cases = [case for stage in stages for case in stage.cases()]
    listed = tuple(
        (msgspec.structs.replace(case, position=position), root) for position, (case, root) in enumerate(cases)
    )
    datasets = tuple(planned for stage in stages for planned in stage.datasets)
    targets = tuple(target for stage in stages for target in stage.targets)
    return Plan((ListedStage(Benchmark.STT, datasets, targets, listed),), repeat=1)


def _heard(pcm: bytes, tracer: Tracer) -> Heard:
    at: dict[EventKind, list[int]] = {kind: [] for kind in EventKind}
    for event in tracer.freeze(0.0).events:
        at[event.kind].append(tracer.zero_ns + event.t_ns)
    (t0,) = at[EventKind.STREAM_STARTED]
    due = [t0 + round(end_s * NS_PER_S) for end_s, _ in chunks(pcm, AudioFormat(rate=16_000), CHUNK_S)]
    return Heard(
        key=hashlib.sha256(pcm).hexdigest(),
        partials=at[EventKind.PARTIAL],
        final=at[EventKind.FINAL][-1],
        ended=at[EventKind.END_SENT][-1],
        left=at[EventKind.AUDIO_SENT],
        late=differences(at[EventKind.AUDIO_SENT], due),
    )


def _spoken(text: str, tracer: Tracer) -> Spoken:
    events = tracer.freeze(0.0).events
    (asked,) = (event.t_ns for event in events if event.kind is EventKind.TEXT_SENT)
    arrivals = [tracer.zero_ns + event.t_ns for event in events if event.kind is EventKind.AUDIO_RECEIVED]
    return Spoken(hashlib.sha256(text.encode()).hexdigest(), tracer.zero_ns + asked, arrivals)
