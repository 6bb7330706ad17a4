"""The table of one benchmark, as a run and its artifact show it."""

import sys
from collections.abc import Sequence

from rich.console import Console
from rich.table import Table

from sayagain.metrics.aggregate import Distribution, TargetSummary
from sayagain.records import Benchmark

PLAIN_WIDTH = 132
"""Columns of a table that does not go to a terminal."""

COLUMNS = {
    Benchmark.STT: ("ttft", "ttfs", "finalization"),
    Benchmark.TTS: ("ttfa", "synthesis", "rtf", "stall"),
}
"""The metrics of each benchmark's table whose distribution is shown."""


def wide_console() -> Console:
    """Return a console as wide as the terminal, or as a table needs where there is none."""
    return Console() if sys.stdout.isatty() else Console(width=PLAIN_WIDTH)


def benchmark_table(benchmark: Benchmark, summaries: Sequence[TargetSummary]) -> Table:
    """Return the table of one benchmark; distributions are shown as p50 / p95."""
    title = {Benchmark.STT: "Speech to text", Benchmark.TTS: "Text to speech"}[benchmark]
    table = Table(title=f"{title} (p50 / p95)", title_justify="left", title_style="bold")
    table.add_column("target", no_wrap=True)
    table.add_column("ok", justify="right")
    table.add_column("failed", justify="right")
    if benchmark is Benchmark.STT:
        table.add_column("WER %", justify="right")
        table.add_column("S/D/I of N", justify="right")
    for metric in COLUMNS[benchmark]:
        unit = next((s.metrics[metric].unit for s in summaries if metric in s.metrics), "")
        table.add_column(f"{metric} {unit}".strip(), justify="right")
    for summary in summaries:
        table.add_row(*_cells(benchmark, summary))
    return table


def _cells(benchmark: Benchmark, summary: TargetSummary) -> list[str]:
    cells = [summary.target.removeprefix(f"{benchmark}:"), str(summary.cases_succeeded), str(summary.cases_failed)]
    if benchmark is Benchmark.STT:
        rate = summary.error_rates.get("wer")
        if rate is None or rate.percent is None:
            cells += ["-", "-"]
        else:
            counts = f"{rate.substitutions}/{rate.deletions}/{rate.insertions}"
            cells += [f"{rate.percent:.1f}", f"{counts} of {rate.reference}"]
    return cells + [_spread(summary.metrics.get(metric)) for metric in COLUMNS[benchmark]]


def _spread(distribution: Distribution | None) -> str:
    if distribution is None or distribution.p50 is None or distribution.p95 is None:
        return "-"
    digits = 0 if distribution.unit == "ms" else 3
    return f"{distribution.p50:.{digits}f} / {distribution.p95:.{digits}f}"
