"""What a person sees of a target's mistakes. The words are the user's own data, and are shown as plain text."""

from collections.abc import Iterator

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from sayagain.analysis.mistakes import Mistake, Mistakes, TargetMistakes
from sayagain.records import DatasetInfo
from sayagain.report.printable import printable


def mistake_parts(found: Mistakes, missing: tuple[DatasetInfo, ...]) -> Iterator[RenderableType]:
    """Yield a heading and a table for each target, and what could not be aligned and why."""
    for target in found.targets:
        yield Text(f"\n{_heading(target)}")
        if target.substitutions or target.deletions or target.insertions:
            yield mistakes_table(target)
    for dataset in missing:
        name = printable(f"{dataset.id} {dataset.version}")
        yield Text(
            f"no mistakes of {name}: no dataset here has its digest {dataset.sha256[:12]}; "
            "import it, or name its folder's parent with --datasets-dir"
        )
    if found.without_reference:
        yield Text(f"{found.without_reference} transcripts have no reference on this machine")
    if not found.targets and not missing:
        yield Text("no transcript could be aligned: mistakes are those of answered speech-to-text cases")


def mistakes_table(target: TargetMistakes) -> Table:
    """Return the table of the most frequent mistakes, one column a kind."""
    columns = {
        f"{target.substitutions} substitutions": target.most_substituted,
        f"{target.deletions} deletions": target.most_deleted,
        f"{target.insertions} insertions": target.most_inserted,
    }
    table = Table()
    for name in columns:
        table.add_column(name, overflow="fold")
    for row in range(max(len(listed) for listed in columns.values())):
        table.add_row(*(Text(_shown(listed[row]) if row < len(listed) else "") for listed in columns.values()))
    return table


def _heading(target: TargetMistakes) -> str:
    unit = "words" if target.metric == "wer" else "characters"
    errors = target.substitutions + target.deletions + target.insertions
    rate = f" ({100 * errors / target.reference:.1f} %)" if target.reference else ""
    return printable(
        f"{target.target}: {errors} mistakes in {target.reference} {unit} of {target.cases} cases{rate}"
    )


def _shown(mistake: Mistake) -> str:
    words = [_visible(word) for word in (mistake.said, mistake.heard) if word is not None]
    return printable(f"{mistake.count}  {' → '.join(words)}")


def _visible(word: str) -> str:
    """Return a word as a table can show it: a space, which is a character too, by its name."""
    return "(space)" if word == " " else word
