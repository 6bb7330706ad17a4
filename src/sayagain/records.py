"""The nouns of sayagain as frozen records: one definition gives the codec, the schema and the documentation.

Nothing here does anything: no I/O, no clock, no metric. This module imports nothing of ours, so every
other module may import it. Times inside a trace are nanoseconds on the attempt's own monotonic clock,
counted from the start of the attempt; wall-clock times are ISO 8601 strings in UTC.
"""

import hashlib
from collections.abc import Mapping
from enum import StrEnum
from typing import Any

import msgspec

Setting = str | int | float | bool | None
"""The value of one effective, secret-free setting of a target."""


def content_digest(value: Any) -> str:
    """Return the SHA-256 (64 hex digits) of a value's canonical JSON: sorted keys, no spaces.

    Two values have one digest exactly when their canonical JSON is the same, whatever machine,
    process or order of insertion produced them.
    """
    return hashlib.sha256(msgspec.json.encode(value, order="deterministic")).hexdigest()


class Record(msgspec.Struct, frozen=True, kw_only=True):
    """Base of every record: frozen, keyword-only, unknown fields ignored when decoded."""


class Benchmark(StrEnum):
    """The two directions: speech to text, and text to speech."""

    STT = "stt"
    TTS = "tts"


class RunStatus(StrEnum):
    """The life of a run: `running`, then exactly one of the others (`interrupted` means found dead)."""

    RUNNING = "running"
    SUCCEEDED = "succeeded"
    PARTIAL = "partial"
    FAILED = "failed"
    INTERRUPTED = "interrupted"


class Status(StrEnum):
    """How a case, or one metric row of it, ended."""

    SUCCEEDED = "succeeded"
    FAILED = "failed"


class FailureKind(StrEnum):
    """The closed set of reasons for which a case can fail; `sayagain.failures` explains each."""

    MISSING_KEY = "missing_key"
    AUTH = "auth"
    QUOTA = "quota"
    RATE_LIMITED = "rate_limited"
    BAD_REQUEST = "bad_request"
    CONNECT_REFUSED = "connect_refused"
    DNS = "dns"
    TLS = "tls"
    CONNECT_TIMEOUT = "connect_timeout"
    IDLE_TIMEOUT = "idle_timeout"
    FINAL_TIMEOUT = "final_timeout"
    CASE_TIMEOUT = "case_timeout"
    CONNECTION_LOST = "connection_lost"
    SERVER_ERROR = "server_error"
    PROTOCOL = "protocol"
    EMPTY = "empty"
    AUDIO_FORMAT = "audio_format"
    ENGINE_CRASHED = "engine_crashed"
    MODEL_MISMATCH = "model_mismatch"
    DATASET = "dataset"
    SCORING = "scoring"
    CANCELLED = "cancelled"
    INTERNAL = "internal"


class Phase(StrEnum):
    """Where in the life of an attempt a failure happened."""

    PREPARE = "prepare"
    """Before any contact: audio loaded, engine started, codec built."""
    CONNECT = "connect"
    """Name lookup, TCP, TLS, upgrade."""
    OPEN = "open"
    """The protocol's own opening exchange."""
    SEND = "send"
    """While audio or text was being sent."""
    RECEIVE = "receive"
    """While answers were being read."""
    FINISH = "finish"
    """After the end of stream was announced, waiting for the last answer."""
    SCORE = "score"
    """While metrics were computed from a finished trace."""


class Failure(Record, frozen=True, kw_only=True):
    """Why a case or a metric has no number.

    `message` is sanitized: it holds no secret, transcript, reference or address of a person. `code` is the
    provider's or the system's own short code (`1011`, `ECONNRESET`, `NET-0001`) or null. `fingerprint`
    identifies the bucket: same cause, same fingerprint; null until the failure has been sanitized.
    """

    kind: FailureKind
    phase: Phase
    message: str
    code: str | None = None
    retryable: bool = False
    fingerprint: str | None = None


class SpeechSpan(Record, frozen=True, kw_only=True):
    """Where speech starts and ends inside an item's audio, in seconds, and the detector that found it."""

    start_s: float
    end_s: float
    vad: str


class Item(Record, frozen=True, kw_only=True):
    """One utterance with its reference transcript (STT), or one prompt (TTS).

    `audio` is a path relative to the dataset's folder and null for a prompt. `sha256` pins the bytes: of the
    audio file, or of the prompt's UTF-8 text. `reference_origin` says where the text came from.
    """

    id: str
    text: str
    sha256: str
    audio: str | None = None
    duration_s: float | None = None
    speech: SpeechSpan | None = None
    language: str = "en"
    speaker: str | None = None
    tags: tuple[str, ...] = ()
    reference_origin: str | None = None

    @property
    def digest(self) -> str:
        """SHA-256 of everything that can change a result: bytes, text, language and speech span."""
        return content_digest([self.sha256, self.text, self.language, self.speech])


class Target(Record, frozen=True, kw_only=True):
    """What is measured: a benchmark, provider, model, voice and its effective, secret-free settings.

    `adapter` names the codec and its version; `secrets` names (never holds) the variables it needs.
    """

    benchmark: Benchmark
    provider: str
    model: str
    voice: str | None = None
    settings: Mapping[str, Setting] = {}
    adapter: str = ""
    secrets: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """`provider/model`, or `provider/model/voice`: how a person selects the target."""
        return "/".join(part for part in (self.provider, self.model, self.voice) if part)

    @property
    def key(self) -> str:
        """`benchmark:provider/model[/voice]`: unique within a run, free of hosts and settings."""
        return f"{self.benchmark}:{self.name}"

    @property
    def settings_digest(self) -> str:
        """SHA-256 of the settings: the same settings have the same digest on every machine."""
        return content_digest(dict(self.settings))


class Case(Record, frozen=True, kw_only=True):
    """One target on one item, with a repeat number counted from 0.

    `id` is a digest of content, never of position, host or time, so the same case has the same id in every
    run. `position` is its place in this run's plan and means nothing outside it.
    """

    id: str
    position: int
    target: Target
    item: Item
    repeat: int = 0

    @classmethod
    def of(cls, target: Target, item: Item, repeat: int = 0, position: int = 0) -> "Case":
        """Build the case of a target and an item, with its content-derived id (32 hex digits)."""
        identity = ["case/1", target.key, target.settings_digest, item.id, item.digest, repeat]
        return cls(
            id=content_digest(identity)[:32], position=position, target=target, item=item, repeat=repeat
        )


class EventKind(StrEnum):
    """What can be seen on the wire during an attempt."""

    CONNECTED = "connected"
    STREAM_STARTED = "stream_started"
    """t0: the instant at which a live microphone would have started to record."""
    AUDIO_SENT = "audio_sent"
    TEXT_SENT = "text_sent"
    """The whole text of a prompt has been handed to the operating system."""
    END_SENT = "end_sent"
    """The end-of-stream message has been handed to the operating system."""
    PARTIAL = "partial"
    FINAL = "final"
    AUDIO_RECEIVED = "audio_received"
    DONE = "done"
    ERROR = "error"
    CLOSED = "closed"


class Event(msgspec.Struct, frozen=True, array_like=True, omit_defaults=True):
    """One timestamped thing seen on the wire: nanoseconds since the attempt started, and what it was.

    `text` is the transcript of a partial or final event, `size` the bytes of audio of a sent or received
    chunk, `code` the code of an error or a close. Encoded as an array, because a trace has hundreds.
    """

    t_ns: int
    kind: EventKind
    text: str | None = None
    size: int | None = None
    code: str | None = None


class AudioFormat(Record, frozen=True, kw_only=True):
    """The layout of raw PCM: samples per second, bytes per sample, interleaved channels."""

    rate: int
    width: int = 2
    channels: int = 1

    @property
    def frame_bytes(self) -> int:
        """Bytes of one sample across all channels."""
        return self.width * self.channels

    def seconds(self, size: int) -> float:
        """Return how long `size` bytes of this format play, in seconds."""
        return size / (self.rate * self.frame_bytes)


class Connection(Record, frozen=True, kw_only=True):
    """How the connection came about, in milliseconds; a part that did not happen is null."""

    total_ms: float
    dns_ms: float | None = None
    tcp_ms: float | None = None
    tls_ms: float | None = None
    upgrade_ms: float | None = None
    reused: bool = False
    http_version: str | None = None


class Trace(Record, frozen=True, kw_only=True):
    """All events of one attempt on one monotonic clock, and what they were made of.

    `transcript` is the text of the final segments (null when the provider sent none: partials do not stand in
    for a final). `audio` is the synthesized PCM in `audio_format`; it is measured and then dropped.
    `loop_lag_ms` is the latest that the measuring loop woke during the attempt, `pacing_lag_ms` the latest
    that a chunk of audio left.
    """

    started: str
    events: tuple[Event, ...] = ()
    transcript: str | None = None
    audio: bytes = b""
    audio_format: AudioFormat | None = None
    connection: Connection | None = None
    loop_lag_ms: float = 0.0
    pacing_lag_ms: float = 0.0

    def first(self, kind: EventKind) -> Event | None:
        """Return the earliest event of a kind, or None."""
        return next((event for event in self.events if event.kind is kind), None)

    def last(self, kind: EventKind) -> Event | None:
        """Return the latest event of a kind, or None."""
        return next((event for event in reversed(self.events) if event.kind is kind), None)


class Attempt(Record, frozen=True, kw_only=True):
    """One try of a case, counted from 1, with its failure if it failed. Every attempt is kept."""

    number: int
    trace: Trace
    failure: Failure | None = None


class FinishedCase(Record, frozen=True, kw_only=True):
    """A case whose attempts are over, ready to be scored and committed; the last attempt decides."""

    case: Case
    attempts: tuple[Attempt, ...]

    @property
    def final_attempt(self) -> Attempt:
        """The attempt that decides the case: the last one."""
        return self.attempts[-1]

    @property
    def failure(self) -> Failure | None:
        """The case's failure, or None when its last attempt succeeded."""
        return self.final_attempt.failure


class Result(Record, frozen=True, kw_only=True):
    """One metric of one case: a value with its unit, or a failure, never both.

    A succeeded result can still have no value (a WER over zero reference words); `reason` then says why.
    `detail` holds the counts and parts the value was made of.
    """

    metric: str
    version: int
    unit: str
    status: Status
    value: float | None = None
    reason: str | None = None
    detail: Mapping[str, float] | None = None
    failure: Failure | None = None


class ScoredCase(Record, frozen=True, kw_only=True):
    """A finished case with one result for each metric it owed: what the ledger commits."""

    finished: FinishedCase
    results: tuple[Result, ...]

    @property
    def status(self) -> Status:
        """Failed when any of its results failed, because every denominator counts it; else succeeded."""
        if any(result.status is Status.FAILED for result in self.results):
            return Status.FAILED
        return Status.SUCCEEDED


class Limits(Record, frozen=True, kw_only=True):
    """The bounds within which every case of a run is executed; times in seconds."""

    connect_timeout_s: float = 10.0
    idle_timeout_s: float = 15.0
    final_timeout_s: float = 20.0
    case_timeout_s: float = 120.0
    grace_s: float = 5.0
    attempts: int = 3
    concurrency: int = 8
    provider_concurrency: int = 1


class RunnerInfo(Record, frozen=True, kw_only=True):
    """The program that made a run. `contract` digests the versions that give a number its meaning."""

    name: str
    version: str
    sha: str | None
    python: str
    platform: str
    contract: str


class DatasetInfo(Record, frozen=True, kw_only=True):
    """A dataset as planned: which version, which items (by the digest of their ordered ids), which sample."""

    id: str
    version: str
    sha256: str
    benchmark: Benchmark
    items_planned: int
    item_ids_sha256: str
    sample: int | None
    seed: int


class TargetInfo(Record, frozen=True, kw_only=True):
    """A target as planned, with the names, never the values, of the secrets it needs."""

    key: str
    benchmark: Benchmark
    provider: str
    model: str
    voice: str | None
    settings: Mapping[str, Setting]
    settings_sha256: str
    adapter: str
    secrets: tuple[str, ...]


class ReplayOf(Record, frozen=True, kw_only=True):
    """The parent of a replay: its run id and the SHA-256 of its artifact."""

    run_id: str
    artifact_sha256: str


class RunHeader(Record, frozen=True, kw_only=True, tag_field="record", tag="run"):
    """The first record of an artifact: what was planned, by whom, with which settings and limits.

    `metrics` maps each metric to the version of its definition. `plan_sha256` digests the ordered case ids.
    """

    schema: str
    run_id: str
    kind: str
    started: str
    scheduled: str | None
    runner: RunnerInfo
    datasets: tuple[DatasetInfo, ...]
    targets: tuple[TargetInfo, ...]
    limits: Limits
    repeat: int
    cases: int
    plan_sha256: str
    metrics: Mapping[str, int]
    normalizer: str
    replay_of: ReplayOf | None = None


class ResultRow(Record, frozen=True, kw_only=True, tag_field="record", tag="result"):
    """One metric row of one case, as the ledger keeps it and the artifact carries it.

    It names the case by digests and never holds a transcript, reference or prompt. `connect_ms` is kept apart
    from every latency; `loop_lag_ms` says how late the measuring loop woke while the number was taken.
    """

    case_id: str
    target: str
    item_id: str
    item_digest: str
    repeat: int
    metric: str
    metric_version: int
    value: float | None
    unit: str
    status: Status
    reason: str | None
    detail: Mapping[str, float] | None
    failure: Failure | None
    transcript_sha256: str | None
    transcript_chars: int | None
    attempts: int
    started: str
    connect_ms: float | None
    loop_lag_ms: float


class CaseCounts(Record, frozen=True, kw_only=True):
    """How the planned cases ended; planned = succeeded + failed + not_run, always."""

    planned: int
    succeeded: int
    failed: int
    not_run: int


class Bucket(Record, frozen=True, kw_only=True):
    """Failed cases that share a fingerprint, counted, with up to five case ids and one sanitized example."""

    fingerprint: str
    kind: FailureKind
    phase: Phase
    code: str | None
    count: int
    targets: tuple[str, ...]
    metrics: tuple[str, ...]
    cases: tuple[str, ...]
    example: str


class Summary(Record, frozen=True, kw_only=True, tag_field="record", tag="summary"):
    """The last record of an artifact: how the run ended, and what proves that nothing before it was damaged.

    `records` counts the lines before this one and `sha256` digests every byte of them.
    """

    status: RunStatus
    reason: str | None
    finished: str | None
    rows: int
    rows_failed: int
    cases: CaseCounts
    buckets: tuple[Bucket, ...]
    records: int
    sha256: str
