"""`sayagain artifact`: print the schema, verify files, and ask a file what is in it."""

import json
from typing import TYPE_CHECKING, Any

import click
import msgspec

from sayagain.cli import options

if TYPE_CHECKING:
    from pathlib import Path

    from sayagain.artifact.verification import Verification

CORRUPT = 4
"""Exit code when a file is corrupt."""

_as_json = click.option("--json", "as_json", is_flag=True, help="Print JSON.")


@click.group()
def command() -> None:
    """Check, show and export the portable file of a run."""


@command.command()
@click.argument("run", metavar="RUN")
@click.option("--to", "artifact_dir", metavar="DIR|URL", help="Where it goes. Default: RUN_ARTIFACT_DIR, or here.")
@options.db
def export(run: str, **flags: Any) -> None:
    """Write the artifact of a run that is in the ledger, at any time, whatever became of the run.

    RUN is a run's id, a unique beginning of it, or latest.
    """
    from sayagain.artifact.destinations import check_destination
    from sayagain.config import load_settings
    from sayagain.ledger import open_ledger
    from sayagain.runner.artifacts import export_run

    settings = load_settings(flags)
    place = settings.artifact_dir or "."
    check_destination(place)
    with open_ledger(settings.db, create=False) as ledger:
        ledger.mark_interrupted()
        click.echo(export_run(ledger, run, place, settings.artifact_hmac_key).location)


@command.command()
def schema() -> None:
    """Print the JSON Schema (2020-12) of a line of an artifact."""
    from sayagain.artifact.schema import json_schema_text

    click.echo(json_schema_text(), nl=False)


@command.command()
@click.argument("files", metavar="FILE...", nargs=-1, required=True)
@_as_json
def verify(files: tuple[str, ...], *, as_json: bool) -> None:
    """Recompute what can be of each FILE and name the first wrong line. Exit code 4 when one is wrong."""
    from sayagain.artifact import verify as verify_file
    from sayagain.artifact.copies import local_copy
    from sayagain.artifact.places import shown

    found = []
    for file in files:
        with local_copy(file) as path:
            result = msgspec.structs.replace(verify_file(path), path=shown(file))
        found.append(result)
        if not as_json:
            _print_verdict(result)
    if as_json:
        _print_json([_without_records(result) for result in found])
    if not all(result.ok for result in found):
        raise click.exceptions.Exit(CORRUPT)


@command.command()
@click.argument("file", metavar="FILE")
@click.option("--failed", is_flag=True, help="List the cases that failed.")
@click.option(
    "--bucket", metavar="FINGERPRINT", help="List the cases of one bucket; the first characters will do."
)
@click.option("--target", metavar="KEY", help="List the cases of one target.")
@_as_json
def show(file: str, bucket: str | None, target: str | None, *, failed: bool, as_json: bool) -> None:
    """Show what FILE holds: what ran, the tables, the buckets of failures and the slowest cases.

    With --failed, --bucket or --target it lists cases, those that are all of what is asked for. As JSON, that is
    one line for each case. What is whole of a torn file is shown, and the exit code is 4.
    """
    from sayagain.artifact.copies import local_copy
    from sayagain.artifact.places import shown

    with local_copy(file) as path:
        if failed or bucket or target:
            corrupt = _list_cases(path, shown(file), bucket, target, failed=failed, as_json=as_json)
        else:
            corrupt = _show_overview(path, shown(file), as_json=as_json)
    if corrupt:
        raise click.exceptions.Exit(CORRUPT)


def _show_overview(path: "Path", name: str, *, as_json: bool) -> bool:
    """Print the overview and say whether the file is corrupt."""
    from sayagain.artifact.overview import overview
    from sayagain.report.artifact import print_overview

    view = msgspec.structs.replace(overview(path), path=name)
    if as_json:
        _print_json(view)
    else:
        print_overview(view)
    return view.problem is not None


def _list_cases(
    path: "Path", name: str, bucket: str | None, target: str | None, *, failed: bool, as_json: bool
) -> bool:
    """Print the cases that are asked for and say whether the file is corrupt."""
    from sayagain.artifact.selection import select_cases
    from sayagain.artifact.verification import CheckedRows
    from sayagain.report.artifact import print_cases

    checked = CheckedRows(path)
    cases = select_cases(checked, failed=failed, bucket=bucket, target=target)
    count = sum(1 for case in cases if _print_json_line(case)) if as_json else print_cases(cases)
    found = msgspec.structs.replace(checked.verification, path=name)
    if not found.ok:
        _print_verdict(found, error=True)
    elif not count:
        _explain_nothing(found, bucket, target)
    return not found.ok


def _explain_nothing(found: "Verification", bucket: str | None, target: str | None) -> None:
    """Say that no case is what was asked for; raise UsageError when none can be."""
    from sayagain.errors import UsageError
    from sayagain.report.artifact import shown

    keys = [known.key for known in found.header.targets] if found.header else []
    if target and target not in keys:
        raise UsageError(f"no target {target!a} in {shown(found.path)}; it has {shown(', '.join(keys))}")
    if bucket:
        raise UsageError(
            f"no case of bucket {bucket!a} in {shown(found.path)}: `sayagain artifact show` lists them"
        )
    click.echo("no such case", err=True)


def _print_verdict(found: "Verification", *, error: bool = False) -> None:
    from sayagain.report.artifact import verdict

    click.echo(verdict(found), err=error)


def _without_records(found: "Verification") -> dict[str, object]:
    fields = {name: getattr(found, name) for name in found.__struct_fields__ if name not in ("header", "summary")}
    return {"ok": found.ok, **fields}


def _print_json(value: object) -> None:
    click.echo(_json(value, indent=2))


def _print_json_line(value: object) -> bool:
    click.echo(_json(value, indent=None))
    return True


def _json(value: object, indent: int | None) -> str:
    """Return JSON in ASCII, so that nothing in a file can steer the terminal it is shown on."""
    return json.dumps(msgspec.to_builtins(value), indent=indent).replace("\x7f", "\\u007f")
