"""`sayagain runs`: list the runs of a ledger, and show what happened in one."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import click

from sayagain.cli import options

if TYPE_CHECKING:
    from sayagain.ledger import Ledger

_as_json = click.option("--json", "as_json", is_flag=True, help="Print JSON.")


@click.group()
def command() -> None:
    """List runs and show what happened in one."""


@command.command("list")
@click.option(
    "--limit",
    type=click.IntRange(min=1, max=1_000_000),
    default=20,
    show_default=True,
    metavar="N",
    help="Show the newest N runs.",
)
@_as_json
@options.db
def list_(db: str | None, limit: int, *, as_json: bool) -> None:
    """List runs, newest first: how each ended, how its cases did, how long it took.

    A run whose process is gone is marked interrupted first, and a log event on stderr names it.
    """
    from sayagain.report.runs import print_runs

    with _opened(db) as ledger:
        print_runs(ledger.runs(limit), as_json=as_json)


@command.command()
@click.argument("run")
@click.option("--failed", is_flag=True, help="Show each failed case with its attempts.")
@click.option("--transcripts", is_flag=True, help="Show what was heard, too: transcripts may be confidential.")
@click.option(
    "--errors", is_flag=True, help="Show the most frequent substitutions, deletions and insertions of each target."
)
@click.option(
    "--by", type=click.Choice(["tag", "speaker", "duration"]), help="Split every figure by this of the items."
)
@_as_json
@options.db
@options.setting("datasets_dir", metavar="DIR")
def show(
    db: str | None,
    datasets_dir: str | None,
    run: str,
    *,
    failed: bool,
    transcripts: bool,
    errors: bool,
    by: str | None,
    as_json: bool,
) -> None:
    """Show a run: what was planned, how its cases ended, its figures with 95% intervals, its failures by cause.

    RUN is a run id, the beginning of one, or 'latest'. Speakers, tags, durations and references are those of the
    datasets on this machine. With --errors, words of your references and transcripts are shown.
    """
    from pathlib import Path

    from sayagain.analysis.slices import By
    from sayagain.config import load_settings
    from sayagain.report.runs import Shown, print_run, print_run_json

    settings = load_settings({"datasets_dir": datasets_dir})
    shown = Shown(
        failed=failed,
        transcripts=transcripts,
        errors=errors,
        by=By(by) if by else None,
        datasets_dir=Path(settings.datasets_dir),
    )
    with _opened(db) as ledger:
        (print_run_json if as_json else print_run)(ledger, run, shown)


@contextmanager
def _opened(db: str | None) -> "Iterator[Ledger]":
    """Open the ledger and mark the runs in it that were interrupted."""
    from sayagain import logs
    from sayagain.config import load_settings
    from sayagain.errors import LedgerError
    from sayagain.ledger import open_ledger

    logs.configure()
    with open_ledger(load_settings({"db": db}).db, create=False) as ledger:
        try:
            for run_id in ledger.mark_interrupted():
                logs.logger().warning("run_interrupted", run_id=run_id)
        except LedgerError as error:  # a copy that cannot be written can still be read
            logs.logger().warning("runs_not_checked", reason=str(error))
        yield ledger
