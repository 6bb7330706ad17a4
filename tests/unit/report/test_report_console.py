"""What a person sees at the end of a run, and while it goes on."""

import io
import re

import msgspec
import pytest
from rich.console import Console

from sayagain.failures import failed
from sayagain.metrics.aggregate import Distribution, ErrorRate, TargetSummary
from sayagain.records import (
    Attempt,
    Benchmark,
    Case,
    CaseCounts,
    FailureKind,
    FinishedCase,
    Phase,
    RunStatus,
    Target,
    Trace,
)
from sayagain.report.console import RunReport, print_report
from sayagain.report.progress import Bars, Silence, Unbreakable, display_for
from sayagain.runner.plan import Plan, make_plan
from support.plans import dataset_of


def spread(p50: float | None, p95: float | None, unit: str = "ms") -> Distribution:
    return Distribution(unit=unit, n=9, undefined=0, failed=1, mean=p50, p50=p50, p95=p95)


def summary(error_rate: str = "wer", insertions_without_reference: int = 0) -> TargetSummary:
    rate = ErrorRate(
        percent=4.44,
        percent_with_failures=14.04,
        substitutions=3,
        deletions=1,
        insertions=0,
        reference=90,
        reference_failed=10,
        insertions_without_reference=insertions_without_reference,
    )
    metrics = {"ttft": spread(612.4, 858.9), "ttfs": spread(-12.0, 40.0), error_rate: spread(5.2, 9.0, "%")}
    return TargetSummary(
        target="stt:moonshine/tiny-en",
        cases_succeeded=9,
        cases_failed=1,
        metrics=metrics,
        error_rates={error_rate: rate},
    )


def report(**fields: object) -> RunReport:
    values: dict[str, object] = {
        "run_id": "20250101T000000-00000000",
        "status": RunStatus.PARTIAL,
        "reason": "1 of 10 cases failed",
        "exit_code": 0,
        "cases": CaseCounts(planned=10, succeeded=9, failed=1, not_run=0),
        "targets": (summary(),),
        "ledger": "sqlite:///sayagain.db",
        "artifact": "artifacts/x.jsonl",
        "artifact_error": None,
    }
    return RunReport(**(values | fields))  # type: ignore[arg-type]


def printed(what: RunReport) -> str:
    console = Console(file=io.StringIO(), width=160)
    print_report(what, console)
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def test_the_table_shows_cases_error_counts_and_both_percentiles() -> None:
    shown = printed(report())
    assert "moonshine/tiny-en" in shown
    assert "4.4" in shown
    assert "3/1/0 of 90" in shown
    assert "612 / 859" in shown
    assert "-12 / 40" in shown
    assert "partial (1 of 10 cases failed): 9 ok, 1 failed, 0 not run" in shown


def error_cells(shown: str) -> list[str]:
    (line,) = [line for line in shown.splitlines() if "moonshine/tiny-en" in line]
    return [cell.strip() for cell in line.strip("│").split("│")][3:7]


def test_the_pooled_error_rate_comes_first_then_failures_as_deletions_then_the_mean() -> None:
    assert error_cells(printed(report())) == ["4.4", "14.0", "5.2", "3/1/0 of 90"]


def test_where_a_language_has_no_words_the_error_rate_shown_is_of_characters_and_says_so() -> None:
    assert error_cells(printed(report(targets=(summary("cer"),))))[0] == "CER 4.4"


def test_insertions_without_a_reference_are_shown_apart() -> None:
    shown = printed(report(targets=(summary(insertions_without_reference=7),)))
    assert error_cells(shown)[3] == "3/1/0 of 90, 7 of 0"


def test_what_a_judge_heard_is_shown_with_its_floor_beside_it() -> None:
    rate = ErrorRate(
        percent=17.91,
        percent_with_failures=17.91,
        substitutions=10,
        deletions=1,
        insertions=1,
        reference=67,
        reference_failed=0,
        insertions_without_reference=0,
        floor_percent=3.33,
    )
    voice = TargetSummary(
        target="tts:acme/mouth",
        cases_succeeded=6,
        cases_failed=0,
        metrics={"ttfa": spread(14.0, 25.0)},
        error_rates={"intelligibility_wer": rate},
    )
    assert "17.9 (floor 3.3)" in printed(report(targets=(voice,)))


def test_it_says_where_everything_lies_and_how_to_see_the_failures() -> None:
    shown = printed(report())
    assert "sqlite:///sayagain.db" in shown
    assert "artifacts/x.jsonl" in shown
    assert "sayagain runs show 20250101T000000-00000000 --failed" in shown
    assert "sayagain replay artifacts/x.jsonl" in shown


def test_a_run_without_a_failure_or_an_artifact_mentions_neither() -> None:
    shown = printed(report(cases=CaseCounts(planned=9, succeeded=9, failed=0, not_run=0), artifact=None))
    assert "--failed" not in shown
    assert "replay" not in shown
    assert "artifact" not in shown


def test_a_run_that_could_not_be_finalized_claims_nothing() -> None:
    shown = printed(report(status=None, reason="the server is gone", cases=None, targets=(), artifact=None))
    assert "not finalized (the server is gone)" in shown
    assert " ok" not in shown


def test_names_from_outside_are_shown_as_they_are_and_never_as_markup() -> None:
    shown = printed(report(reason="[red]boom[/red]", ledger="sqlite:///[bold]x.db"))
    assert "[red]boom[/red]" in shown
    assert "[bold]x.db" in shown


def plan() -> Plan:
    return make_plan([dataset_of(3)], [Target(benchmark=Benchmark.TTS, provider="p", model="m")])


def finished(case: Case, *, ok: bool) -> FinishedCase:
    failure = None if ok else failed(FailureKind.EMPTY, Phase.RECEIVE, "nothing").failure
    trace = Trace(started="2025-01-01T00:00:00Z")
    return FinishedCase(case=case, attempts=(Attempt(number=1, trace=trace, failure=failure),))


def test_where_the_output_is_no_terminal_each_case_is_one_plain_line(capsys: pytest.CaptureFixture[str]) -> None:
    display = display_for(as_json=False)
    cases = [case for case, _ in plan().stages[0].cases()]
    display.begin(plan())
    display.case(finished(cases[0], ok=True))
    display.case(finished(cases[1], ok=False))
    display.end()
    first, one, two = capsys.readouterr().out.splitlines()[:3]
    assert first == "running 3 cases of 1 targets"
    assert one == f"[1/3] tts:p/m {cases[0].item.id}: ok"
    assert two == f"[2/3] tts:p/m {cases[1].item.id}: failed (empty)"


def test_for_a_machine_nothing_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    display = display_for(as_json=True)
    assert isinstance(display, Silence)
    display.begin(plan())
    display.end()
    assert capsys.readouterr().out == ""


def test_on_a_terminal_each_target_has_a_bar_that_counts_its_failures() -> None:
    console = Console(file=io.StringIO(), width=120, force_terminal=True)
    display = Bars(console)
    display.begin(plan())
    for number, (case, _) in enumerate(plan().stages[0].cases()):
        display.case(finished(case, ok=number != 1))
    display.end()
    assert isinstance(console.file, io.StringIO)
    shown = re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", console.file.getvalue())
    assert "tts:p/m" in shown
    assert "3/3" in shown
    assert "1 failed" in shown


def test_a_display_that_cannot_be_shown_any_more_is_silent_and_ends_nothing() -> None:
    class Gone(Silence):
        shown = 0

        def case(self, finished: FinishedCase) -> None:
            Gone.shown += 1
            raise BrokenPipeError

    display = Unbreakable(Gone())
    cases = [case for case, _ in plan().stages[0].cases()]
    display.begin(plan())
    for case in cases:
        display.case(finished(case, ok=True))
    display.end()
    assert Gone.shown == 1


def test_values_taken_while_our_loop_was_late_are_counted_and_explained_only_where_there_are_any() -> None:
    late = msgspec.structs.replace(summary(), flagged=7)
    shown = printed(report(targets=(late,)))
    assert re.search(r"flagged\s*│", shown) or "flagged" in shown
    assert re.search(r"\b7\b", shown)
    assert "more than 10 ms late" in shown
    assert "flagged" not in printed(report())
