"""From an artifact to a run of its failed cases, with the same settings, or to a refusal before anything is spent.

Endpoints, paths and credentials come from the local configuration only. Of the artifact's strings none is used but
to be looked up among what is known here, or to be shown.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from sayagain.analysis.cases import Run
from sayagain.analysis.equivalence import Difference
from sayagain.analysis.sources import artifact_run
from sayagain.artifact.reading import read_artifact
from sayagain.config import Settings
from sayagain.datasets import Dataset
from sayagain.errors import CorruptArtifactError, MismatchError, UsageError
from sayagain.ledger import open_ledger
from sayagain.records import Benchmark, Case, Limits, ReplayOf, RunHeader, Target, TargetInfo
from sayagain.runner import sameness
from sayagain.runner.candidate import Candidate
from sayagain.runner.identity import runner_info
from sayagain.runner.orchestrator import Display, Outcome, Prepared
from sayagain.runner.plan import FullStage, ListedStage, Plan, PlannedDataset, Stage
from sayagain.runner.preflight import assemble
from sayagain.runner.resolving import Match, local_datasets, matches
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
"""The largest plan that is made again to find the cases that never ran: some ten seconds and 300 MB."""

NAME_THE_SERVER = (
    "Say where a Wyoming server is: --models wyoming/HOST:PORT, or the [wyoming] table of sayagain.toml."
)


@dataclass(frozen=True)
class ReplayRequest:
    """What a person asked for."""

    artifact: Path
    selector: Selector = field(default_factory=Selector)
    include_not_run: bool = False
    repeat: int = 1
    strict: bool = False
    allow: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Replay:
    """A replay that is ready to start.

    `selected` counts the cases that were asked for: those that the plan lacks cannot be run here, and that was
    allowed. `builds` says how the runner's build differs from the parent's.
    """

    artifact: Path
    prepared: Prepared
    parent: Run
    selected: int
    builds: tuple[Difference, ...]


async def prepare_replay(request: ReplayRequest, settings: Settings) -> Replay:
    """Select, check and plan. Nothing is sent anywhere but, to Wyoming servers named here, what they offer.

    Raises:
        CorruptArtifactError: The artifact is damaged.
        UsageError: There is nothing to replay, or a key is not configured.
        MismatchError: Something differs that was not allowed; every difference is listed.
    """
    parent = _sound_run(request.artifact)
    header = parent.header
    datasets = local_datasets(header, settings)
    names = _selected(request, parent, datasets)
    wanted = {name.target for name in names}
    infos = {info.key: info for info in header.targets if info.key in wanted}
    cases = tuple(matches(names, infos, datasets))
    builds = tuple(sameness.build_differences(header.runner, runner_info(info.adapter for info in infos.values())))
    differences = [
        *sameness.contract_differences(header, {case.benchmark for case in cases}),
        *sameness.data_differences(header, datasets, cases),
        *sameness.limit_differences(header.limits),
        *(builds if request.strict else ()),
    ]
    candidates, unlike = await _candidates(infos, settings, differences, request.allow)
    allowed = sameness.require_same([*differences, *unlike], request.allow, _hint(infos, candidates))
    plan = _plan(cases, {key: candidate.target for key, candidate in candidates.items()}, header)
    reached = [candidates[target.key] for target in plan.targets]
    _require_runnable(reached)
    assert parent.sha256 is not None  # noqa: S101 - it was read from an artifact
    prepared = assemble(
        settings,
        plan,
        reached,
        limits=_limits(header.limits, settings),
        replay_of=ReplayOf(run_id=header.run_id, artifact_sha256=parent.sha256),
        allowed_differences=allowed,
    )
    return Replay(request.artifact, prepared, parent, len(names), builds)


async def run_replay(replay: Replay, settings: Settings, display: Display) -> Outcome:
    """Run what was prepared, like any other run; the parent is not touched."""
    with open_ledger(settings.db) as ledger:
        return await run_prepared(replay.prepared, ledger, settings.db, display)


def _sound_run(path: Path) -> Run:
    """Return the run of a whole artifact; raise CorruptArtifactError where it contradicts itself."""
    parent = artifact_run(path)
    keys = [info.key for info in parent.header.targets]
    if len(keys) != len(set(keys)):
        raise CorruptArtifactError("two targets have the same key", 1, str(path))
    if parent.counts.not_run < 0 or parent.header.repeat < 1:
        raise CorruptArtifactError("the run planned less than it ran", 1, str(path))
    return parent


def _selected(request: ReplayRequest, parent: Run, datasets: Mapping[str, Dataset]) -> tuple[CaseName, ...]:
    artifact, header = read_artifact(request.artifact), parent.header
    names = failed_cases(artifact.rows(), request.selector, header.repeat)
    if request.include_not_run and parent.counts.not_run:
        planned = _planned_then(header, datasets)
        names += cases_never_run(planned, header.plan_sha256, artifact.rows(), request.selector)
    if not names:
        raise nothing_selected(request.selector, parent.counts, request.include_not_run)
    return with_repeats(names, request.repeat, header.repeat)


def _planned_then(header: RunHeader, datasets: Mapping[str, Dataset]) -> Iterator[Case]:
    """Make the parent's plan again, from its recorded samples and seeds and the settings it had."""
    if header.replay_of is not None:
        raise UsageError(
            "The artifact is a replay's: it cannot name the cases that never ran. Leave --include out, or replay "
            f"its parent, run {sameness.shown(header.replay_of.run_id)}."
        )
    lost = sorted({info.id for info in header.datasets} - datasets.keys())
    if lost:
        raise MismatchError(
            f"The cases that never ran cannot be named without the dataset {sameness.shown(' and '.join(lost))}: "
            "import it, or name it with --dataset."
        )
    stages = tuple(_stages_then(header, datasets))
    return (case for stage in stages for case, _ in stage.cases())


def _stages_then(header: RunHeader, datasets: Mapping[str, Dataset]) -> Iterator[Stage]:
    position = 0
    for benchmark in Benchmark:
        infos = {info.id: info for info in header.datasets if info.benchmark is benchmark}
        targets = tuple(_as_target(info) for info in header.targets if info.benchmark is benchmark)
        items = sum(len(datasets[name].items) for name in infos)
        if max(header.cases, items * len(targets) * header.repeat) > MOST_PLANNED:
            raise UsageError(
                f"The plan has more than {MOST_PLANNED:,} cases: those that never ran cannot be named again. "
                "Leave --include out."
            )
        planned = tuple(
            PlannedDataset.sampled(datasets[info.id], info.sample and max(0, info.sample), info.seed)
            for info in infos.values()
        )
        if planned and targets:
            stage = FullStage(benchmark, planned, targets, header.repeat, planned[0].seed, position)
            yield stage
            position += stage.size


async def _candidates(
    infos: Mapping[str, TargetInfo], settings: Settings, others: Collection[Difference], allow: frozenset[str]
) -> tuple[dict[str, Candidate], list[Difference]]:
    """Return how each target is reached from here, and how it differs; no server is asked when that is no use."""
    candidates = static_candidates(settings, infos.keys())
    served = {key: info for key, info in infos.items() if info.provider == "wyoming" and key not in candidates}
    unlike = list(_unlike([info for key, info in infos.items() if key not in served], candidates))
    sameness.require_same([*others, *unlike], allow)
    candidates |= await served_targets(settings, served.keys())
    return candidates, [*unlike, *_unlike(served.values(), candidates)]


def _unlike(infos: Collection[TargetInfo], candidates: Mapping[str, Candidate]) -> Iterator[Difference]:
    for info in sorted(infos, key=lambda info: info.key):
        here = TargetInfo.of(candidates[info.key].target) if info.key in candidates else None
        yield from sameness.target_differences(info, here)


def _hint(infos: Mapping[str, TargetInfo], candidates: Mapping[str, Candidate]) -> str:
    is_unserved = any(info.provider == "wyoming" and key not in candidates for key, info in infos.items())
    return NAME_THE_SERVER if is_unserved else ""


def _plan(cases: Sequence[Match], targets: Mapping[str, Target], header: RunHeader) -> Plan:
    """Return the plan of the cases that have an item and a target here; the others were allowed to be left out."""
    stages: list[Stage] = []
    position = 0
    for benchmark in Benchmark:
        listed: list[tuple[Case, Path]] = []
        used: dict[str, tuple[Dataset, set[str]]] = {}
        for match in cases:
            if match.benchmark is not benchmark or match.found is None or match.name.target not in targets:
                continue
            dataset, item = match.found.dataset, match.found.item
            used.setdefault(dataset.id, (dataset, set()))[1].add(item.id)
            case = Case.of(targets[match.name.target], item, match.name.repeat, position)
            listed.append((case, dataset.root))
            position += 1
        if listed:
            seeds = {info.id: info.seed for info in header.datasets}
            planned = tuple(
                PlannedDataset(dataset, tuple(item for item in dataset.items if item.id in ids), None, seeds[name])
                for name, (dataset, ids) in used.items()
            )
            reached = tuple({case.target.key: case.target for case, _ in listed}.values())
            stages.append(ListedStage(benchmark, planned, reached, tuple(listed)))
    if not stages:
        raise UsageError("Nothing to replay: no selected case can be run here.")
    return Plan(tuple(stages), 1 + max(match.name.repeat for match in cases))


def _limits(then: Limits, settings: Settings) -> Limits:
    """Return the parent's bounds on a case; how many run at once, and the grace when stopped, are decided here."""
    return msgspec.structs.replace(
        sameness.taken_limits(then),
        grace_s=settings.grace,
        concurrency=settings.concurrency,
        provider_concurrency=settings.provider_concurrency,
    )


def _require_runnable(candidates: Collection[Candidate]) -> None:
    problems = [f"{one.target.name} cannot run here: {one.missing}" for one in candidates if one.missing]
    if problems:
        raise UsageError("\n".join(problems))


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
