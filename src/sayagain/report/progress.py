"""What a person sees while a run goes on: live bars on a terminal, plain lines elsewhere, nothing for --json."""

import sys
from collections.abc import Callable

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeElapsedColumn

from sayagain.records import FinishedCase
from sayagain.report.tables import PatientConsole
from sayagain.runner.orchestrator import Display
from sayagain.runner.plan import Plan

REFRESH_PER_S = 1
"""How often the bars are drawn: drawing takes some milliseconds from the process that measures."""


def display_for(as_json: bool) -> Display:
    """Return the display that suits where the output goes."""
    if as_json:
        return Silence()
    return Unbreakable(Bars() if sys.stdout.isatty() else Lines())


class Unbreakable:
    """Another display, until it cannot be shown any more: a reader who leaves does not end the measurement."""

    def __init__(self, display: Display) -> None:
        self._display = display

    def begin(self, plan: Plan) -> None:
        """Show the beginning."""
        self._show(lambda display: display.begin(plan))

    def case(self, finished: FinishedCase) -> None:
        """Show a case."""
        self._show(lambda display: display.case(finished))

    def end(self) -> None:
        """Show the end."""
        self._show(lambda display: display.end())

    def _show(self, what: Callable[[Display], None]) -> None:
        try:
            what(self._display)
        except (OSError, ValueError):
            self._display = Silence()


class Silence:
    """Says nothing: the output belongs to a machine."""

    def begin(self, plan: Plan) -> None:
        """Say nothing."""

    def case(self, finished: FinishedCase) -> None:
        """Say nothing."""

    def end(self) -> None:
        """Say nothing."""


class Lines:
    """One plain line for each case, as it is over."""

    def __init__(self) -> None:
        self._over = 0
        self._planned = 0

    def begin(self, plan: Plan) -> None:
        """Say how much there is to do."""
        self._planned = plan.size
        print(f"running {plan.size} cases of {len(plan.targets)} targets", flush=True)

    def case(self, finished: FinishedCase) -> None:
        """Say how a case ended."""
        self._over += 1
        case, failure = finished.case, finished.failure
        outcome = "ok" if failure is None else f"failed ({failure.kind})"
        print(f"[{self._over}/{self._planned}] {case.target.key} {case.item.id}: {outcome}", flush=True)

    def end(self) -> None:
        """Leave a blank line before the tables."""
        print(flush=True)


class Bars:
    """A bar for each target, drawn a few times a second."""

    def __init__(self, console: Console | None = None) -> None:
        self._progress = Progress(
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("{task.fields[failed]}", markup=False, style="red"),
            TimeElapsedColumn(),
            console=console or PatientConsole(),
            refresh_per_second=REFRESH_PER_S,
        )
        self._tasks: dict[str, TaskID] = {}
        self._failed: dict[str, int] = {}

    def begin(self, plan: Plan) -> None:
        """Draw an empty bar for each target."""
        for stage in plan.stages:
            for target in stage.targets:
                total = stage.count(target)
                self._tasks[target.key] = self._progress.add_task(target.key, total=total, failed="")
        self._progress.start()

    def case(self, finished: FinishedCase) -> None:
        """Advance the bar of the case's target."""
        key = finished.case.target.key
        if finished.failure is not None:
            self._failed[key] = self._failed.get(key, 0) + 1
        failed = f"{self._failed[key]} failed" if key in self._failed else ""
        self._progress.update(self._tasks[key], advance=1, failed=failed)

    def end(self) -> None:
        """Leave the bars as they are and give the terminal back."""
        self._progress.stop()
