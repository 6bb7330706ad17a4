"""`sayagain compare`: what changed between two runs, or between two targets of one."""

import contextlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sayagain.cli import options

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sayagain.analysis.gates import Gate
    from sayagain.analysis.gating import GateResult
    from sayagain.analysis.model import Comparison
    from sayagain.config import Settings


@click.command(no_args_is_help=True)
@click.argument("runs", metavar="A B | A --targets T1 T2", nargs=-1)
@click.option("--targets", nargs=2, metavar="T1 T2", help="Compare two targets of the one run A, item by item.")
@click.option(
    "--fail-on",
    "gates",
    multiple=True,
    metavar="GATE",
    help="Exit with 1 when it trips; may be said more than once. 'regression': a case succeeded in A and failed "
    "in B. 'new-failure': a failure of B has a cause that A has not. '[TARGET ]METRIC[.FIGURE]:+LIMIT' or "
    "':-LIMIT': a figure rose or fell by more, such as wer:+0.5pp, ttfs.p95:+10%, ttfa.p50:+50ms, success:-1pp or "
    "'stt:moonshine/* wer:+1pp'. A gate that cannot be decided trips.",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.option("--markdown", "as_markdown", is_flag=True, help="Print Markdown for a pull request.")
@click.option("--junit", metavar="FILE", type=click.Path(path_type=Path), help="Also write JUnit XML to FILE.")
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Seed of the intervals.")
@options.db
@options.setting("datasets_dir", metavar="DIR")
def command(
    runs: tuple[str, ...],
    targets: tuple[str, str] | None,
    gates: tuple[str, ...],
    as_json: bool,
    as_markdown: bool,
    junit: Path | None,
    seed: int,
    **flags: Any,
) -> int:
    """Compare two runs, or two targets of one run.

    A and B are artifacts; a name that is no file is a run in the ledger: its id, a unique beginning of it, or
    'latest'.

    \b
      sayagain compare A B                  run B, after, held against run A, before
      sayagain compare A --targets T1 T2    target T2 held against T1, both in run A

    Cases are matched by target, item and repeat. Every metric is compared over the cases that have a value on
    both sides; a failure is never a number. Values whose meaning differs (metric, normalizer, adapter) are not
    compared. When B is a replay of A, it speaks about the replayed cases only.

    Exit code: 0 compared, 1 a gate tripped, 2 wrong usage, 3 nothing in common, 4 a corrupt artifact.
    """  # noqa: D301 - the escape is how click is told to keep lines as they are
    from sayagain.analysis.gates import parse_gate
    from sayagain.analysis.gating import check_gates
    from sayagain.config import load_settings

    wanted = [parse_gate(gate) for gate in gates]
    _check_usage(runs, targets, as_json=as_json, as_markdown=as_markdown)
    compared = _compare(runs, targets, wanted, seed, load_settings(flags))
    verdicts = check_gates(wanted, compared)
    if junit is not None:
        _write_junit(junit, compared, verdicts)
    _print(compared, verdicts, as_json=as_json, as_markdown=as_markdown)
    return 1 if any(verdict.tripped for verdict in verdicts) else 0


def _check_usage(
    runs: "Sequence[str]", targets: tuple[str, str] | None, *, as_json: bool, as_markdown: bool
) -> None:
    expected = 1 if targets else 2
    if len(runs) != expected:
        form = "one run with --targets T1 T2" if targets else "two runs, A and B, or one run and --targets T1 T2"
        raise click.UsageError(f"compare takes {form}; {len(runs)} named")
    if as_json and as_markdown:
        raise click.UsageError("choose one of --json and --markdown")


def _compare(
    runs: "Sequence[str]",
    targets: tuple[str, str] | None,
    gates: "Sequence[Gate]",
    seed: int,
    settings: "Settings",
) -> "Comparison":
    from sayagain.analysis.comparison import PERCENTILES, compare_runs, compare_targets
    from sayagain.analysis.gates import percentiles_of
    from sayagain.analysis.items import local_items
    from sayagain.analysis.sources import opened_run

    percentiles = tuple(dict.fromkeys((*PERCENTILES, *percentiles_of(gates))))
    with contextlib.ExitStack() as stack:
        opened = [stack.enter_context(opened_run(run, settings.db)) for run in runs]
        clusters = local_items((run.header for run in opened), Path(settings.datasets_dir)).speakers()
        if targets:
            return compare_targets(opened[0], *targets, clusters=clusters, percentiles=percentiles, seed=seed)
        return compare_runs(opened[0], opened[1], clusters=clusters, percentiles=percentiles, seed=seed)


def _write_junit(path: Path, compared: "Comparison", verdicts: "Sequence[GateResult]") -> None:
    from sayagain.errors import UsageError
    from sayagain.report.comparison_junit import junit

    try:
        path.write_bytes(junit(compared, verdicts))
    except OSError as error:
        raise UsageError(f"cannot write {path}: {error.strerror or error}") from error


def _print(compared: "Comparison", verdicts: "Sequence[GateResult]", *, as_json: bool, as_markdown: bool) -> None:
    if as_json:
        import json

        import msgspec

        document = msgspec.to_builtins(compared) | {"gates": msgspec.to_builtins(verdicts)}
        click.echo(json.dumps(document, indent=2))
    elif as_markdown:
        from sayagain.report.comparison_markdown import markdown

        click.echo(markdown(compared, verdicts), nl=False)
    else:
        from sayagain.report.comparison import print_comparison

        print_comparison(compared, verdicts)
