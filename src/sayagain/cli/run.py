"""`sayagain run`: the main job."""

from typing import Any

import click

from sayagain.cli import options


@click.command()
@options.setting("kind", type=click.Choice(["stt", "tts", "both"]))
@options.setting("models", metavar="NAMES")
@options.setting("dataset", metavar="IDS")
@options.setting("sample", type=int, metavar="N")
@options.setting("seed", type=int, metavar="S")
@options.setting("repeat", type=int, metavar="N")
@options.setting("concurrency", type=int, metavar="N")
@options.setting("provider_concurrency", type=int, metavar="N")
@options.setting("judge", is_flag=True, default=None)
@options.setting("attempts", type=int, metavar="N")
@options.setting("connect_timeout", type=float, metavar="S")
@options.setting("idle_timeout", type=float, metavar="S")
@options.setting("final_timeout", type=float, metavar="S")
@options.setting("case_timeout", type=float, metavar="S")
@options.setting("grace", type=float, metavar="S")
@options.setting("ledger_timeout", type=float, metavar="S")
@options.db
@options.setting("artifact_dir", metavar="DIR|URL")
@options.setting("require_artifact", is_flag=True, default=None)
@options.setting("datasets_dir", metavar="DIR")
@options.setting("calibration", metavar="FILE")
@click.option("--smoke", is_flag=True, help="One item of each dataset: does everything work?")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document instead of progress and tables.")
def command(smoke: bool, as_json: bool, **flags: Any) -> int:
    """Benchmark speech engines and providers, and keep every result.

    Without options: every local engine that is installed, on the built-in data, in both directions. The results
    go to the ledger; with RUN_ARTIFACT_DIR set, one JSONL artifact is written at the end.

    An error is one line on stderr; with --json, stdout then stays empty.

    Exit code: 0 done, 1 the run failed or a required artifact was not written, 2 wrong usage or nothing to do, 130
    or 143 stopped by a signal.
    """
    from sayagain import logs
    from sayagain.config import load_settings
    from sayagain.report.console import report_run
    from sayagain.report.progress import display_for
    from sayagain.runner.run import run_benchmark
    from sayagain.transports import waking

    if smoke:
        if flags["sample"] is not None:
            raise click.UsageError("choose one of --smoke and --sample")
        flags["sample"] = 1
    settings = load_settings(flags)
    logs.configure()
    outcome = waking.run(run_benchmark(settings, display_for(as_json)))
    report_run(settings, outcome, as_json=as_json)
    return outcome.exit_code
