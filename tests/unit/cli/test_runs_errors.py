"""`sayagain runs show --errors`: the words that were misheard, from the ledger and the datasets that are here."""

import json
import shutil
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
    Item(id="kettle", text="Put the kettle on.", sha256="1" * 64, audio="a.wav"),
    Item(id="lamp", text="Put the lamp out.", sha256="2" * 64, audio="b.wav"),
]
HEARD = ["put a kettle on", "put a lamp out \x1b[2Jnow"]

Invoke = Callable[..., Result]


@pytest.fixture
def invoke(tmp_path: Path, ledger: Ledger, ledger_url: str, make: Any) -> Invoke:
    """Record a run over a dataset of two items, and run `sayagain runs show` on it."""
    dataset = written(tmp_path / "datasets", ITEMS)
    ledger.insert_run(make.header("run-1", 3, datasets=(dataset,)), Owner.current())
    for position, (item, heard) in enumerate(zip(ITEMS, HEARD, strict=True)):
        attempt = Attempt(number=1, trace=make.trace(heard))
        finished = FinishedCase(case=Case.of(make.target(), item, position=position), attempts=(attempt,))
        ledger.record("run-1", [ScoredCase(finished=finished, results=score(finished))])
    ledger.finalize("run-1", RunStatus.SUCCEEDED)

    def run(*arguments: str) -> Result:
        folder = str(tmp_path / "datasets")
        arguments = ("show", "latest", *arguments, "--db", ledger_url, "--datasets-dir", folder)
        return CliRunner().invoke(command, list(arguments), catch_exceptions=False)

    return run


def test_the_most_frequent_mistakes_of_each_target_are_shown_when_asked(invoke: Invoke) -> None:
    shown = invoke("--errors").output
    assert "stt:moonshine/base: 4 mistakes in 8 words of 2 cases (50.0 %)" in shown
    assert "2  the → a" in shown
    assert "2 insertions" in shown


def test_no_word_is_shown_unless_it_is_asked_for(invoke: Invoke) -> None:
    for form in ((), ("--json",)):
        shown = invoke(*form).output
        assert "kettle on" not in shown
        assert "the → a" not in shown


def test_what_a_provider_heard_cannot_steer_the_terminal(invoke: Invoke) -> None:
    assert "\x1b" not in invoke("--errors").output


def test_as_json_the_numbers_are_those_of_the_scores(invoke: Invoke, ledger: Ledger) -> None:
    (target,) = json.loads(invoke("--errors", "--json").stdout)["errors"]["targets"]
    details = [row.detail or {} for row in ledger.rows("run-1", lambda _: (None, None)) if row.metric == "wer"]
    assert target["reference"] == sum(detail["N"] for detail in details)
    for kind, name in (("S", "substitutions"), ("D", "deletions"), ("I", "insertions")):
        assert target[name] == sum(detail[kind] for detail in details)


def test_a_dataset_that_is_not_here_is_named_with_what_to_do(invoke: Invoke, tmp_path: Path) -> None:
    shutil.rmtree(tmp_path / "datasets")
    shown = invoke("--errors").output
    assert "no mistakes of own 1" in shown
    assert "--datasets-dir" in shown
    assert "2 transcripts have no reference" in shown


def test_a_dataset_of_the_same_name_with_other_texts_is_not_taken_for_it(invoke: Invoke, tmp_path: Path) -> None:
    shutil.rmtree(tmp_path / "datasets")
    written(tmp_path / "datasets", [Item(id="kettle", text="Put it on.", sha256="1" * 64, audio="a.wav")])
    assert "no mistakes of own 1" in invoke("--errors").output
