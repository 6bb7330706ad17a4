"""A comparison in Markdown for a pull request: nothing in an artifact becomes markup, a link or a mention."""

import re
from collections.abc import Iterable, Iterator

from sayagain.analysis.gating import GateResult
from sayagain.analysis.model import Comparison
from sayagain.artifact.plaintext import one_line
from sayagain.report.comparison_text import TextTable, gates_table, headline, remarks, tables

MAX_CELL = 120
"""Characters of a cell; `--json` has the whole text."""

_SPECIAL = re.compile(r"[^\w ,;:.()%+/=-]|_|:(?=/)|(?<=www)\.", re.IGNORECASE)
"""All that Markdown, HTML or a forge's link finder could take for something other than itself."""

_NUMBERS = re.compile(r"[-+\d.,%/\[\] ]{0,40}", re.ASCII)
"""What no forge can take for a mention or a reference."""


def markdown(comparison: Comparison, gates: Iterable[GateResult]) -> str:
    """Return a comparison as GitHub-flavoured Markdown, ending in a newline."""
    return "\n".join(_lines(comparison, tuple(gates)))


def escaped(text: str, limit: int | None = None) -> str:
    """Return a text as one line of Markdown that shows just its characters.

    Special characters become numeric references, which CommonMark never takes for structure.
    """
    line = one_line(text)
    if limit is not None and len(line) > limit:
        line = f"{line[: limit - 1]}…"
    return _SPECIAL.sub(lambda match: f"&#{ord(match.group())};", line)


def _lines(comparison: Comparison, gates: tuple[GateResult, ...]) -> Iterator[str]:
    tripped = sum(gate.tripped for gate in gates)
    verdict = f" {tripped} of {len(gates)} gates failed." if gates else ""
    yield f"**{escaped(headline(comparison))}.**{verdict}"
    yield ""
    for sentence in remarks(comparison):
        yield from (_code(sentence), "")
    verdicts = gates_table(gates)
    for table in (*([verdicts] if verdicts.rows else []), *tables(comparison)):
        yield from _table(table)


def _table(table: TextTable) -> Iterator[str]:
    yield from (f"#### {_code(table.title)}", "")
    yield _row(map(escaped, table.columns))
    yield _row("--:" if place >= table.numbers else ":--" for place in range(len(table.columns)))
    for row in table.rows:
        yield _row(map(_cell, row))
    yield ""
    if table.omitted:
        yield from (f"and {table.omitted} more; `--json` has all", "")


def _cell(text: str) -> str:
    return escaped(text) if _NUMBERS.fullmatch(text) else _code(text, MAX_CELL)


def _code(text: str, limit: int | None = None) -> str:
    """A code element keeps forges from finding mentions and references in it."""
    shown = escaped(text, limit)
    return f"<code>{shown}</code>" if shown else ""


def _row(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"
