"""`sayagain runs show`: figures with n and interval, whole or split, for people and as JSON."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from sayagain.cli.runs import command
from sayagain.ledger import Ledger, Owner
from sayagain.metrics import score
from sayagain.records import Attempt, Case, FinishedCase, Item, RunStatus, ScoredCase
from support.datasets import written

ITEMS = [
    Item(
        id=f"kettle-{n}",
        text="Put the kettle on.",
        sha256=f"{n:064x}",
        audio="a.wav",
        speaker="ann" if n < 4 else "bob",
        tags=("noisy",) if n % 2 else (),
        duration_s=1.0 + 4.5 * n,
    )
    for n in range(6)
]

Invoke = Callable[..., Result]


@pytest.fixture
def invoke(tmp_path: Path, ledger: Ledger, ledger_url: str, make: Any) -> Invoke:
    """Record a run over six items, of which the last failed, and run `sayagain runs show` on it."""
    dataset = written(tmp_path / "datasets", ITEMS)
    ledger.insert_run(make.header("run-1", 6, datasets=(dataset,)), Owner.current())
    for position, item in enumerate(ITEMS):
        failure = make.failure() if position == 5 else None
        heard = None if failure else "put a kettle on"
        attempt = Attempt(number=1, trace=make.trace(heard), failure=failure)
        finished = FinishedCase(case=Case.of(make.target(), item, position=position), attempts=(attempt,))
        results = tuple(result for result in score(finished) if result.metric in {"wer", "cer", "wer_whisper"})
        ledger.record("run-1", [ScoredCase(finished=finished, results=results)])
    ledger.finalize("run-1", RunStatus.PARTIAL)

    def run(*arguments: str) -> Result:
        folder = str(tmp_path / "datasets")
        arguments = ("show", "latest", *arguments, "--db", ledger_url, "--datasets-dir", folder)
        return CliRunner().invoke(command, list(arguments), catch_exceptions=False)

    return run


def slices(result: Result) -> dict[str, Any]:
    found = {}
    for part in json.loads(result.stdout)["figures"]:
        (wer,) = [table for table in part["metrics"] if table["metric"] == "wer"]
        found[part["name"]] = wer["targets"][0]
    return found


def test_the_whole_run_has_its_figures_as_json(invoke: Invoke) -> None:
    wer = slices(invoke("--json"))["all"]
    assert wer["figures"]["pooled"]["value"] == 25
    assert wer["figures"]["pooled_with_failures"]["value"] == pytest.approx(100 * (5 + 4) / 24)
    assert (wer["n"], wer["clusters"]) == (5, 2)
    assert wer["rank"] is None
    assert wer["insufficient"]


@pytest.mark.parametrize(
    ("by", "sizes"),
    [
        ("tag", {"tag noisy": 2, "no tag": 3}),
        ("speaker", {"speaker ann": 4, "speaker bob": 1}),
        (
            "duration",
            {"0 s to below 2 s": 1, "5 s to below 10 s": 1, "10 s to below 20 s": 3, "20 s to below 60 s": 0},
        ),
    ],
)
def test_it_is_split_by_what_the_items_say_of_themselves(invoke: Invoke, by: str, sizes: dict[str, int]) -> None:
    assert {name: wer["n"] for name, wer in slices(invoke("--by", by, "--json")).items()} == sizes
    shown = invoke("--by", by).output
    assert all(f"Speech to text: {name}" in shown for name in sizes)


def test_people_see_the_same_in_a_table_with_what_its_columns_mean(invoke: Invoke) -> None:
    shown = invoke().output
    (row,) = [line for line in shown.splitlines() if line.startswith("│ wer % ")]
    cells = [cell.strip() for cell in row.strip("│").split("│")]
    assert cells == ["wer %", "moonshine/base", "insufficient", "5", "2", "25.0", "37.5", "25.0"]
    assert "95 % interval" in shown
