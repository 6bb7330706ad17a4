"""What a person sees of an artifact. The file may come from a stranger: all its texts are shown as plain text."""

from collections.abc import Iterable, Iterator

import msgspec
from rich.console import Console, RenderableType
from rich.table import Table
from rich.text import Text

from sayagain.artifact.overview import Overview
from sayagain.artifact.plaintext import one_line
from sayagain.artifact.selection import CaseLine
from sayagain.artifact.verification import Verification
from sayagain.metrics.aggregate import TargetSummary
from sayagain.records import Benchmark, Bucket, RunHeader
from sayagain.report.tables import PLAIN_WIDTH, benchmark_table

MOST_BUCKETS = 20
"""Buckets that are shown to a person; JSON has them all."""

LONGEST = 200
"""Characters of a text that are shown."""


def print_overview(view: Overview, console: Console | None = None) -> None:
    """Print what ran, the tables, the buckets, the slowest cases and whether the file is whole."""
    console = console or artifact_console()
    for part in _parts(view):
        console.print(part, soft_wrap=isinstance(part, Text))


def print_cases(cases: Iterable[CaseLine], console: Console | None = None) -> int:
    """Print cases as they come, a line each and one for each failure; return how many there were."""
    console = console or artifact_console()
    number = 0
    for number, case in enumerate(cases, 1):  # noqa: B007 - the last number is the count
        values = "  ".join(f"{shown(name)}={_number(value)}" for name, value in case.values.items())
        heading = f"{case.status.value}  {shown(case.case_id)}  {shown(case.target)}  {shown(case.item_id)}"
        _print_line(console, f"{heading}  #{case.repeat}  {values}")
        for failure in case.failures:
            code = f" {shown(failure.code)}" if failure.code else ""
            kind = f"{failure.kind.value}/{failure.phase.value}{code}"
            _print_line(console, f"    {shown(failure.fingerprint or '')}  {kind}: {shown(failure.message)}")
    return number


def verdict(found: Verification | Overview) -> str:
    """Return one line: that a file is whole, or what is wrong first and where."""
    path = shown(found.path)
    if found.problem is None:
        return f"{path}: whole, {found.rows:,} rows, sha256 {found.file_sha256}"
    place = "" if found.line is None else f" at line {found.line}"
    before = f"; {found.rows:,} rows before it are readable" if found.rows else ""
    return f"{path}: {'torn' if found.torn else 'corrupt'}{place}: {found.problem}{before}"


def shown(text: str) -> str:
    """Return a text of the file as a terminal can be given it: one plain line, cut when it is long."""
    plain = one_line(text)
    return plain if len(plain) <= LONGEST else f"{plain[: LONGEST - 1]}…"


def artifact_console() -> Console:
    """Return a console on stdout, wide when that is not a terminal."""
    console = Console(highlight=False, markup=False, emoji=False)
    return (
        console if console.is_terminal else Console(width=PLAIN_WIDTH, highlight=False, markup=False, emoji=False)
    )


def _print_line(console: Console, text: str) -> None:
    console.print(Text(text), soft_wrap=True)


def _parts(view: Overview) -> Iterator[RenderableType]:
    if view.header is not None:
        yield Text("\n".join(_heading(view, view.header)))
    for benchmark in Benchmark:
        summaries = [_plain(summary) for summary in view.targets if summary.target.startswith(f"{benchmark}:")]
        if summaries:
            yield benchmark_table(benchmark, summaries)
    if view.buckets:
        yield _bucket_table(view.buckets[:MOST_BUCKETS])
        hidden = len(view.buckets) - MOST_BUCKETS
        if hidden > 0 or view.failures_unlisted:
            yield Text(
                f"and {max(0, hidden):,} more buckets (--json), {view.failures_unlisted:,} failures in none"
            )
    if view.slowest:
        yield _slowest_table(view)
    yield Text(verdict(view))


def _heading(view: Overview, header: RunHeader) -> Iterator[str]:
    status = view.status.value if view.status else "unknown: there is no summary"
    reason = f" ({shown(view.reason)})" if view.reason else ""
    yield f"run {shown(header.run_id)} {status}{reason}"
    yield f"  started {shown(header.started)}, finished {shown(view.finished or 'unknown')}"
    counts = view.cases
    rest = "not run" if view.status else "not run or lost"
    yield f"  cases {counts.planned}: {counts.succeeded} ok, {counts.failed} failed, {counts.not_run} {rest}"
    runner = header.runner
    names = (runner.name, runner.version, runner.sha or "", f"Python {runner.python}", runner.platform)
    yield f"  by {shown(' '.join(name for name in names if name))}, contract {shown(runner.contract[:12])}"
    for dataset in header.datasets:
        sample = "" if dataset.sample is None else f" of a sample of {dataset.sample}, seed {dataset.seed}"
        yield f"  dataset {shown(dataset.id)} {shown(dataset.version)}: {dataset.items_planned} items{sample}"
    if header.replay_of is not None:
        yield f"  replay of run {shown(header.replay_of.run_id)}"


def _bucket_table(buckets: Iterable[Bucket]) -> Table:
    table = Table(title="Failures by cause", title_justify="left", title_style="bold")
    table.add_column("bucket", no_wrap=True)
    table.add_column("cases", justify="right")
    for name in ("kind", "targets", "metrics", "example"):
        table.add_column(name, overflow="fold")
    for bucket in buckets:
        kind = f"{bucket.kind.value} {bucket.phase.value}" + (f" {shown(bucket.code)}" if bucket.code else "")
        targets, metrics = (shown(", ".join(names)) for names in (bucket.targets, bucket.metrics))
        cells = (shown(bucket.fingerprint), f"{bucket.count:,}", kind, targets, metrics, shown(bucket.example))
        table.add_row(*map(Text, cells))
    return table


def _slowest_table(view: Overview) -> Table:
    table = Table(title="Slowest cases", title_justify="left", title_style="bold")
    for name in ("metric", "value", "target", "item", "case"):
        table.add_column(name, justify="right" if name == "value" else "left")
    for case in view.slowest:
        value = f"{case.value:,.0f} {shown(case.unit)}"
        cells = (case.metric, value, shown(case.target), shown(case.item_id), shown(case.case_id))
        table.add_row(*map(Text, cells))
    return table


def _plain(summary: TargetSummary) -> TargetSummary:
    metrics = {
        name: msgspec.structs.replace(metric, unit=shown(metric.unit)) for name, metric in summary.metrics.items()
    }
    return msgspec.structs.replace(summary, target=shown(summary.target), metrics=metrics)


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.6g}"
