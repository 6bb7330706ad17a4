"""What a person sees when a run is over: a table for each benchmark, and where everything lies."""

import sys

import msgspec
from rich.console import Console
from sqlalchemy.engine import make_url

from sayagain.config import Settings
from sayagain.ledger import open_ledger
from sayagain.logs import logger
from sayagain.metrics.aggregate import TargetSummary, aggregate
from sayagain.records import Benchmark, CaseCounts, Record, RunStatus
from sayagain.report.tables import benchmark_table, wide_console
from sayagain.runner.orchestrator import Outcome


class RunReport(Record, frozen=True, kw_only=True):
    """What `sayagain run --json` prints."""

    run_id: str
    status: RunStatus | None
    reason: str | None
    exit_code: int
    cases: CaseCounts | None
    targets: tuple[TargetSummary, ...]
    ledger: str
    artifact: str | None
    artifact_error: str | None


def report_run(settings: Settings, outcome: Outcome, *, as_json: bool) -> None:
    """Print how a run ended, from what the ledger holds of it; a reader who has left changes nothing about it."""
    report = run_report(settings, outcome)
    try:
        if as_json:
            sys.stdout.write(msgspec.json.format(msgspec.json.encode(report), indent=2).decode() + "\n")
        else:
            print_report(report)
        sys.stdout.flush()
    except OSError as error:
        logger().warning("report_not_printed", run_id=outcome.run_id, reason=error.strerror)


def run_report(settings: Settings, outcome: Outcome) -> RunReport:
    """Gather how a run ended, from what the ledger holds of it."""
    return RunReport(
        run_id=outcome.run_id,
        status=outcome.status,
        reason=outcome.reason,
        exit_code=outcome.exit_code,
        cases=outcome.counts,
        targets=_summaries(settings, outcome),
        ledger=make_url(settings.db).render_as_string(hide_password=True),
        artifact=outcome.artifact,
        artifact_error=outcome.artifact_error,
    )


def print_report(report: RunReport, console: Console | None = None) -> None:
    """Print a report as tables and a few lines."""
    console = console or wide_console()
    for benchmark in Benchmark:
        summaries = [summary for summary in report.targets if summary.target.startswith(f"{benchmark}:")]
        if summaries:
            console.print(benchmark_table(benchmark, summaries))
    console.print(_verdict_line(report), markup=False, highlight=False)
    if report.cases is not None and report.cases.failed:
        _say(console, "failures", f"sayagain runs show {report.run_id} --failed")
    _say(console, "ledger", report.ledger)
    if report.artifact is not None:
        _say(console, "artifact", report.artifact)
        if report.cases is not None and report.cases.failed:
            _say(console, "again", f"sayagain replay {report.artifact}")
    if report.artifact_error is not None:
        _say(console, "artifact", f"not written: {report.artifact_error}")


def _verdict_line(report: RunReport) -> str:
    status = report.status.value if report.status else "not finalized"
    reason = f" ({report.reason})" if report.reason else ""
    counts = report.cases
    tally = f": {counts.succeeded} ok, {counts.failed} failed, {counts.not_run} not run" if counts else ""
    return f"run {report.run_id} {status}{reason}{tally}"


def _say(console: Console, label: str, text: str) -> None:
    console.print(f"{label:<9} {text}", markup=False, highlight=False, soft_wrap=True)


def _summaries(settings: Settings, outcome: Outcome) -> tuple[TargetSummary, ...]:
    if outcome.counts is None:
        return ()
    with open_ledger(settings.db) as ledger:
        return aggregate(ledger.rows(outcome.run_id, lambda text: (None, None)))
