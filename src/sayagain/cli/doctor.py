"""`sayagain doctor`: is this machine fit to measure, and what is configured."""

import json
from typing import Any

import click

from sayagain.cli import options
from sayagain.config import load_settings


@click.command()
@options.db
@options.setting("artifact_dir", metavar="DIR|URL")
@click.option("--reach", is_flag=True, help="Contact the providers' hosts too; no key is sent.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(reach: bool, as_json: bool, **flags: Any) -> int:
    """Check the clock, engines, ledger, artifact directory and keys.

    Keys are looked for by name and never shown. Exit code: 0 no problem, 1 at least one.
    """
    import asyncio

    import msgspec

    from sayagain.runner.checkup import State, examine

    checks = asyncio.run(examine(load_settings(flags), reach=reach))
    if as_json:
        click.echo(json.dumps(msgspec.to_builtins(checks), indent=2, ensure_ascii=False))
    else:
        width = max(len(check.name) for check in checks)
        for check in checks:
            click.echo(f"{check.state:<7}  {check.area:<9}  {check.name:<{width}}  {check.found}")
    return 1 if any(check.state is State.PROBLEM for check in checks) else 0
