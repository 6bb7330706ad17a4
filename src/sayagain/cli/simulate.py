"""`sayagain simulate`: a stand-in for speech providers, for rehearsals and tests."""

from pathlib import Path

import click


@click.command()
@click.option(
    "--scenario",
    "scenario_path",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="TOML or JSON that says what each endpoint does, or 'night' or 'morning', which docs/replay.md explains. "
    "Unsaid: every protocol behaves well.",
)
@click.option("--port", type=click.IntRange(0, 65535), default=0, show_default=True, help="0: any free port.")
@click.option(
    "--log",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Where to record what was really done and when, as JSONL. Overwritten.",
)
@click.option("--tls", is_flag=True, help="Speak TLS, with a certificate made for this process.")
@click.argument("rehearsed", metavar="[-- COMMAND...]", nargs=-1, type=click.UNPROCESSED)
def command(scenario_path: Path | None, port: int, log: Path | None, tls: bool, rehearsed: tuple[str, ...]) -> int:
    """Stand in for speech providers on 127.0.0.1: for rehearsals and tests, not for results.

    Speaks the providers' own protocols with scripted delays, transcripts and faults; docs/simulator.md shows
    scenarios. Every response says in the header X-Sayagain-Simulator what it comes from. Prints one JSON line with
    its base URLs when it is ready, and ends with its stdin or on SIGTERM.

    With a COMMAND, such as -- sayagain run --models openai, every provider is the stand-in for that command alone,
    with a key that is none. The stand-in ends with it.

    Exit code: 0 done, 1 the port cannot be opened, 2 the scenario or an option is wrong; or that of the command.
    """
    from sayagain.simulator import process
    from sayagain.simulator.rehearsal import scenario_file
    from sayagain.simulator.scenario import load

    if rehearsed and tls:
        raise click.UsageError("--tls is for clients that can be told whom to trust, not for a command.")
    return process.run(load(scenario_file(scenario_path)), port, log, tls, rehearsed)
