"""`sayagain replay`: run exactly the failed cases of an artifact again."""

from typing import Any

import click

from sayagain.cli import options


@click.command(no_args_is_help=True)
@click.argument("artifact", metavar="ARTIFACT|URL")
@click.option(
    "--include",
    type=click.Choice(["not-run"]),
    help="Also the planned cases that a stopped or interrupted run never reached.",
)
@click.option(
    "--bucket",
    multiple=True,
    metavar="FINGERPRINT",
    help="Only failures of this cause; the first characters will do. May be said more than once, as the next two.",
)
@click.option("--target", multiple=True, metavar="KEY", help="Only cases of this target.")
@click.option("--item", multiple=True, metavar="ID", help="Only cases of this item.")
@click.option("--dry-run", is_flag=True, help="Print what would be run and what it would send, and stop.")
@click.option("--strict", is_flag=True, help="Refuse another build of sayagain, too.")
@click.option(
    "--allow", multiple=True, metavar="KEY", help="Accept one named difference; may be said more than once."
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document instead of progress and tables.")
@click.option(
    "--repeat",
    type=click.IntRange(min=1),
    default=1,
    show_default=True,
    metavar="N",
    help="Run each case N times: how often does it fail now?",
)
@options.setting("models", metavar="NAMES")
@options.setting("dataset", metavar="IDS")
@options.setting("concurrency", type=int, metavar="N")
@options.setting("provider_concurrency", type=int, metavar="N")
@options.setting("grace", type=float, metavar="S")
@options.setting("ledger_timeout", type=float, metavar="S")
@options.db
@options.setting("artifact_dir", metavar="DIR|URL")
@options.setting("require_artifact", is_flag=True, default=None)
@options.setting("datasets_dir", metavar="DIR")
def command(
    artifact: str,
    repeat: int,
    include: str | None,
    bucket: tuple[str, ...],
    target: tuple[str, ...],
    item: tuple[str, ...],
    dry_run: bool,
    strict: bool,
    allow: tuple[str, ...],
    as_json: bool,
    **flags: Any,
) -> int:
    """Run the failed cases of an artifact again, and say what changed.

    A case with any failed row is run once, whole, with the same settings, as a new run whose artifact names its
    parent. A poor score is no failure. Endpoints and keys come from the local configuration only: --models
    and --dataset say where a Wyoming server or a dataset is that the artifact can only name.

    Exit code: 0 done, 1 the run failed or a required artifact was not written, 2 nothing to replay or a key is
    missing, 3 something differs and was not allowed, 4 a corrupt artifact, 130 or 143 stopped by a signal.
    """
    import asyncio

    from sayagain import logs
    from sayagain.artifact.copies import local_copy
    from sayagain.config import load_settings
    from sayagain.report.progress import display_for
    from sayagain.report.replay import report_plan, report_replay
    from sayagain.runner.replay import ReplayRequest, prepare_replay, run_replay
    from sayagain.runner.selection import Selector
    from sayagain.transports import waking

    settings = load_settings(flags)
    logs.configure()
    with local_copy(artifact) as path:
        request = ReplayRequest(
            artifact=path,
            selector=Selector(frozenset(bucket), frozenset(target), frozenset(item)),
            include_not_run=include == "not-run",
            repeat=repeat,
            strict=strict,
            allow=frozenset(allow),
        )
        replay = asyncio.run(prepare_replay(request, settings))
        if dry_run:
            report_plan(replay, as_json=as_json)
            return 0
        if not as_json:
            report_plan(replay, as_json=False)
        outcome = waking.run(run_replay(replay, settings, display_for(as_json)))
        report_replay(replay, settings, outcome, as_json=as_json)
        return outcome.exit_code
