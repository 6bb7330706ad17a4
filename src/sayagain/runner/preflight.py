"""Everything that can be wrong is said here, before anything is spent."""

from collections.abc import Sequence
from pathlib import Path

import msgspec

from sayagain.artifact.destinations import check_destination
from sayagain.artifact.places import shown
from sayagain.artifact.redaction import Redactor
from sayagain.artifact.schema import SCHEMA_VERSION
from sayagain.calibration.store import stored
from sayagain.config import Settings, local_secrets
from sayagain.datasets import Dataset, builtin, load
from sayagain.errors import ArtifactWriteError, UsageError
from sayagain.logs import logger
from sayagain.metrics import METRICS, NORMALIZER
from sayagain.records import Benchmark, Limits, ReplayOf, RunHeader
from sayagain.runner.candidate import Candidate
from sayagain.runner.identity import new_run_id, runner_info
from sayagain.runner.orchestrator import Prepared
from sayagain.runner.plan import Plan, make_plan
from sayagain.runner.targets import select
from sayagain.transports.pacing import wall_time


async def prepare(settings: Settings) -> Prepared:
    """Resolve settings, targets and datasets into a run that is ready to start.

    Raises:
        UsageError: Something that was asked for does not exist, does not fit together, or leaves nothing to do.
        DatasetError: A dataset has problems; every one is named.
    """
    candidates = await select(settings)
    targets = tuple(candidate.target for candidate in candidates)
    datasets = _datasets(settings, {target.benchmark for target in targets})
    plan = make_plan(datasets, targets, size=settings.sample, seed=settings.seed, repeat=settings.repeat)
    if not plan.stages:
        raise UsageError(_nothing_to_do(datasets, targets_of=sorted({target.benchmark for target in targets})))
    reached = {target.key for target in plan.targets}
    chosen = [candidate for candidate in candidates if candidate.target.key in reached]
    return assemble(settings, plan, chosen, limits=limits_of(settings))


def assemble(
    settings: Settings,
    plan: Plan,
    candidates: Sequence[Candidate],
    *,
    limits: Limits,
    replay_of: ReplayOf | None = None,
    allowed_differences: tuple[str, ...] = (),
) -> Prepared:
    """Put a run together from its plan and the targets it reaches; nothing is sent anywhere yet."""
    header = _header(settings, plan, limits)
    return Prepared(
        header=msgspec.structs.replace(header, replay_of=replay_of, allowed_differences=allowed_differences),
        plan=plan,
        limits=limits,
        transports={candidate.target.key: candidate.connect(limits) for candidate in candidates},
        redactor=Redactor(local_secrets().values()),
        artifact_dir=_artifact_dir(settings),
        artifact_hmac_key=settings.artifact_hmac_key,
        require_artifact=settings.require_artifact,
        ledger_timeout_s=settings.ledger_timeout,
        judged=_judged(settings, plan),
    )


def _judged(settings: Settings, plan: Plan) -> bool:
    """Tell whether there is a judge and something for it to hear; raise UsageError when the judge is missing."""
    if not settings.judge or all(stage.benchmark is Benchmark.STT for stage in plan.stages):
        return False
    from sayagain.runner.listening import why_no_judge  # only a judged run pays for what it imports

    missing = why_no_judge()
    if missing is not None:
        raise UsageError(f"--judge has no judge: {missing}")
    return True


def limits_of(settings: Settings) -> Limits:
    """Return the bounds that the settings put on every case."""
    return Limits(
        connect_timeout_s=settings.connect_timeout,
        idle_timeout_s=settings.idle_timeout,
        final_timeout_s=settings.final_timeout,
        case_timeout_s=settings.case_timeout,
        grace_s=settings.grace,
        attempts=settings.attempts,
        concurrency=settings.concurrency,
        provider_concurrency=settings.provider_concurrency,
    )


def _datasets(settings: Settings, benchmarks: set[Benchmark]) -> list[Dataset]:
    folder = Path(settings.datasets_dir)
    if settings.dataset is None:
        references = [name for benchmark in Benchmark if benchmark in benchmarks for name in builtin(benchmark)]
    else:
        references = [part.strip() for part in settings.dataset.split(",") if part.strip()]
        if not references:
            raise UsageError(
                "--dataset names nothing: give ids or manifest paths; `sayagain datasets list` has them."
            )
    datasets = [load(reference, folder) for reference in dict.fromkeys(references)]
    for dataset in datasets:
        if not dataset.items:
            raise UsageError(f"The dataset {dataset.id} is empty: there is nothing to run.")
    return datasets


def _nothing_to_do(datasets: list[Dataset], targets_of: list[Benchmark]) -> str:
    have = ", ".join(f"{dataset.id} ({dataset.benchmark})" for dataset in datasets) or "none"
    return f"No dataset fits the targets: they are {' and '.join(targets_of)}, the datasets are {have}."


def _header(settings: Settings, plan: Plan, limits: Limits) -> RunHeader:
    runner = runner_info(target.adapter for target in plan.targets)
    return RunHeader(
        schema=SCHEMA_VERSION,
        run_id=new_run_id(),
        kind=plan.kind,
        started=wall_time(),
        scheduled=None,
        runner=runner,
        datasets=plan.dataset_infos(),
        targets=plan.target_infos(),
        limits=limits,
        repeat=plan.repeat,
        cases=plan.size,
        plan_sha256=plan.digest(),
        metrics={name: info.version for name, info in METRICS.items()},
        normalizer=NORMALIZER,
        calibration=stored(settings.calibration, runner),
    )


def _artifact_dir(settings: Settings) -> str | None:
    """Return where the artifact goes; say at once when it cannot be written there, but run all the same.

    Raises:
        UsageError: The artifact is required, and cannot be written.
    """
    place = settings.artifact_dir
    if place is None:
        if settings.require_artifact:
            raise UsageError("An artifact is required, and nothing says where it goes: set RUN_ARTIFACT_DIR.")
        return None
    try:
        check_destination(place)
    except ArtifactWriteError as error:
        if settings.require_artifact:
            raise UsageError(str(error)) from None
        logger().warning("run_artifact_directory_unusable", directory=shown(place), reason=str(error))
    return place
