"""The command line as a whole: what it lists, what it loads, and how it says that something went wrong."""

import subprocess
import sys
from importlib import import_module

import click
import pytest
from click.testing import CliRunner

from sayagain import __version__
from sayagain.cli import COMMANDS, command, main
from sayagain.cli.run import command as run_command
from sayagain.config import Settings, default_for, help_for
from sayagain.errors import CorruptArtifactError, LedgerError, MismatchError, SayagainError, UsageError

HEAVY = (
    "numpy",
    "sqlalchemy",
    "rich",
    "aiohttp",
    "structlog",
    "soundfile",
    "scipy",
    "alembic",
    "jiwer",
    "wyoming",
)


@pytest.mark.parametrize("name", COMMANDS)
def test_the_line_of_a_command_in_the_table_is_the_first_line_of_its_help(name: str) -> None:
    loaded: click.Command = import_module(f"sayagain.cli.{name}").command
    assert (loaded.help or "").splitlines()[0] == COMMANDS[name]


def test_help_lists_every_command_and_the_version_is_the_packages() -> None:
    shown = CliRunner().invoke(command, ["--help"]).output
    assert all(name in shown for name in COMMANDS)
    assert __version__ in CliRunner().invoke(command, ["--version"]).output


@pytest.mark.parametrize(
    "code", ["import sayagain", "import sayagain.cli", *(f"import sayagain.cli.{name}" for name in COMMANDS)]
)
def test_no_module_of_the_command_line_imports_anything_heavy(code: str) -> None:
    check = f"{code}; import sys; print([name for name in {HEAVY} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", check], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_run_help_explains_every_setting_with_its_default() -> None:
    shown = " ".join(CliRunner().invoke(run_command, ["--help"], terminal_width=500).output.split())
    for name in Settings.__struct_fields__:
        if name in ("wyoming", "endpoints", "targets", "artifact_hmac_key"):
            continue
        assert f"--{name.replace('_', '-')}" in shown
        assert " ".join(help_for(name).split()) in shown
        default = default_for(name)
        if default is not None:
            assert (
                f"[default: {default:g}]" in shown
                if isinstance(default, float)
                else f"[default: {default}]" in shown
            )


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (SayagainError("x"), 1),
        (LedgerError("x"), 1),
        (UsageError("x"), 2),
        (MismatchError("x"), 3),
        (CorruptArtifactError("x"), 4),
        (KeyboardInterrupt(), 130),
        (click.Abort(), 130),
        (click.UsageError("x"), 2),
        (RuntimeError("the transcript is here"), 1),
    ],
)
def test_every_error_ends_in_its_exit_code_without_a_traceback(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], error: BaseException, code: int
) -> None:
    def fail(**_: object) -> None:
        raise error

    monkeypatch.setattr(command, "main", fail)
    with pytest.raises(SystemExit) as caught:
        main()
    assert caught.value.code == code
    shown = capsys.readouterr().err
    assert "Traceback" not in shown
    assert "the transcript is here" not in shown


def test_an_unknown_command_is_wrong_usage() -> None:
    done = subprocess.run([sys.executable, "-m", "sayagain", "sing"], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "sing" in done.stderr
