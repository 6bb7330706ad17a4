"""`sayagain simulate`: a stand-in for speech providers, for rehearsals and tests."""

from pathlib import Path

import click


@click.command()
@click.option(
    "--scenario",
    "scenario_path",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="TOML or JSON that says what each endpoint does. Unsaid: every protocol behaves well.",
)
@click.option("--port", type=click.IntRange(0, 65535), default=0, show_default=True, help="0: any free port.")
@click.option(
    "--log",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Where to record what was really done and when, as JSONL. Overwritten.",
)
@click.option("--tls", is_flag=True, help="Speak TLS, with a certificate made for this process.")
def command(scenario_path: Path | None, port: int, log: Path | None, tls: bool) -> None:
    """Stand in for speech providers on 127.0.0.1: for rehearsals and tests, not for results.

    Speaks the providers' own protocols with scripted delays, transcripts and faults; docs/simulator.md shows
    scenarios. Every response says in the header X-Sayagain-Simulator what it comes from. Prints one JSON line with
    its base URLs when it is ready, and ends with its stdin or on SIGTERM.

    Exit code: 0 done, 1 the port cannot be opened, 2 the scenario or an option is wrong.
    """
    from sayagain.simulator import process
    from sayagain.simulator.scenario import load

    process.run(load(scenario_path), port, log, tls)
