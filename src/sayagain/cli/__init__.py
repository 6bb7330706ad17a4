"""The command line: one thin module a command.

Commands are named in a table and loaded when they are used, so that `sayagain --help` costs what this file and
click cost. A command's module defines its options; what it calls is imported inside its body.
"""

import contextlib
import os
import sys
from importlib import import_module

import click

from sayagain import __version__
from sayagain.errors import SayagainError, fault_of

COMMANDS = {
    "run": "Benchmark speech engines and providers, and keep every result.",
    "replay": "Run the failed cases of an artifact again, and say what changed.",
    "compare": "Compare two runs, or two targets of one run.",
    "runs": "List runs and show what happened in one.",
    "artifact": "Check, show and export the portable file of a run.",
    "models": "List what can be benchmarked, and show its settings.",
    "datasets": "List, show, verify and import datasets.",
    "db": "Look after the ledger's database.",
    "doctor": "Check the clock, engines, ledger, artifact directory and keys.",
    "calibrate": "Measure how far this machine's timestamps are off, and keep it for later runs.",
    "simulate": "Stand in for speech providers on 127.0.0.1: for rehearsals and tests, not for results.",
}
"""Each command, which lives in the module of its name, and its line in `sayagain --help`."""


class LazyGroup(click.Group):
    """A group that imports a command's module when the command is used, not when it is listed."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names in the order of the table."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import and return a command, or None when there is none of that name."""
        if cmd_name not in COMMANDS:
            return None
        command: click.Command = import_module(f"sayagain.cli.{cmd_name}").command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the table without importing anything."""
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110})
@click.version_option(__version__, prog_name="sayagain")
def command() -> None:
    """Benchmark speech-to-text and text-to-speech, keep every result, replay exactly the cases that failed."""


def main() -> None:
    """Run the command line; every foreseen error is one line on stderr and the exit code of its kind."""
    _have_streams()
    try:
        code = command.main(standalone_mode=False)
        sys.stdout.flush()
    except click.exceptions.Abort:
        sys.exit(130)
    except click.ClickException as error:
        error.show()
        sys.exit(2)
    except SayagainError as error:
        click.echo(f"sayagain: {error}", err=True)
        sys.exit(error.exit_code)
    except KeyboardInterrupt:
        click.echo("sayagain: stopped", err=True)
        sys.exit(130)
    except BrokenPipeError:
        _discard_output()  # the reader of our output has left; there is nobody to tell
        sys.exit(1)
    except OSError as error:
        _discard_output()
        click.echo(f"sayagain: the system refused: {error.strerror or type(error).__name__}", err=True)
        sys.exit(1)
    except Exception as error:
        click.echo(f"sayagain: a fault of sayagain itself ({fault_of(error)}). Please report this line.", err=True)
        sys.exit(1)
    sys.exit(code if isinstance(code, int) else 0)


def _have_streams() -> None:
    """Let a program that was started without an output or error stream write to nowhere."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115, PTH123 - open to the end


def _discard_output() -> None:
    """Send what is still to be written to nowhere, so that the interpreter does not complain at its end."""
    with contextlib.suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
