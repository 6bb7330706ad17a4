"""The nouns of sayagain as frozen records: one definition gives the codec, the schema and the documentation.

Nothing here does anything: no I/O, no clock, no metric. This module imports nothing of ours, so every
other module may import it. Times inside a trace are nanoseconds on the attempt's own monotonic clock,
counted from the start of the attempt; wall-clock times are ISO 8601 strings in UTC.
"""

import hashlib
from collections.abc import Mapping
from enum import StrEnum
from typing import Annotated, Any

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


def _field(description: str, *examples: Any) -> msgspec.Meta:
    """Document a field of the artifact, for its JSON Schema; docs/artifact.md says the same at length."""
    return msgspec.Meta(description=description, examples=list(examples) or None)


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

    The message is sanitized: it holds no secret, transcript, reference or address of a person. The fingerprint
    is null until then.
    """

    kind: Annotated[FailureKind, _field("One of a closed set of reasons.", "idle_timeout")]
    phase: Annotated[Phase, _field("Where in the life of the attempt it happened.", "receive")]
    message: Annotated[str, _field("What was said, sanitized.", "nothing was received for 15 s")]
    code: Annotated[str | None, _field("Short code of the provider or system, where there was one.", "1011")] = (
        None
    )
    retryable: Annotated[bool, _field("Whether trying again could have helped.", False)] = False
    fingerprint: Annotated[str | None, _field("Bucket: same cause, same fingerprint.", "c0ffee0123456789")] = None


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
        return cls(id=content_digest(identity)[:32], position=position, target=target, item=item, repeat=repeat)


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


class Event(msgspec.Struct, frozen=True, array_like=True, omit_defaults=True, gc=False):
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
    """The bounds within which every case of a run is executed."""

    connect_timeout_s: Annotated[float, _field("Seconds for a connection to be established.", 10.0)] = 10.0
    idle_timeout_s: Annotated[float, _field("Seconds without any answer while one is due.", 15.0)] = 15.0
    final_timeout_s: Annotated[float, _field("Seconds from the end of the stream to the last final.", 20.0)] = 20.0
    case_timeout_s: Annotated[float, _field("Seconds for one attempt of a case as a whole.", 120.0)] = 120.0
    grace_s: Annotated[float, _field("Seconds given to cases in flight when the run is stopped.", 5.0)] = 5.0
    attempts: Annotated[int, _field("Most tries of a case whose failure may pass by itself.", 3)] = 3
    concurrency: Annotated[int, _field("Most cases in flight at once, over all targets.", 8)] = 8
    provider_concurrency: Annotated[int, _field("Most cases in flight at once for one provider.", 1)] = 1


class RunnerInfo(Record, frozen=True, kw_only=True):
    """The program that made a run. `contract` digests the versions that give a number its meaning."""

    name: Annotated[str, _field("Program.", "sayagain")]
    version: Annotated[str, _field("Version of the program.", "0.1.0")]
    sha: Annotated[str | None, _field("Git commit of the program, where it is known.", "863e684")]
    python: Annotated[str, _field("Version of Python.", "3.11.7")]
    platform: Annotated[str, _field("Operating system and architecture; never a host name.", "Linux-x86_64")]
    contract: Annotated[
        str,
        _field(
            "SHA-256 over the versions of the schema, each metric, the normalizer and each adapter.", "5d41..."
        ),
    ]


class DatasetInfo(Record, frozen=True, kw_only=True):
    """A dataset as planned: which version, which items (by the digest of their ordered ids), which sample."""

    id: Annotated[str, _field("Dataset.", "librivox-en")]
    version: Annotated[str, _field("Version of the dataset.", "1")]
    sha256: Annotated[str, _field("SHA-256 of the manifest, which pins every item's bytes.", "9f86...")]
    benchmark: Annotated[Benchmark, _field("Direction the items are for.", "stt")]
    items_planned: Annotated[int, _field("Items the run takes.", 12)]
    item_ids_sha256: Annotated[str, _field("SHA-256 of the ordered ids of those items.", "60ff...")]
    sample: Annotated[int | None, _field("Size of the sample asked for; null when all items are taken.", 12)]
    seed: Annotated[int, _field("Seed of the sample and of the order of the cases.", 0)]


class TargetInfo(Record, frozen=True, kw_only=True):
    """A target as planned, with the names, never the values, of the secrets it needs."""

    key: Annotated[str, _field("Name of the target, unique in the run.", "stt:moonshine/tiny")]
    benchmark: Annotated[Benchmark, _field("Direction.", "stt")]
    provider: Annotated[str, _field("Provider.", "moonshine")]
    model: Annotated[str, _field("Model.", "tiny")]
    voice: Annotated[str | None, _field("Voice, for text to speech.", "joe")]
    settings: Annotated[Mapping[str, Setting], _field("Effective settings, free of secrets.", {"language": "en"})]
    settings_sha256: Annotated[str, _field("SHA-256 of the settings.", "44136fa3...")]
    adapter: Annotated[str, _field("Codec and its version.", "wyoming/1")]
    secrets: Annotated[
        tuple[str, ...], _field("Names, never values, of the variables the target needs.", ["DEEPGRAM_API_KEY"])
    ]

    @classmethod
    def of(cls, target: Target) -> "TargetInfo":
        """Describe a target."""
        return cls(
            key=target.key,
            benchmark=target.benchmark,
            provider=target.provider,
            model=target.model,
            voice=target.voice,
            settings=target.settings,
            settings_sha256=target.settings_digest,
            adapter=target.adapter,
            secrets=target.secrets,
        )


class ReplayOf(Record, frozen=True, kw_only=True):
    """The parent of a replay: its run id and the SHA-256 of its artifact."""

    run_id: Annotated[str, _field("Run whose failed cases were run again.", "0198c5f2a3b4")]
    artifact_sha256: Annotated[str, _field("SHA-256 of that run's artifact, all bytes of the file.", "2c26...")]


class TranscriptHash(StrEnum):
    """How the transcripts' digests in an artifact were made."""

    SHA256 = "sha256"
    HMAC_SHA256 = "hmac-sha256"


class CalibrationLevel(Record, frozen=True, kw_only=True):
    """The error of this machine's timestamps with so many streams at once, by metric, in milliseconds."""

    streams: Annotated[int, _field("Streams at once.", 32)]
    samples: Annotated[Mapping[str, int], _field("Moments measured, by metric.", {"ttft": 480})]
    p50_ms: Annotated[Mapping[str, float], _field("Median of reported minus true, by metric.", {"ttft": 0.3})]
    p99_ms: Annotated[Mapping[str, float], _field("99th percentile of the same.", {"ttft": 0.9})]


class Calibration(Record, frozen=True, kw_only=True):
    """What `sayagain calibrate` found on the machine of the run: how far its own timestamps are off."""

    measured: Annotated[str, _field("When, ISO 8601 in UTC.", "2025-11-04T09:00:00.000Z")]
    version: Annotated[str, _field("Version of the program.", "0.1.0")]
    python: Annotated[str, _field("Version of Python.", "3.11.7")]
    platform: Annotated[str, _field("Operating system and architecture.", "Linux-x86_64")]
    levels: Annotated[tuple[CalibrationLevel, ...], _field("One for each number of streams.")]


class RunHeader(Record, frozen=True, kw_only=True, tag_field="record", tag="run"):
    """The first record of an artifact: what was planned, by whom, with which settings and limits."""

    schema: Annotated[str, _field("Version of the artifact's format, major.minor.", "1.0")]
    run_id: Annotated[str, _field("Identity of the run.", "0198c5f2a3b4")]
    kind: Annotated[str, _field("What was benchmarked: stt, tts or both.", "both")]
    started: Annotated[str, _field("When the run started, ISO 8601 in UTC.", "2025-11-04T10:15:30.123456Z")]
    scheduled: Annotated[
        str | None, _field("When the run had been due, where a scheduler said so.", "2025-11-04T10:15:00Z")
    ]
    runner: Annotated[RunnerInfo, _field("The program that made the run.")]
    datasets: Annotated[tuple[DatasetInfo, ...], _field("Datasets as planned.")]
    targets: Annotated[tuple[TargetInfo, ...], _field("Targets as planned; every result names one of them.")]
    limits: Annotated[Limits, _field("Bounds within which every case was executed.")]
    repeat: Annotated[int, _field("How many times every target meets every item.", 1)]
    cases: Annotated[int, _field("Cases planned.", 24)]
    plan_sha256: Annotated[str, _field("SHA-256 of the ordered case ids.", "b5bb...")]
    metrics: Annotated[Mapping[str, int], _field("Version of each metric's definition.", {"ttfs": 1, "wer": 1})]
    normalizer: Annotated[str, _field("Text normalizer of WER and CER.", "sayagain-en/1")]
    replay_of: Annotated[ReplayOf | None, _field("Parent of a replay; null for any other run.")] = None
    allowed_differences: Annotated[
        tuple[str, ...],
        _field("What differs from the parent of a replay and was accepted by name.", ["settings.language"]),
    ] = ()
    transcript_hash: Annotated[
        TranscriptHash,
        _field("How `transcript_sha256` was made: plain, or keyed with a key kept elsewhere.", "sha256"),
    ] = TranscriptHash.SHA256
    calibration: Annotated[
        Calibration | None,
        _field("Timing error of the machine of the run; null when it was never calibrated."),
    ] = None


class ResultRow(Record, frozen=True, kw_only=True, tag_field="record", tag="result"):
    """One metric row of one case, as the ledger keeps it and the artifact carries it.

    It names the case by digests and never holds a transcript, reference or prompt. `connect_ms` is kept apart
    from every latency; `loop_lag_ms` says how late the measuring loop woke while the number was taken.
    """

    case_id: Annotated[
        str, _field("Digest of target, settings, item and repeat: the same case in every run.", "4c1de2...")
    ]
    target: Annotated[str, _field("Key of a target in the run record.", "stt:moonshine/tiny")]
    item_id: Annotated[str, _field("Item in its dataset.", "sense-and-sensibility-01")]
    item_digest: Annotated[str, _field("SHA-256 of the item's bytes, text, language and speech span.", "8d96...")]
    repeat: Annotated[int, _field("Number of the repeat, from 0.", 0)]
    metric: Annotated[str, _field("Metric; its definition is in the methodology.", "ttfs")]
    metric_version: Annotated[int, _field("Version of the metric's definition.", 1)]
    value: Annotated[float | None, _field("The number, in `unit`; null when failed or undefined.", 412.5)]
    unit: Annotated[str, _field("Unit of the value: ms, % or x.", "ms")]
    status: Annotated[Status, _field("Failed exactly when `failure` is there.", "succeeded")]
    reason: Annotated[
        str | None, _field("Why a succeeded row has no value, or what is missing in it.", "empty reference")
    ]
    detail: Annotated[
        Mapping[str, float] | None,
        _field("Counts and parts the value was made of.", {"S": 1, "D": 0, "I": 0, "N": 9}),
    ]
    failure: Annotated[Failure | None, _field("Why there is no value; null when succeeded.")]
    transcript_sha256: Annotated[
        str | None, _field("Digest of the transcript's UTF-8 text; null when there was none.", "a591...")
    ]
    transcript_chars: Annotated[int | None, _field("Code points of the transcript.", 42)]
    attempts: Annotated[int, _field("Tries the case took; the last one decides.", 1)]
    started: Annotated[str, _field("When the last try started, ISO 8601 in UTC.", "2025-11-04T10:15:31Z")]
    connect_ms: Annotated[
        float | None, _field("Milliseconds of DNS, TCP, TLS and upgrade; null without a connection.", 18.2)
    ]
    loop_lag_ms: Annotated[
        float | None, _field("Latest the measuring loop woke during the try, in milliseconds.", 0.4)
    ]


class CaseCounts(Record, frozen=True, kw_only=True):
    """How the planned cases ended; planned = succeeded + failed + not_run, always."""

    planned: Annotated[int, _field("Cases planned.", 24)]
    succeeded: Annotated[int, _field("Cases none of whose rows failed.", 21)]
    failed: Annotated[int, _field("Cases with at least one failed row.", 2)]
    not_run: Annotated[int, _field("Cases that never ran; they have no rows.", 1)]


class Bucket(Record, frozen=True, kw_only=True):
    """Failed cases that share a fingerprint, counted, with up to five case ids and one sanitized example."""

    fingerprint: Annotated[str, _field("What failures of one cause share.", "c0ffee0123456789")]
    kind: Annotated[FailureKind, _field("Kind of the failures.", "idle_timeout")]
    phase: Annotated[Phase, _field("Where in an attempt they happened.", "receive")]
    code: Annotated[str | None, _field("Code of the provider or system.", "1011")]
    count: Annotated[int, _field("Cases.", 2)]
    targets: Annotated[tuple[str, ...], _field("Targets affected, sorted.", ["stt:moonshine/tiny"])]
    metrics: Annotated[tuple[str, ...], _field("Metrics affected, sorted.", ["ttfs", "wer"])]
    cases: Annotated[tuple[str, ...], _field("The first five case ids.", ["4c1de2..."])]
    example: Annotated[str, _field("The first failure's sanitized message.", "nothing was received for 15 s")]


class Summary(Record, frozen=True, kw_only=True, tag_field="record", tag="summary"):
    """The last record of an artifact: how the run ended, and what proves that nothing before it was damaged."""

    status: Annotated[RunStatus, _field("How the run ended.", "partial")]
    reason: Annotated[str | None, _field("Why it ended so, where there is more to say.", "stopped by SIGTERM")]
    finished: Annotated[
        str | None,
        _field("When the run ended, ISO 8601 in UTC; null when nobody saw it end.", "2025-11-04T10:16:40Z"),
    ]
    rows: Annotated[int, _field("Result records.", 144)]
    rows_failed: Annotated[int, _field("Result records that are failed.", 12)]
    cases: Annotated[CaseCounts, _field("How the planned cases ended.")]
    buckets: Annotated[tuple[Bucket, ...], _field("Failures by cause, largest first, ties by fingerprint.")]
    records: Annotated[int, _field("Lines before this one.", 145)]
    sha256: Annotated[str, _field("SHA-256 of every byte before this line.", "e3b0...")]
    failures_unlisted: Annotated[
        int, _field("Failures, one a case and fingerprint, that are in no listed bucket.", 0)
    ] = 0
