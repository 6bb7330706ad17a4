"""Options that come from `Settings`: the one place of every default and every explanation."""

from collections.abc import Callable
from typing import Any, TypeVar

import click

from sayagain.config import default_for, help_for, variable

Decorated = TypeVar("Decorated", bound=Callable[..., Any])


def setting(name: str, flag: str | None = None, **extra: Any) -> Callable[[Decorated], Decorated]:
    """Return a decorator for the option of a field of `Settings`; its value is None unless it was said.

    `flag` is the option's spelling when it is not `--` and the field's name.
    """
    default = default_for(name)
    shown = f" [default: {default:g}]" if isinstance(default, float) else f" [default: {default}]"
    text = help_for(name) + (shown if default not in (None, {}) else "") + f" [env: {variable(name)}]"
    return click.option(flag or f"--{name.replace('_', '-')}", name, help=text, **extra)


db = setting("db", metavar="URL")
"""`--db`, for every command that reads or writes the ledger."""
