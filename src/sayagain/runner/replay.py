"""From an artifact to a run of its failed cases, with the same settings, or to a refusal before anything is spent.

Endpoints, paths and credentials come from the local configuration only. Of the artifact's strings none is used but
to be looked up among what is known here, or to be shown.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from sayagain.analysis.cases import Run
from sayagain.analysis.equivalence import Difference
from sayagain.analysis.sources import artifact_run
from sayagain.artifact.plaintext import one_line
from sayagain.artifact.reading import read_artifact
from sayagain.config import Settings
from sayagain.datasets import Dataset, available, load
from sayagain.errors import MismatchError, UsageError
from sayagain.ledger import open_ledger
from sayagain.records import Benchmark, Case, Item, Limits, Record, ReplayOf, RunHeader, Target, TargetInfo
from sayagain.runner import sameness
from sayagain.runner.candidate import Candidate
from sayagain.runner.identity import runner_info
from sayagain.runner.orchestrator import Display, Outcome, Prepared
from sayagain.runner.plan import FullStage, ListedStage, Plan, PlannedDataset, Stage
from sayagain.runner.preflight import assemble
from sayagain.runner.run import run_prepared
from sayagain.runner.selection import (
    CaseName,
    Selector,
    cases_never_run,
    failed_cases,
    nothing_selected,
    with_repeats,
)
from sayagain.runner.targets import served_targets, static_candidates

MOST_PLANNED = 1_000_000
"""The largest plan that is made again to find the cases that never ran."""


@dataclass(frozen=True)
class ReplayRequest:
    """What a person asked for."""

    artifact: Path
    selector: Selector = field(default_factory=Selector)
    include_not_run: bool = False
    repeat: int = 1
    strict: bool = False
    allow: frozenset[str] = frozenset()


class ReplayCost(Record, frozen=True, kw_only=True):
    """What a replay sends to one target: cases, seconds of audio, characters of text."""

    target: str
    cases: int
    audio_s: float
    characters: int


@dataclass(frozen=True)
class Replay:
    """A replay that is ready to start, with its parent and what is known to differ."""

    artifact: Path
    prepared: Prepared
    parent: Run
    notes: tuple[Difference, ...]

    def costs(self) -> tuple[ReplayCost, ...]:
        """Return what the replay would send, per target."""
        costs: dict[str, ReplayCost] = {}
        for stage in self.prepared.plan.stages:
            for case, _ in stage.cases():
                key, is_speech = case.target.key, case.target.benchmark is Benchmark.STT
                so_far = costs.get(key, ReplayCost(target=key, cases=0, audio_s=0.0, characters=0))
                costs[key] = ReplayCost(
                    target=key,
                    cases=so_far.cases + 1,
                    audio_s=so_far.audio_s + ((case.item.duration_s or 0.0) if is_speech else 0.0),
                    characters=so_far.characters + (0 if is_speech else len(case.item.text)),
                )
        return tuple(costs.values())


async def prepare_replay(request: ReplayRequest, settings: Settings) -> Replay:
    """Select, check and plan; nothing has been sent anywhere when this returns or raises.

    Raises:
        CorruptArtifactError: The artifact is damaged.
        UsageError: There is nothing to replay, or a key is not configured.
        MismatchError: Something differs that was not allowed; every difference is listed.
    """
    parent = artifact_run(request.artifact)
    header = parent.header
    datasets = _local_datasets(header, settings)
    targets = {info.key: _as_target(info) for info in header.targets}
    names = _selected(request, header, targets, datasets)
    infos = {info.key: info for info in header.targets}
    wanted = {name.target for name in names}
    now = runner_info(target.adapter for target in targets.values())
    builds = tuple(sameness.build_differences(header.runner, now))
    found, differences = _resolved(names, infos, datasets, header)
    differences += builds if request.strict else ()
    candidates = {key: candidate for key, candidate in static_candidates(settings).items() if key in wanted}
    local = [key for key in wanted if key in candidates or infos[key].provider != "wyoming"]
    differences += _target_differences(local, infos, candidates)
    sameness.require_same(differences, request.allow)  # before the first server is asked what it offers
    candidates |= await served_targets(settings, wanted - candidates.keys())
    differences += _target_differences(wanted - set(local), infos, candidates)
    allowed = sameness.require_same(differences, request.allow)
    plan = _plan(names, found, {key: candidate.target for key, candidate in candidates.items()}, datasets, header)
    _require_runnable(plan, candidates)
    assert parent.sha256 is not None  # noqa: S101 - it was read from an artifact
    prepared = assemble(
        settings,
        plan,
        [candidates[target.key] for target in plan.targets],
        limits=_limits(header.limits, settings),
        replay_of=ReplayOf(run_id=header.run_id, artifact_sha256=parent.sha256),
        allowed_differences=allowed,
    )
    return Replay(request.artifact, prepared, parent, builds)


def _target_differences(
    keys: Iterable[str], infos: Mapping[str, TargetInfo], candidates: Mapping[str, Candidate]
) -> list[Difference]:
    return [
        difference
        for key in sorted(keys)
        for difference in sameness.target_differences(
            infos[key], TargetInfo.of(candidates[key].target) if key in candidates else None
        )
    ]


def _selected(
    request: ReplayRequest, header: RunHeader, targets: Mapping[str, Target], datasets: Mapping[str, Dataset]
) -> tuple[CaseName, ...]:
    artifact = read_artifact(request.artifact)
    names = failed_cases(artifact.rows(), request.selector)
    if request.include_not_run:
        planned = _planned_then(header, targets, datasets)
        names += tuple(cases_never_run(planned, artifact.rows(), request.selector))
    if not names:
        raise nothing_selected(request.selector, artifact.summary.cases.failed)
    unknown = {name.target for name in names} - targets.keys()
    if unknown:
        raise MismatchError(f"The artifact has results of targets that it does not describe: {_shown(unknown)}.")
    return with_repeats(names, request.repeat, header.repeat)


def _planned_then(
    header: RunHeader, targets: Mapping[str, Target], datasets: Mapping[str, Dataset]
) -> Iterator[Case]:
    """Make the parent's plan again from its recorded samples and seeds; refuse when it is not that plan."""
    if header.cases > MOST_PLANNED or header.repeat > MOST_PLANNED:
        raise UsageError(
            f"The plan has more than {MOST_PLANNED:,} cases: the cases not run cannot be named again."
        )
    stages: list[Stage] = []
    position = 0
    for benchmark in Benchmark:
        infos = [info for info in header.datasets if info.benchmark is benchmark]
        planned = tuple(
            PlannedDataset.sampled(datasets[info.id], info.sample, info.seed)
            for info in infos
            if info.id in datasets
        )
        wanted = tuple(target for target in targets.values() if target.benchmark is benchmark)
        if sum(len(dataset.items) for dataset in planned) * len(wanted) * header.repeat > MOST_PLANNED:
            raise UsageError(
                f"The plan has more than {MOST_PLANNED:,} cases: the cases not run cannot be named again."
            )
        if planned and wanted:
            stage = FullStage(benchmark, planned, wanted, header.repeat, infos[0].seed, position)
            stages.append(stage)
            position += stage.size
    plan = Plan(tuple(stages), header.repeat)
    if plan.digest() != header.plan_sha256:
        raise MismatchError(
            "The cases that were not run cannot be named: the datasets here do not make the plan of this artifact."
        )
    for made in plan.stages:
        yield from (case for case, _ in made.cases())


def _local_datasets(header: RunHeader, settings: Settings) -> dict[str, Dataset]:
    """Load the datasets that the header names and this machine knows by that very id, or that are named here."""
    folder = Path(settings.datasets_dir)
    named = [part.strip() for part in (settings.dataset or "").split(",") if part.strip()]
    found = {dataset.id: dataset for dataset in (load(reference, folder) for reference in named)}
    known = {entry.id for entry in available(folder) if entry.problem is None}
    for info in header.datasets:
        if info.id in known and info.id not in found:
            found[info.id] = load(info.id, folder)
    return found


def _resolved(
    names: Sequence[CaseName],
    infos: Mapping[str, TargetInfo],
    datasets: Mapping[str, Dataset],
    header: RunHeader,
) -> tuple[dict[CaseName, tuple[str, Item]], list[Difference]]:
    """Find the item of each case here; return it with its dataset's id, and everything that differs."""
    differences: dict[str, Difference] = {d.key: d for d in sameness.contract_differences(header)}
    found: dict[CaseName, tuple[str, Item]] = {}
    needed: set[str] = set()
    for name in names:
        benchmark = infos[name.target].benchmark
        match = _find_item(name, benchmark, datasets, header)
        difference = sameness.item_difference(name.item_id, name.item_digest, match and match[1])
        if difference is not None:
            differences.setdefault(difference.key, difference)
        if match is None:
            needed |= {info.id for info in header.datasets if info.benchmark is benchmark}
        else:
            found[name] = match
            needed.add(match[0])
    differences |= {d.key: d for d in sameness.dataset_differences(header, datasets, needed)}
    return found, list(differences.values())


def _find_item(
    name: CaseName, benchmark: Benchmark, datasets: Mapping[str, Dataset], header: RunHeader
) -> tuple[str, Item] | None:
    """Return the item of that id, the one of the same content first, among the datasets of the header."""
    matches = [
        (info.id, item)
        for info in header.datasets
        if info.benchmark is benchmark and info.id in datasets
        for item in datasets[info.id].items
        if item.id == name.item_id
    ]
    same = [match for match in matches if match[1].digest == name.item_digest]
    return next(iter(same or matches), None)


def _plan(
    names: Sequence[CaseName],
    found: Mapping[CaseName, tuple[str, Item]],
    targets: Mapping[str, Target],
    datasets: Mapping[str, Dataset],
    header: RunHeader,
) -> Plan:
    stages: list[Stage] = []
    position = 0
    for benchmark in Benchmark:
        listed: list[tuple[Case, Path]] = []
        used: dict[str, dict[str, None]] = {}
        for name in names:
            if name not in found or name.target not in targets or targets[name.target].benchmark is not benchmark:
                continue
            dataset_id, item = found[name]
            used.setdefault(dataset_id, {})[item.id] = None
            case = Case.of(targets[name.target], item, name.repeat, position)
            listed.append((case, datasets[dataset_id].root))
            position += 1
        if listed:
            planned = tuple(
                PlannedDataset(
                    datasets[dataset_id],
                    tuple(item for item in datasets[dataset_id].items if item.id in items),
                    None,
                    next(info.seed for info in header.datasets if info.id == dataset_id),
                )
                for dataset_id, items in used.items()
            )
            used_targets = tuple(dict.fromkeys(case.target.key for case, _ in listed))
            stages.append(
                ListedStage(benchmark, planned, tuple(targets[key] for key in used_targets), tuple(listed))
            )
    if not stages:
        raise UsageError("Nothing to replay: no selected case can be run here.")
    return Plan(tuple(stages), header.repeat)


def _limits(then: Limits, settings: Settings) -> Limits:
    """Return the parent's bounds on a case, with how many run at once decided here."""
    return msgspec.structs.replace(
        then,
        attempts=min(max(1, then.attempts), 10),
        grace_s=settings.grace,
        concurrency=settings.concurrency,
        provider_concurrency=settings.provider_concurrency,
    )


def _require_runnable(plan: Plan, candidates: Mapping[str, Candidate]) -> None:
    for target in plan.targets:
        missing = candidates[target.key].missing
        if missing is not None:
            raise UsageError(f"{target.name} cannot run here: {missing}")


def _as_target(info: TargetInfo) -> Target:
    return Target(
        benchmark=info.benchmark,
        provider=info.provider,
        model=info.model,
        voice=info.voice,
        settings=info.settings,
        adapter=info.adapter,
        secrets=info.secrets,
    )


def _shown(names: set[str]) -> str:
    return one_line(", ".join(sorted(names)[:5]))


async def run_replay(replay: Replay, settings: Settings, display: Display) -> Outcome:
    """Run what was prepared, like any other run; the parent is not touched."""
    with open_ledger(settings.db) as ledger:
        return await run_prepared(replay.prepared, ledger, settings.db, display)
