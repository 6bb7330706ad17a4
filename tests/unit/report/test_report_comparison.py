"""A comparison on a terminal, in Markdown and in JUnit XML: complete, and harmless whatever an artifact holds."""

import html
import io
import re
from xml.etree import ElementTree as ET

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.console import Console

from sayagain.analysis.comparison import compare_runs, compare_targets
from sayagain.analysis.gates import parse_gate
from sayagain.analysis.gating import GateResult, check_gates
from sayagain.analysis.model import Comparison
from sayagain.report.comparison import print_comparison
from sayagain.report.comparison_junit import junit
from sayagain.report.comparison_markdown import escaped, markdown
from sayagain.report.comparison_text import SHOWN_ROWS, headline, tables
from support.comparisons import LOST, OTHER, STT, TIMEOUT, case, header, replay_of, run, target


def compared() -> Comparison:
    a = [case("fixed", failure=TIMEOUT), case("broken"), case("same", failure=TIMEOUT), case("gone")]
    b = [case("fixed"), case("broken", failure=LOST), case("same", failure=TIMEOUT), case("added", failure=LOST)]
    return compare_runs(run(a), run(b, header("run-b")))


def verdicts(comparison: Comparison, *gates: str) -> tuple[GateResult, ...]:
    return check_gates([parse_gate(gate) for gate in gates], comparison)


def parsed(document: bytes) -> ET.Element:
    return ET.fromstring(document)  # noqa: S314 - our own


def on_terminal(comparison: Comparison, gates: tuple[GateResult, ...] = ()) -> str:
    written = io.StringIO()
    print_comparison(comparison, gates, Console(file=written, width=200, force_terminal=True, color_system=None))
    return written.getvalue()


def test_the_headline_counts_each_outcome() -> None:
    assert headline(compared()) == "1 fixed, 1 regressed, 1 same failure, 1 missing in B, 1 new in B"


def test_a_replay_is_summed_up_as_the_on_call_engineer_asked() -> None:
    parent = run([case("ok"), *(case(f"bad-{n}", failure=TIMEOUT) for n in range(14))])
    again = [case(f"bad-{n}", failure=TIMEOUT if n < 3 else None) for n in range(14)]
    comparison = compare_runs(parent, run(again, replay_of(parent)))
    assert headline(comparison) == "11 of 14 fixed, 3 still fail the same way"
    assert "is no new score of the full run. 1 cases were not replayed." in on_terminal(comparison)


def test_a_replay_names_every_other_ending_too() -> None:
    parent = run([case(f"bad-{n}", failure=TIMEOUT) for n in range(3)])
    again = [case("bad-0", failure=LOST), case("bad-1"), case("late")]
    comparison = compare_runs(parent, run(again, replay_of(parent)))
    assert headline(comparison) == (
        "1 of 2 fixed, 0 still fail the same way, 1 fail differently, 1 that A had not run"
    )


def test_two_targets_are_not_said_to_fix_each_other() -> None:
    rows = [case("one", failure=TIMEOUT), case("one", key=OTHER), case("two"), case("two", key=OTHER)]
    comparison = compare_targets(run(rows, header(targets=[target(), target(OTHER)])), STT, OTHER)
    assert headline(comparison) == "1 only A failed, 1 both ok"
    assert STT in on_terminal(comparison)


def test_what_is_not_equivalent_is_named_in_every_output() -> None:
    comparison = compare_runs(run([case("one")]), run([case("one")], header("run-b", normalizer="other/1")))
    for output in (on_terminal(comparison), html.unescape(markdown(comparison, ()))):
        assert "Not equivalent: normalizer." in output
        assert "not compared: wer" in output


@pytest.mark.parametrize("metric", ["@everyone", "https://evil.example", "<b>wer</b>"])
def test_the_name_of_a_metric_is_a_strangers_word_too(metric: str) -> None:
    a, b = (
        [msgspec.structs.replace(row, metric=metric, unit=unit) for row in case("one")] for unit in ("ms", "s")
    )
    written = markdown(compare_runs(run([a]), run([b], header("run-b"))), ())
    outside_code = re.sub("<code>.*?</code>", "", written)
    assert "everyone" not in outside_code
    assert "evil" not in outside_code
    assert "<b>" not in written


def test_what_a_replay_was_allowed_to_change_is_named() -> None:
    parent = run([case("one", failure=TIMEOUT)])
    child = run([case("one")], replay_of(parent, allowed_differences=("settings.language",)))
    assert "Not equivalent: a replay was allowed to differ in settings.language." in on_terminal(
        compare_runs(parent, child)
    )


def test_a_tripped_gate_is_named_with_its_reason_in_every_output() -> None:
    comparison = compared()
    gates = verdicts(comparison, "regression", "success:-90pp")
    reason = "succeeded in A and failed in B: 1 (stt:moonshine/tiny-en broken)"
    assert reason in on_terminal(comparison, gates)
    written = html.unescape(markdown(comparison, gates))
    assert reason in written
    assert "1 of 2 gates failed" in written
    suite = parsed(junit(comparison, gates)).find("testsuite[@name='gates']")
    assert suite is not None
    assert (suite.get("tests"), suite.get("failures")) == ("2", "1")
    failure = suite.find("testcase[@name='regression']/failure")
    assert failure is not None
    assert failure.get("message") == reason


def test_junit_fails_what_is_newly_broken_and_skips_what_fails_as_before_or_did_not_run() -> None:
    root = parsed(junit(compared(), ()))
    found = {one.get("name"): [child.tag for child in one] for one in root.iter("testcase")}
    assert found == {
        "fixed": [],
        "broken": ["failure"],
        "same": ["skipped"],
        "gone": ["skipped"],
        "added": ["failure"],
    }
    assert (root.get("tests"), root.get("failures"), root.get("skipped")) == ("5", "2", "2")
    assert [suite.get("name") for suite in root] == [STT]


def test_long_lists_are_cut_and_say_by_how_much() -> None:
    many = SHOWN_ROWS + 7
    a, b = [case(f"i{n}") for n in range(many)], [case(f"i{n}", failure=LOST) for n in range(many)]
    comparison = compare_runs(run(a), run(b, header("run-b")))
    assert [table.omitted for table in tables(comparison) if table.omitted] == [7]
    assert "and 7 more" in on_terminal(comparison)
    assert "and 7 more" in markdown(comparison, ())


HOSTILE = (
    "\x1b[31mred",
    "\x1b]8;;https://evil.example\x07link",
    "\x9b2J",
    "[bold red]loud[/]",
    "[link=https://evil.example]x[/link]",
    "| cell | injected |",
    "`code`",
    "<script>alert(1)</script><img src=x onerror=y>",
    "@everyone",
    "#12 GH-34",
    "https://evil.example www.evil.example",
    "![image](https://evil.example/x.png)",
    "one\ntwo\r\n| three |",
    "&lt;b&gt; &#124;",
    "back\\slash **bold** _it_ ~~no~~",
    "\u202eesrever\u202c\u200b",
    ":smile: $math$",
    "\ufffe\uffff\x00",
)


def hostile(text: str) -> Comparison:
    failing = msgspec.structs.replace(LOST, message=text, code=text)
    key = f"stt:{text}/model"
    ends = [target(key, settings={text: text})], [target(key, settings={text: "other"})]
    rows = [case(text, key=key), case("x", failure=failing, key=key)]
    again = [case(text, failure=failing, key=key), case("x", failure=failing, key=key)]
    return compare_runs(
        run(rows, header(text, ends[0], normalizer=text, started=text)),
        run(again, header(f"{text}b", ends[1], normalizer="other")),
    )


@pytest.mark.parametrize("text", HOSTILE)
def test_nothing_in_an_artifact_steers_a_terminal(text: str) -> None:
    comparison = hostile(text)
    shown = on_terminal(comparison, verdicts(comparison, "regression", "new-failure"))
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u202a-\u202e]", without_style(shown))
    assert "]8;" not in shown


def without_style(shown: str) -> str:
    """Remove the sequences that rich itself writes for a bold title, which no text of ours can hold."""
    return re.sub(r"\x1b\[[0-9;]*m", "", shown)


def cells(line: str) -> list[str]:
    return line.removeprefix("| ").removesuffix(" |").split(" | ")


@pytest.mark.parametrize("text", HOSTILE)
def test_nothing_in_an_artifact_becomes_markdown_html_a_link_or_a_mention(text: str) -> None:
    comparison = hostile(text)
    written = markdown(comparison, verdicts(comparison, "regression", "new-failure"))
    ours = re.compile(r"</?code>|`--json`|\*\*|&#\d+;")
    assert not re.search(r"[<>`\[\]*_~@\\!$]|www\.|://", ours.sub("", written))
    outside_code = re.sub("<code>.*?</code>", "", written)
    assert "evil" not in outside_code
    assert "everyone" not in outside_code
    assert all(line.isprintable() for line in written.split("\n"))
    widths = [len(cells(line)) for line in written.split("\n") if line.startswith("| ")]
    headers = [len(table.columns) for table in tables(comparison) for _ in range(len(table.rows) + 2)]
    assert sorted(widths) == sorted([*headers, 3, 3, 3, 3])


@settings(max_examples=200)
@given(st.text(st.characters(), max_size=60))
def test_escaped_markdown_is_one_line_of_harmless_characters(text: str) -> None:
    shown = escaped(text, 30)
    assert "\n" not in shown
    assert not re.search(r"[<>`|\[\]*_@\\\x00-\x1f\x7f]|://|www\.", shown, re.IGNORECASE)
    assert "&" not in re.sub(r"&#\d+;", "", shown)


@settings(max_examples=60, deadline=None)
@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=30))
def test_any_text_in_an_artifact_gives_well_formed_junit(text: str) -> None:
    root = parsed(junit(hostile(text), ()))
    assert len(list(root.iter("testcase"))) == len({text, "x"})
