"""What a person sees of a replay: what it will send, how it ended, and what changed since its parent."""

import json
import sys

import click
import msgspec

from sayagain.analysis.comparison import compare_runs
from sayagain.analysis.model import Comparison
from sayagain.analysis.sources import artifact_run, opened_run
from sayagain.artifact.plaintext import one_line
from sayagain.config import Settings
from sayagain.report.comparison import print_comparison
from sayagain.report.console import print_report, run_report
from sayagain.runner.orchestrator import Outcome
from sayagain.runner.replay import Replay


def report_plan(replay: Replay, *, as_json: bool) -> None:
    """Print what a replay will send to each target, and how the runner's build differs from the parent's."""
    costs = replay.costs()
    if as_json:
        document = {
            "parent": replay.parent.header.run_id,
            "cases": replay.prepared.plan.size,
            "targets": msgspec.to_builtins(costs),
            "differences": msgspec.to_builtins(replay.notes),
        }
        click.echo(json.dumps(document, indent=2))
        return
    parent = replay.parent
    click.echo(
        f"replaying {replay.prepared.plan.size} of {parent.counts.planned} cases of run "
        f"{one_line(parent.header.run_id)}"
    )
    for cost in costs:
        amount = f"{cost.audio_s:.1f} s of audio" if cost.audio_s else f"{cost.characters} characters"
        click.echo(f"  {one_line(cost.target)}: {cost.cases} cases, {amount}")
    for note in replay.notes:
        click.echo(f"  note: {one_line(note.key)} was {one_line(note.a)}, is {one_line(note.b)}")


def report_replay(replay: Replay, settings: Settings, outcome: Outcome, *, as_json: bool) -> None:
    """Print how a replay ended and what changed, from its parent's artifact and the ledger."""
    report = run_report(settings, outcome)
    comparison = _comparison(replay, settings, outcome)
    if as_json:
        document = msgspec.to_builtins(report) | {"comparison": msgspec.to_builtins(comparison)}
        sys.stdout.write(json.dumps(document, indent=2) + "\n")
        return
    print_report(report)
    if comparison is not None:
        print_comparison(comparison, ())


def _comparison(replay: Replay, settings: Settings, outcome: Outcome) -> Comparison | None:
    if outcome.counts is None or outcome.counts.planned == outcome.counts.not_run:
        return None
    with opened_run(outcome.run_id, settings.db) as child:
        return compare_runs(artifact_run(replay.artifact), child)
