"""The table of one benchmark, as a run and its artifact show it."""

import sys
from collections.abc import Sequence

from rich.console import Console
from rich.table import Table

from sayagain.metrics.aggregate import Distribution, TargetSummary
from sayagain.metrics.flags import LAG_BOUND_MS
from sayagain.records import Benchmark

PLAIN_WIDTH = 132
"""Columns of a table that does not go to a terminal."""

COLUMNS = {
    Benchmark.STT: ("ttft", "ttfs", "finalization"),
    Benchmark.TTS: ("ttfa", "synthesis", "rtf", "stall"),
}
"""The metrics of each benchmark's table whose distribution is shown."""

FLAGGED = f"flagged: values of time taken while this program's own loop was more than {LAG_BOUND_MS:g} ms late"

_HEARD = "intelligibility_wer"


class PatientConsole(Console):
    """A console whose reader may leave: that is an error to be dealt with, not the end of the program."""

    def on_broken_pipe(self) -> None:
        """Let the caller know, where rich would end the program."""
        raise BrokenPipeError


def wide_console() -> Console:
    """Return a console as wide as the terminal, or as a table needs where there is none."""
    return PatientConsole() if sys.stdout.isatty() else PatientConsole(width=PLAIN_WIDTH)


def benchmark_table(benchmark: Benchmark, summaries: Sequence[TargetSummary]) -> Table:
    """Return the table of one benchmark; distributions are shown as p50 / p95."""
    title = {Benchmark.STT: "Speech to text", Benchmark.TTS: "Text to speech"}[benchmark]
    table = Table(title=f"{title} (p50 / p95)", title_justify="left", title_style="bold")
    table.add_column("target", no_wrap=True)
    table.add_column("ok", justify="right")
    table.add_column("failed", justify="right")
    if benchmark is Benchmark.STT:
        for name in ("WER %", "with failed", "mean", "S/D/I of N"):
            table.add_column(name, justify="right")
    judged = any(_HEARD in summary.error_rates for summary in summaries)
    if judged:
        table.add_column("heard WER %", justify="right")
    for metric in COLUMNS[benchmark]:
        unit = next((s.metrics[metric].unit for s in summaries if metric in s.metrics), "")
        table.add_column(f"{metric} {unit}".strip(), justify="right")
    flagged = any(summary.flagged for summary in summaries)
    if flagged:
        table.add_column("flagged", justify="right")
        table.caption = FLAGGED
        table.caption_justify = "left"
    for summary in summaries:
        last = [str(summary.flagged)] if flagged else []
        table.add_row(*_cells(benchmark, summary, judged=judged), *last)
    return table


def _cells(benchmark: Benchmark, summary: TargetSummary, *, judged: bool) -> list[str]:
    cells = [summary.target.removeprefix(f"{benchmark}:"), str(summary.cases_succeeded), str(summary.cases_failed)]
    if benchmark is Benchmark.STT:
        cells += _error_cells(summary)
    if judged:
        cells.append(_heard_cell(summary))
    return cells + [_spread(summary.metrics.get(metric)) for metric in COLUMNS[benchmark]]


def _error_cells(summary: TargetSummary) -> list[str]:
    """Return the error rate pooled over answered cases, with failures as deletions, its mean, and its counts.

    Where a language has no words to count, they are those of its characters, and say so.
    """
    name = summary.primary
    rate = summary.error_rates.get(name)
    if rate is None:
        return ["-", "-", "-", "-"]
    label = "" if name == "wer" else f"{name.upper()} "
    counts = f"{rate.substitutions}/{rate.deletions}/{rate.insertions} of {rate.reference}"
    if rate.insertions_without_reference:
        counts += f", {rate.insertions_without_reference} of 0"
    return [
        label + _percent(rate.percent),
        _percent(rate.percent_with_failures),
        _percent(summary.metrics[name].mean),
        counts,
    ]


def _heard_cell(summary: TargetSummary) -> str:
    """Return what a judge got wrong in synthesized speech, beside what it gets wrong in human speech."""
    rate = summary.error_rates.get(_HEARD)
    return "-" if rate is None else f"{_percent(rate.percent)} (floor {_percent(rate.floor_percent)})"


def _percent(value: float | None) -> str:
    return "-" if value is None else f"{value:.1f}"


def _spread(distribution: Distribution | None) -> str:
    if distribution is None or distribution.p50 is None or distribution.p95 is None:
        return "-"
    digits = 0 if distribution.unit == "ms" else 3
    return f"{distribution.p50:.{digits}f} / {distribution.p95:.{digits}f}"
