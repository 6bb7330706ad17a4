"""What the documents tell a reader to type is what the command takes."""

import re
import shlex
from pathlib import Path

import pytest

from sayagain.analysis.gates import parse_gate
from sayagain.analysis.outcomes import Outcome
from sayagain.analysis.statistics import MIN_CLUSTERS, RESAMPLES, minimum_clusters
from sayagain.cli.compare import command

DOCS = Path(__file__).parents[3] / "docs"
COMPARING = DOCS / "comparing.md"
WORKFLOW = DOCS / "examples" / "compare-on-pull-request.yml"


@pytest.mark.parametrize("document", [COMPARING, WORKFLOW], ids=lambda path: path.name)
def test_every_gate_in_the_documents_is_one(document: Path) -> None:
    gates = re.findall(r"--fail-on ('[^']*'|\S+)", document.read_text("utf-8"))
    assert len(gates) >= 3
    for gate in gates:
        parse_gate(*shlex.split(gate.rstrip(".")))


@pytest.mark.parametrize("document", [COMPARING, WORKFLOW], ids=lambda path: path.name)
def test_every_option_in_the_documents_exists(document: Path) -> None:
    known = {option for parameter in command.params for option in parameter.opts}
    used = set(re.findall(r"(?<![\w-])--[a-z][a-z-]+", document.read_text("utf-8"))) - {"--kind"}
    assert used <= known


def test_the_page_explains_every_outcome_and_states_the_numbers_of_the_code() -> None:
    page = COMPARING.read_text("utf-8")
    assert all(f"| `{outcome}` |" in page for outcome in Outcome)
    assert f"{RESAMPLES:,} resamples" in page
    assert f"fewer than {MIN_CLUSTERS} clusters" in page
    assert f"which is {minimum_clusters(95)} for the 95th" in page


def test_the_example_workflow_names_no_registry() -> None:
    text = WORKFLOW.read_text("utf-8")
    assert "://" not in text
    assert "permissions:\n  contents: read" in text
