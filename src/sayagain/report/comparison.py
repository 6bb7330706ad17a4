"""A comparison on a terminal.

An artifact is a stranger's file: nothing in it becomes markup or a control character.
"""

from collections.abc import Iterable

from rich.console import Console
from rich.table import Table
from rich.text import Text

from sayagain.analysis.gating import GateResult
from sayagain.analysis.model import Comparison
from sayagain.artifact.plaintext import one_line
from sayagain.report.comparison_text import TextTable, gates_table, headline, remarks, tables

PLAIN_WIDTH = 160
"""Columns of a table that does not go to a terminal."""

MAX_CELL = 200
"""Characters of a cell; `--json` has the whole text."""


def print_comparison(comparison: Comparison, gates: Iterable[GateResult], console: Console | None = None) -> None:
    """Print a comparison as tables, with what matters most at the end, where the eye is."""
    console = console or _console()
    for table in tables(comparison):
        _print_table(console, table)
    verdicts = gates_table(gates)
    if verdicts.rows:
        _print_table(console, verdicts)
    for sentence in (*remarks(comparison), headline(comparison)):
        console.print(_text(sentence), soft_wrap=True)


def _print_table(console: Console, table: TextTable) -> None:
    shown = Table(title=_text(table.title), title_justify="left", title_style="bold")
    for place, column in enumerate(table.columns):
        shown.add_column(_text(column), justify="right" if place >= table.numbers else "left", overflow="fold")
    for row in table.rows:
        shown.add_row(*(_text(cell) for cell in row))
    console.print(shown)
    if table.omitted:
        console.print(_text(f"and {table.omitted} more; --json has all"), soft_wrap=True)


def _text(cell: str) -> Text:
    """`Text` is never parsed for markup."""
    line = one_line(cell)
    return Text(line if len(line) <= MAX_CELL else f"{line[: MAX_CELL - 1]}…")


def _console() -> Console:
    console = Console(markup=False, highlight=False, emoji=False)
    if not console.is_terminal:
        console.width = PLAIN_WIDTH
    return console
