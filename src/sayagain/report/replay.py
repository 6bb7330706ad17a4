"""What a person sees of a replay: what it will send, how it ended, and what changed since its parent."""

import json
import sys
from collections import Counter
from collections.abc import Iterator

import click
import msgspec

from sayagain.analysis.comparison import compare_runs
from sayagain.analysis.model import Comparison
from sayagain.analysis.sources import artifact_run, opened_run
from sayagain.artifact.plaintext import one_line
from sayagain.config import Settings
from sayagain.errors import SayagainError
from sayagain.report.comparison import print_comparison
from sayagain.report.console import print_report, run_report
from sayagain.runner.cost import TargetCost, cost_of
from sayagain.runner.orchestrator import Outcome
from sayagain.runner.replay import Replay


def report_plan(replay: Replay, *, as_json: bool) -> None:
    """Print what a replay will send to each target, and how the runner's build differs from the parent's."""
    if as_json:
        click.echo(json.dumps(_plan_document(replay), indent=2))
    else:
        for line in plan_lines(replay):
            click.echo(line)


def plan_lines(replay: Replay) -> Iterator[str]:
    """Yield what will be run, what that sends, what is left out and how the build differs, a sentence a line."""
    header, counts, plan = replay.parent.header, replay.parent.counts, replay.prepared.plan
    yield (
        f"replay of run {one_line(header.run_id)}: {plan.size} cases; the run had {counts.planned}, "
        f"of which {counts.failed} failed and {counts.not_run} never ran"
    )
    for cost in cost_of(plan):
        yield f"  {one_line(cost.target)}: {cost.cases} cases, {_amount(cost)}"
    attempts = replay.prepared.limits.attempts
    if attempts > 1:
        yield f"  that is for one attempt a case; one that fails in passing is tried up to {attempts} times"
    left_out = replay.selected - plan.size
    if left_out:
        yield f"  {left_out} cases cannot be run here and are left out, as allowed"
    for key in replay.prepared.header.allowed_differences:
        yield f"  allowed to differ: {key}"
    for one in replay.builds:
        yield f"  {one_line(one.key)} was {one_line(one.a)} and is {one_line(one.b)}"


def report_replay(replay: Replay, settings: Settings, outcome: Outcome, *, as_json: bool) -> None:
    """Print how a replay ended and what changed, from its parent's artifact and the ledger."""
    report = run_report(settings, outcome)
    comparison, trouble = _comparison(replay, settings, outcome)
    if as_json:
        compared = {"comparison": msgspec.to_builtins(comparison), "comparison_error": trouble}
        sys.stdout.write(json.dumps(msgspec.to_builtins(report) | compared, indent=2) + "\n")
        return
    print_report(report)
    if trouble is not None:
        click.echo(f"not compared with its parent: {trouble}")
    if comparison is not None:
        print_comparison(comparison, ())
        for line in how_often(comparison):
            click.echo(line)


def how_often(comparison: Comparison) -> Iterator[str]:
    """Yield how often each item that was run more than once failed now; nothing when none was."""
    runs: Counter[tuple[str, str]] = Counter()
    failed: Counter[tuple[str, str]] = Counter()
    for case in comparison.cases:
        if case.case_b is not None:
            runs[case.target, case.item_id] += 1
            failed[case.target, case.item_id] += case.failed_b
    repeated = [name for name, count in runs.items() if count > 1]
    for target, item in sorted(repeated, key=lambda name: (-failed[name] / runs[name], name)):
        yield f"failed {failed[target, item]} of {runs[target, item]} times: {one_line(target)} {one_line(item)}"


def _plan_document(replay: Replay) -> dict[str, object]:
    header = replay.prepared.header
    return {
        "parent": msgspec.to_builtins(header.replay_of),
        "cases": replay.prepared.plan.size,
        "left_out": replay.selected - replay.prepared.plan.size,
        "attempts": replay.prepared.limits.attempts,
        "targets": msgspec.to_builtins(cost_of(replay.prepared.plan)),
        "allowed_differences": header.allowed_differences,
        "build_differences": msgspec.to_builtins(replay.builds),
    }


def _amount(cost: TargetCost) -> str:
    return f"{cost.characters} characters" if cost.characters else f"{cost.audio_s:.1f} s of audio"


def _comparison(replay: Replay, settings: Settings, outcome: Outcome) -> tuple[Comparison | None, str | None]:
    """Compare when any case ran; the parent's file may have gone meanwhile, and the run counts all the same."""
    if outcome.counts is None or outcome.counts.planned == outcome.counts.not_run:
        return None, None
    try:
        with opened_run(outcome.run_id, settings.db) as child:
            return compare_runs(artifact_run(replay.artifact), child), None
    except SayagainError as error:
        return None, str(error)
