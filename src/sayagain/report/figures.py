"""What a person sees of a run's figures: each with its n and interval, ranks with ties, and prices."""

from collections.abc import Iterable, Iterator, Sequence

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from sayagain.analysis.costs import Cost
from sayagain.analysis.figures import MetricFigures, MetricTable, SliceFigures
from sayagain.analysis.floors import Floor
from sayagain.analysis.statistics import MIN_CLUSTERS, Estimate
from sayagain.records import Benchmark
from sayagain.report.printable import printable

_TITLES = {Benchmark.STT: "Speech to text", Benchmark.TTS: "Text to speech"}

LEGEND = (
    "n: values; units: independent units (speakers or recordings where the dataset names them, else items). "
    "[low, high]: 95 % interval. pooled: all errors ÷ all reference words; with failed: failed cases count as "
    "deletions. rank: 1 + targets that are better beyond the interval, over items both answered; = ties with "
    f"another; insufficient: fewer than {MIN_CLUSTERS} units. docs/methodology.md explains each."
)


def figure_parts(
    slices: Sequence[SliceFigures], costs: Iterable[Cost], floor: Floor | None = None
) -> Iterator[RenderableType]:
    """Yield a table for each slice and benchmark, what its columns mean, the judge's floor, and the prices."""
    any_figures = False
    for part in slices:
        for benchmark in Benchmark:
            tables = [_of_benchmark(table, benchmark) for table in part.metrics]
            answered = {key: one for key, one in part.answered.items() if key.startswith(f"{benchmark}:")}
            if answered:
                any_figures = True
                title = _TITLES[benchmark] + ("" if len(slices) == 1 and part.name == "all" else f": {part.name}")
                yield _table(title, answered.items(), [table for table in tables if table.targets])
    if any_figures:
        yield Text(LEGEND)
    if floor is not None:
        yield Text(_floor_line(floor))
    for cost in costs:
        yield Text(_cost_line(cost))


def _of_benchmark(table: MetricTable, benchmark: Benchmark) -> MetricTable:
    targets = tuple(one for one in table.targets if one.target.startswith(f"{benchmark}:"))
    return MetricTable(metric=table.metric, unit=table.unit, targets=targets)


def _table(title: str, answered: Iterable[tuple[str, Estimate]], metrics: Sequence[MetricTable]) -> Table:
    table = Table(title=Text(printable(title)), title_justify="left", title_style="bold")
    table.add_column("metric", no_wrap=True)
    table.add_column("target", overflow="fold")
    for name in ("rank", "n", "units", "pooled or p50", "with failed or p95", "mean"):
        table.add_column(name, justify="right")
    for number, (target, estimate) in enumerate(answered):
        label = "answered %" if number == 0 else ""
        table.add_row(label, _name(target), "", str(estimate.n), "", _share(estimate), "", "")
    for metric in metrics:
        table.add_section()
        for number, row in enumerate(metric.targets):
            label = printable(f"{metric.metric} {metric.unit}") if number == 0 else ""
            table.add_row(
                label, _name(row.target), _rank(row), str(row.n), str(row.clusters), *_cells(row, metric.unit)
            )
    return table


def _cells(row: MetricFigures, unit: str) -> tuple[str, str, str]:
    second = "pooled_with_failures" if "pooled" in row.figures else "p95"
    first = "pooled" if "pooled" in row.figures else "p50"
    one, two, three = (_estimate(row.figures.get(name), unit) for name in (first, second, "mean"))
    return one, two, three


def _rank(row: MetricFigures) -> str:
    if row.rank is not None:
        return f"{row.rank.rank}{'=' if row.rank.ties else ''}"
    return "insufficient" if row.insufficient else ""


def _estimate(estimate: Estimate | None, unit: str) -> str:
    if estimate is None or estimate.value is None:
        return "-"
    digits = {"ms": 0, "%": 1, "dBFS": 1}.get(unit, 3)
    if estimate.low is None or estimate.high is None:
        return f"{estimate.value:.{digits}f}"
    return f"{estimate.value:.{digits}f} [{estimate.low:.{digits}f}, {estimate.high:.{digits}f}]"


def _share(estimate: Estimate) -> str:
    figures = [None if part is None else 100 * part for part in (estimate.value, estimate.low, estimate.high)]
    percent = Estimate(value=figures[0], low=figures[1], high=figures[2], n=estimate.n, clusters=estimate.clusters)
    return _estimate(percent, "%")


def _name(target: str) -> Text:
    return Text(printable(target.partition(":")[2]))


def _floor_line(floor: Floor) -> str:
    return printable(
        f"intelligibility_wer was {floor.judge}; its floor, pooled over human speech in the same run, is "
        f"{100 * floor.errors / floor.words:.1f} % ({floor.errors} errors in {floor.words} words)."
    )


def _cost_line(cost: Cost) -> str:
    if cost.amount is None:
        return printable(f"price of {cost.target}: {cost.price}")
    return printable(f"price of {cost.target}: {cost.amount:g} {cost.currency} per {cost.per}; {cost.price}")
