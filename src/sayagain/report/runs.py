"""What a person sees of the ledger: the list of runs, and one run with its failures."""

import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

import msgspec
from rich.console import Console
from rich.table import Table
from rich.text import Text

from sayagain.analysis.cases import gather
from sayagain.analysis.costs import Cost, costs
from sayagain.analysis.figures import SliceFigures, figures_of
from sayagain.analysis.floors import Floor, FloorFinder
from sayagain.analysis.items import LocalItems, local_items
from sayagain.analysis.mistakes import Mistakes, count_mistakes
from sayagain.analysis.slices import By
from sayagain.artifact.buckets import BucketTally
from sayagain.ledger import CaseView, Ledger, RunView, TargetCounts
from sayagain.ledger.lineage import Lineage, Relative
from sayagain.metrics.flags import FlagCounter
from sayagain.records import Attempt, Bucket, DatasetInfo, Failure, Record, RunStatus, Status
from sayagain.report.figures import figure_parts
from sayagain.report.mistakes import mistake_parts
from sayagain.report.printable import printable
from sayagain.report.tables import FLAGGED

PLAIN_WIDTH = 160
"""Columns of a table that does not go to a terminal."""

NARROW = 100
"""Columns below which the table of runs would cut what it shows."""

MOST_MISTAKES = 20
"""Substitutions, deletions and insertions that are listed for each target."""

_STYLES = {
    RunStatus.RUNNING: "cyan",
    RunStatus.SUCCEEDED: "green",
    RunStatus.PARTIAL: "yellow",
    RunStatus.FAILED: "red",
    RunStatus.INTERRUPTED: "red",
}


@dataclass(frozen=True)
class Shown:
    """What of a run is asked for: failed cases one by one, transcripts, mistakes, figures split by something.

    References, speakers and tags are those of the built-in datasets and of the ones in `datasets_dir`.
    """

    failed: bool = False
    transcripts: bool = False
    errors: bool = False
    by: By | None = None
    datasets_dir: Path = Path("datasets")


class RunDocument(Record, frozen=True, kw_only=True):
    """What `sayagain runs show --json` prints; with --failed, `failed` follows with every failed case.

    `failures` groups failed cases by cause, largest first; `failures_unlisted` counts those in no group shown.
    `flagged` counts, by target, the values of time that were taken while the measuring loop was late.
    `figures` are those of the whole run under the name `all`, or of its slices. Of the items of
    `datasets_missing`, which are not on this machine, nothing is known. `errors` is null unless asked for.
    """

    run: RunView
    targets: tuple[TargetCounts, ...]
    failures: tuple[Bucket, ...]
    failures_unlisted: int
    lineage: Lineage
    flagged: Mapping[str, int] = {}
    figures: tuple[SliceFigures, ...] = ()
    judge_floor: Floor | None = None
    costs: tuple[Cost, ...] = ()
    datasets_missing: tuple[DatasetInfo, ...] = ()
    errors: Mistakes | None = None


def print_runs(runs: Sequence[RunView], *, as_json: bool) -> None:
    """Print a list of runs."""
    if as_json:
        sys.stdout.write(_pretty(msgspec.json.encode(runs)) + "\n")
    elif runs:
        console = _console()
        if console.width >= NARROW:
            console.print(runs_table(runs))
        else:
            for line in run_lines(runs):
                console.print(line, soft_wrap=True)
    else:
        sys.stdout.write("no runs yet; `sayagain run` makes one\n")


def print_run(ledger: Ledger, selector: str, shown: Shown) -> None:
    """Print one run as tables and lines."""
    document = document_of(ledger, selector, shown)
    console = _console()
    for label, value in (*_facts(document.run), *_lineage_facts(document.lineage)):
        console.print(Text(f"{label:<9} {value}"), soft_wrap=True)
    console.print(targets_table(document.targets, document.flagged))
    for part in figure_parts(document.figures, document.costs, document.judge_floor):
        console.print(part, soft_wrap=isinstance(part, Text))
    if document.failures:
        console.print(failures_table(document.failures))
    if document.failures_unlisted:
        console.print(f"{document.failures_unlisted} failures of other causes are not listed")
    if document.errors is not None:
        for part in mistake_parts(document.errors, document.datasets_missing):
            console.print(part, soft_wrap=isinstance(part, Text))
    if shown.failed:
        for case in shown_cases(ledger, document.run.run_id, shown):
            for line in case_lines(case):
                console.print(Text(line), soft_wrap=True)


def print_run_json(ledger: Ledger, selector: str, shown: Shown) -> None:
    """Print one run as a JSON document, its failed cases one after the other as they are read."""
    document = document_of(ledger, selector, shown)
    encoded = msgspec.json.encode(document).decode()
    if not shown.failed:
        sys.stdout.write(_pretty(encoded.encode()) + "\n")
        return
    sys.stdout.write(encoded.removesuffix("}") + ',"failed":[')
    for number, case in enumerate(shown_cases(ledger, document.run.run_id, shown)):
        sys.stdout.write((",\n" if number else "\n") + msgspec.json.encode(case).decode())
    sys.stdout.write("]}\n")


def document_of(ledger: Ledger, selector: str, shown: Shown) -> RunDocument:
    """Return a run: how its cases ended by target and cause, its figures, and its mistakes if wanted."""
    run = ledger.run(selector)
    here = local_items([run.header], shown.datasets_dir)
    listed, unlisted = _failures(ledger, run.run_id)
    targets = ledger.targets(run.run_id)
    floors, flags = FloorFinder(), FlagCounter()
    gathered = gather(floors.noted(flags.noted(ledger.rows(run.run_id, lambda _: (None, None)))))
    return RunDocument(
        run=run,
        targets=targets,
        failures=listed,
        failures_unlisted=unlisted,
        lineage=ledger.lineage(run.run_id),
        flagged=dict(flags.flagged),
        figures=figures_of(gathered, here.items, shown.by),
        judge_floor=floors.found,
        costs=costs(target.target for target in targets),
        datasets_missing=here.missing,
        errors=_mistakes(ledger, run.run_id, here) if shown.errors else None,
    )


def _failures(ledger: Ledger, run_id: str) -> tuple[tuple[Bucket, ...], int]:
    buckets = BucketTally()
    for row in ledger.rows(run_id, lambda _: (None, None), failed_only=True):
        if row.failure is not None:
            buckets.add(row, row.failure)
    return buckets.listed()


def _mistakes(ledger: Ledger, run_id: str, here: LocalItems) -> Mistakes:
    return count_mistakes(ledger.cases(run_id), here.items, MOST_MISTAKES)


def shown_cases(ledger: Ledger, run_id: str, shown: Shown) -> Iterator[CaseView]:
    """Yield the failed cases of a run, without anybody's words unless they are asked for."""
    for case in ledger.cases(run_id, failed_only=True):
        yield case if shown.transcripts else _without_words(case)


def run_lines(runs: Sequence[RunView]) -> Iterator[Text]:
    """Yield a line or two for each run, for a terminal that is too narrow for the table."""
    for run in runs:
        counts = run.counts
        yield Text(run.run_id, style="bold")
        status = Text(f"  {run.status.value}", style=_STYLES[run.status])
        yield status.append(f" {counts.succeeded} ok, {counts.failed} failed, {counts.not_run} not run", style="")


def runs_table(runs: Sequence[RunView]) -> Table:
    """Return the table of runs."""
    table = Table()
    table.add_column("run", no_wrap=True, overflow="fold")
    table.add_column("started", no_wrap=True)
    for name in ("kind", "status"):
        table.add_column(name)
    for name in ("ok", "failed", "not run", "took"):
        table.add_column(name, justify="right")
    table.add_column("reason")
    for run in runs:
        counts = run.counts
        table.add_row(
            _text(run.run_id),
            _text(_seconds_only(run.started)),
            _text(run.kind),
            Text(run.status.value, style=_STYLES[run.status]),
            str(counts.succeeded),
            str(counts.failed),
            str(counts.not_run),
            duration(run.started, run.finished),
            _text(run.reason or ""),
        )
    return table


def targets_table(targets: Sequence[TargetCounts], flagged: Mapping[str, int]) -> Table:
    """Return the table of how the cases of each target ended, and of how many values are flagged, if any is."""
    table = Table(caption=FLAGGED if flagged else None, caption_justify="left")
    table.add_column("target", overflow="fold")
    table.add_column("ok", justify="right")
    table.add_column("failed", justify="right")
    if flagged:
        table.add_column("flagged", justify="right")
    for target in targets:
        last = [str(flagged.get(target.target, 0))] if flagged else []
        table.add_row(_text(target.target), str(target.succeeded), str(target.failed), *last)
    return table


def failures_table(buckets: Sequence[Bucket]) -> Table:
    """Return the table of failures by cause, with an example of each."""
    table = Table(title="Failures by cause", title_justify="left", title_style="bold")
    table.add_column("cases", justify="right")
    table.add_column("failure", overflow="fold")
    table.add_column("targets", overflow="fold")
    table.add_column("example", overflow="fold")
    table.add_column("fingerprint", no_wrap=True)
    for bucket in buckets:
        table.add_row(
            str(bucket.count),
            _text(" ".join(part for part in (bucket.kind.value, bucket.phase.value, bucket.code) if part)),
            _text(", ".join(bucket.targets)),
            _text(bucket.example),
            _text(bucket.fingerprint),
        )
    return table


def case_lines(case: CaseView) -> Iterator[str]:
    """Yield the lines of a failed case: itself, why it failed, and every attempt."""
    repeat = f", repeat {case.repeat}" if case.repeat else ""
    yield ""
    yield printable(f"{case.target}  {case.item_id}{repeat}  (case {case.case_id})")
    if case.failure is not None:
        yield f"  failed: {failure_line(case.failure)}"
    if case.transcript is not None:
        yield f"  heard: {printable(case.transcript)}"
    for attempt in case.attempts:
        yield f"  attempt {attempt.number} at {attempt.trace.started}: {_attempt_outcome(attempt)}"


def failure_line(failure: Failure) -> str:
    """Return a failure on one line: kind, phase, code and message."""
    code = f" [{failure.code}]" if failure.code else ""
    return printable(f"{failure.kind.value} while {failure.phase.value}{code}: {failure.message}")


def duration(started: str, finished: str | None) -> str:
    """Return how long a run took, to the second, or a dash when it has not ended or cannot be told."""
    if finished is None:
        return "-"
    try:
        took = datetime.fromisoformat(finished) - datetime.fromisoformat(started)
    except (ValueError, TypeError):
        return "-"
    return str(timedelta(seconds=max(0, round(took.total_seconds()))))


def _facts(run: RunView) -> Iterator[tuple[str, str]]:
    header, counts = run.header, run.counts
    yield "run", printable(run.run_id)
    yield "status", run.status.value + (f": {printable(run.reason)}" if run.reason else "")
    yield "kind", printable(run.kind)
    yield "started", printable(run.started)
    yield "finished", f"{run.finished or '-'} (took {duration(run.started, run.finished)})"
    yield (
        "cases",
        f"{counts.succeeded} ok, {counts.failed} failed, {counts.not_run} not run, of {counts.planned} planned",
    )
    for dataset in header.datasets:
        yield "dataset", printable(f"{dataset.id} {dataset.version}, {dataset.items_planned} items")
    runner = header.runner
    yield "runner", printable(f"{runner.name} {runner.version}, Python {runner.python}, {runner.platform}")


def _lineage_facts(lineage: Lineage) -> Iterator[tuple[str, str]]:
    for relative in lineage.ancestors:
        yield "replay of", _relative(relative)
    for relative in lineage.replays:
        yield "replayed", f"as {_relative(relative)}"


def _relative(relative: Relative) -> str:
    known = "not in this ledger" if relative.status is None else relative.status.value
    return printable(f"{relative.run_id} ({known})")


def _attempt_outcome(attempt: Attempt) -> str:
    events = len(attempt.trace.events)
    end = attempt.trace.events[-1].t_ns / 1e6 if events else 0.0
    outcome = failure_line(attempt.failure) if attempt.failure is not None else Status.SUCCEEDED.value
    return f"{outcome} ({events} events in {end:.0f} ms)"


def _without_words(case: CaseView) -> CaseView:
    attempts = tuple(
        msgspec.structs.replace(
            attempt,
            trace=msgspec.structs.replace(
                attempt.trace,
                transcript=None,
                events=tuple(msgspec.structs.replace(event, text=None) for event in attempt.trace.events),
            ),
        )
        for attempt in case.attempts
    )
    return msgspec.structs.replace(case, transcript=None, attempts=attempts)


def _seconds_only(moment: str) -> str:
    """Return an ISO 8601 time of day in UTC without its fraction, for a table."""
    return moment[:19].replace("T", " ")


def _text(text: str) -> Text:
    return Text(printable(text))


def _pretty(encoded: bytes) -> str:
    return msgspec.json.format(encoded, indent=2).decode()


def _console() -> Console:
    return Console() if sys.stdout.isatty() else Console(width=PLAIN_WIDTH)
