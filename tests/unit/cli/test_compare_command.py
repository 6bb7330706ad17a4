"""`sayagain compare` as a user runs it: real artifacts, a real ledger, exit codes and outputs."""

import json
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from xml.etree import ElementTree as ET

import msgspec
import pytest

from sayagain import cli
from sayagain.analysis.cases import Run
from sayagain.artifact.writing import write_artifact
from sayagain.ledger import Owner, open_ledger
from support.comparisons import LOST, OTHER, STT, TIMEOUT, case, header, replay_of, run, target

Compare = Callable[..., tuple[int, str, str]]


@pytest.fixture
def compare(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Compare:
    """Runs the command in a folder of its own; returns its exit code, what it printed and its complaints."""
    monkeypatch.chdir(tmp_path)

    def command(*args: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["sayagain", "compare", *args])
        with pytest.raises(SystemExit) as left:
            cli.main()
        printed = capsys.readouterr()
        assert "Traceback" not in printed.err
        return int(left.value.code or 0), printed.out, printed.err

    return command


def written(made: Run) -> str:
    finished = "2025-11-04T10:16:40Z"
    planned = made.header.cases
    path = write_artifact(
        ".", made.header, made.rows, status=made.status, reason=None, finished=finished, planned=planned
    )
    return str(path)


@pytest.fixture
def pair(compare: Compare) -> tuple[str, str]:
    a = [case("one", {"ttfs": 100.0}), case("two", failure=TIMEOUT), case("three")]
    b = [case("one", {"ttfs": 180.0}), case("two"), case("three", failure=LOST)]
    return written(run(a)), written(run(b, header("run-b")))


def test_two_artifacts_are_compared_in_a_table(compare: Compare, pair: tuple[str, str]) -> None:
    code, out, err = compare(*pair)
    assert (code, err) == (0, "")
    assert "1 fixed, 1 regressed, 1 still ok" in out
    assert "ttfs ms" in out
    assert "\x1b" not in out


def test_the_json_is_one_document_in_ascii_with_everything(compare: Compare, pair: tuple[str, str]) -> None:
    code, out, _ = compare(*pair, "--json", "--fail-on", "ttfs.p90:+10%")
    document = json.loads(out)
    assert out.isascii()
    assert code == 1
    assert document["outcomes"]["regressed"] == 1
    assert document["gates"][0]["tripped"]
    assert [figure["name"] for figure in document["targets"][0]["metrics"][0]["figures"]] == [
        "p50",
        "p95",
        "p90",
        "mean",
    ]
    assert len(document["a"]["sha256"]) == 64


def test_markdown_is_printed_for_a_pull_request(compare: Compare, pair: tuple[str, str]) -> None:
    code, out, _ = compare(*pair, "--markdown", "--fail-on", "regression")
    assert code == 1
    assert out.startswith("**1 fixed, 1 regressed, 1 still ok.** 1 of 1 gates failed.\n")


@pytest.mark.parametrize(
    ("gates", "code"),
    [
        (("regression",), 1),
        (("new-failure",), 1),
        (("wer:+0.5pp",), 0),
        (("ttfs:+50ms", "wer:+1pp"), 1),
        (("stt:moonshine/* ttfs:+81ms",), 0),
    ],
)
def test_the_exit_code_is_1_exactly_when_a_gate_trips(
    compare: Compare, pair: tuple[str, str], gates: Sequence[str], code: int
) -> None:
    found, out, _ = compare(*pair, *(part for gate in gates for part in ("--fail-on", gate)))
    assert found == code
    assert all(gate in out for gate in gates)


def test_junit_is_written_beside_whatever_is_printed(compare: Compare, pair: tuple[str, str]) -> None:
    code, _, _ = compare(*pair, "--junit", "report.xml", "--fail-on", "regression")
    root = ET.parse("report.xml").getroot()  # noqa: S314 - our own
    assert code == 1
    assert root.get("failures") == "2"
    code, _, err = compare(*pair, "--junit", "no/such/folder/report.xml")
    assert (code, err) == (2, "sayagain: cannot write no/such/folder/report.xml: No such file or directory\n")


def test_two_targets_of_one_artifact_are_compared(compare: Compare) -> None:
    rows = [case("one", {"ttfs": 100.0}), case("one", {"ttfs": 150.0}, key=OTHER)]
    path = written(run(rows, header(targets=[target(), target(OTHER)])))
    code, out, _ = compare(path, "--targets", STT, OTHER)
    assert code == 0
    assert "1 both ok" in out
    code, _, err = compare(path, "--targets", STT, "stt:nobody")
    assert code == 2
    assert err.startswith("sayagain: there is no target 'stt:nobody'; the run has 'stt:moonshine/tiny-en'")


def test_a_replay_is_told_from_a_new_run(compare: Compare) -> None:
    parent = run([case("ok"), *(case(f"bad-{n}", failure=TIMEOUT) for n in range(14))])
    again = [case(f"bad-{n}", failure=TIMEOUT if n < 3 else None) for n in range(14)]
    a, b = written(parent), written(run(again, replay_of(parent)))
    _, out, _ = compare(a, b)
    assert out.rstrip().endswith("11 of 14 fixed, 3 still fail the same way")


@pytest.mark.parametrize(
    ("args", "complaint"),
    [
        (("one.jsonl",), "compare takes two runs, A and B, or one run and --targets T1 T2; 1 named"),
        (("a", "b", "c"), "3 named"),
        (("a", "b", "--targets", "x", "y"), "compare takes one run with --targets T1 T2; 2 named"),
        (("a", "b", "--json", "--markdown"), "choose one of --json and --markdown"),
        (("a.jsonl", "b.jsonl"), "cannot read a.jsonl: No such file or directory"),
        (
            ("latest", "other"),
            "there is no file 'latest', and as a run it cannot be looked up: there is no",
        ),
        (("a", "b", "--fail-on", "wer:1"), "--fail-on 'wer:1': '1' is no limit"),
    ],
)
def test_a_wrong_usage_is_said_in_words_with_exit_code_2(
    compare: Compare, args: Sequence[str], complaint: str
) -> None:
    code, _, err = compare(*args)
    assert code == 2
    assert complaint in err


def test_runs_of_the_ledger_are_compared_with_an_artifact(compare: Compare, pair: tuple[str, str]) -> None:
    with open_ledger("sqlite:///sayagain.db") as ledger:
        ledger.insert_run(header("run-c"), Owner.current())
    code, out, err = compare(pair[0], "run-c")
    assert (code, err) == (0, "")
    assert "running" in out
    assert "3 missing in B" in out
    code, _, err = compare(pair[0], "run-d")
    assert (code, err) == (2, "sayagain: the ledger has no run 'run-d'; `sayagain runs list` shows those it has\n")


def test_no_ledger_is_made_by_looking_for_a_run(compare: Compare, tmp_path: Path) -> None:
    compare("latest", "other")
    assert list(tmp_path.iterdir()) == []


def test_runs_without_a_common_case_are_a_mismatch(compare: Compare) -> None:
    a = written(run([case("one")]))
    b = written(run([case("one", key=OTHER)], header("run-b", [target(OTHER)])))
    code, _, err = compare(a, b)
    assert code == 3
    assert "no case of A is in B" in err


def test_a_damaged_artifact_is_refused_before_anything_is_said(compare: Compare, pair: tuple[str, str]) -> None:
    damaged = Path(pair[1])
    damaged.chmod(0o600)
    damaged.write_bytes(damaged.read_bytes().replace(b"180.0", b"100.0"))
    code, out, err = compare(*pair)
    assert (code, out) == (4, "")
    assert err.startswith(f"sayagain: {damaged}, line ")
    damaged.write_bytes(damaged.read_bytes()[:-40])
    assert compare(*pair)[0] == 4


def test_the_same_seed_prints_the_same_intervals(compare: Compare) -> None:
    rows = [[case(f"i{n}", {"ttfs": 100.0 + n * (7 + side) % 13}) for n in range(20)] for side in (0, 1)]
    a, b = written(run(rows[0])), written(run(rows[1], header("run-b")))
    first, again, other = (compare(a, b, "--json", "--seed", seed)[1] for seed in ("5", "5", "6"))
    assert first == again != other


def test_speakers_come_from_the_local_dataset_that_has_the_digest_of_the_header(compare: Compare) -> None:
    from sayagain.datasets.catalog import describe

    dataset = describe("librivox-5", Path("datasets"))
    info = msgspec.structs.replace(header().datasets[0], id="any name", sha256=dataset.sha256)
    rows = [
        [msgspec.structs.replace(row, item_digest=item.digest) for row in case(item.id)] for item in dataset.items
    ]
    for digest, clusters in ((dataset.sha256, 1), ("0" * 64, 5)):
        datasets = (msgspec.structs.replace(info, sha256=digest),)
        a = written(run(rows, header(f"a-{clusters}", datasets=datasets)))
        b = written(run(rows, header(f"b-{clusters}", datasets=datasets)))
        document = json.loads(compare(a, b, "--json")[1])
        assert document["targets"][0]["metrics"][0]["clusters"] == clusters


def test_the_help_states_every_form_and_exit_code(compare: Compare) -> None:
    code, out, _ = compare("--help")
    assert code == 0
    for words in ("sayagain compare A B", "sayagain compare A --targets T1 T2", "1 a gate tripped", "4 a corrupt"):
        assert words in out
