"""What a person sees of figures: intervals, ranks with ties, and what is too little for either."""

import io

import msgspec
from rich.console import Console

from sayagain.analysis.cases import gather
from sayagain.analysis.costs import Cost
from sayagain.analysis.figures import figures_of
from sayagain.analysis.floors import FloorFinder
from sayagain.analysis.slices import By
from sayagain.records import Item, ResultRow, content_digest
from sayagain.report.figures import figure_parts
from support.comparisons import OTHER, STT, case


def latencies(key: str, first: float, count: int = 20) -> list[ResultRow]:
    return [row for n in range(count) for row in case(f"i{n}", {"ttfs": first + n}, key=key, errors=n % 3)]


def cells(rows: list[ResultRow], by: By | None = None, items: dict[str, Item] | None = None) -> list[list[str]]:
    console = Console(file=io.StringIO(), width=160)
    for part in figure_parts(figures_of(gather(rows), items or {}, by), ()):
        console.print(part)
    assert isinstance(console.file, io.StringIO)
    shown = console.file.getvalue().splitlines()
    return [[cell.strip() for cell in line.strip("│").split("│")] for line in shown]


def test_each_figure_has_its_interval_and_each_target_its_rank() -> None:
    found = cells([*latencies(STT, 100.0), *latencies(OTHER, 500.0)])
    (first,) = [row for row in found if row[0] == "ttfs ms"]
    assert first[1:5] == ["moonshine/tiny-en", "1", "20", "20"]
    assert first[5].startswith("110 [10")
    assert first[6] == "118"  # 20 items are too few for the interval of a 95th percentile
    assert [row[2] for row in found if row[1:2] == ["pocketsphinx/default"]] == ["", "2", "1="]


def test_a_tie_is_shown_as_a_tie() -> None:
    found = cells([*latencies(STT, 100.0), *latencies(OTHER, 100.0)])
    (row,) = [row for row in found if row[0] == "ttfs ms"]
    assert row[2] == "1="


def test_too_little_is_called_insufficient_and_has_no_interval() -> None:
    found = cells(latencies(STT, 100.0, count=4))
    (row,) = [row for row in found if row[0] == "wer %"]
    assert row[2:6] == ["insufficient", "4", "4", "7.5"]
    (answered,) = [row for row in found if row[0] == "answered %"]
    assert answered[5] == "100.0 [51.0, 100.0]"


def test_the_slices_of_a_run_are_tables_of_their_own_and_named() -> None:
    items = {content_digest(["i0", ""]): Item(id="i0", text="t", sha256="0", speaker="\x1b[2Jann")}
    titles = [row[0] for row in cells(latencies(STT, 100.0), By.SPEAKER, items) if row[0].startswith("Speech")]
    assert titles == [
        "Speech to text: speaker \N{REPLACEMENT CHARACTER}[2Jann",
        "Speech to text: items whose dataset is not here",
    ]


def test_the_floor_of_a_judge_is_found_among_the_rows_and_stated() -> None:
    rows = case("a", key=STT)
    row = msgspec.structs.replace(
        rows[-1],
        metric="intelligibility_wer",
        reason="heard by an ear 1",
        detail={"S": 1, "D": 0, "I": 0, "N": 8, "floor_errors": 3, "floor_words": 90},
    )
    finder = FloorFinder()
    assert list(finder.noted([*rows, row])) == [*rows, row]
    (line,) = figure_parts((), [], finder.found)
    assert str(line) == (
        "intelligibility_wer was heard by an ear 1; its floor, pooled over human speech in the same run, is "
        "3.3 % (3 errors in 90 words)."
    )


def test_a_run_without_a_judge_has_no_floor() -> None:
    finder = FloorFinder()
    list(finder.noted(case("a", key=STT)))
    assert finder.found is None


def test_a_price_is_shown_with_its_date_and_where_it_was_said() -> None:
    cost = Cost(
        target=STT,
        amount=0.36,
        currency="USD",
        per="hour of audio",
        price="0.006 USD a minute (2026-01-31, its price list)",
        date="2026-01-31",
    )
    (line,) = figure_parts((), [cost])
    assert (
        str(line) == f"price of {STT}: 0.36 USD per hour of audio; 0.006 USD a minute (2026-01-31, its price list)"
    )
