"""`sayagain models`: what can be benchmarked."""

import json
from typing import TYPE_CHECKING, Any

import click

from sayagain.config import load_settings

if TYPE_CHECKING:
    from sayagain.runner.known import Known


@click.group()
def command() -> None:
    """List what can be benchmarked, and show its settings."""


@command.command("list")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def list_(*, as_json: bool) -> None:
    """List every engine and provider model that `sayagain run --models` takes, and what each one lacks here."""
    from sayagain.runner.known import known_targets

    everything = known_targets(load_settings({}))
    if as_json:
        click.echo(json.dumps([_document(known) for known in everything], indent=2, ensure_ascii=False))
        return
    width = max(len(known.target.name) for known in everything)
    for known in everything:
        state = "ready" if known.missing is None else known.missing
        click.echo(f"{known.target.benchmark}  {known.target.name:<{width}}  {state}")


@command.command()
@click.argument("name")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def show(name: str, *, as_json: bool) -> None:
    """Show the settings, price and needs of what NAME means, in the way of `sayagain run --models`."""
    from sayagain.runner.known import named

    found = named(name, load_settings({}))
    if as_json:
        click.echo(json.dumps([_document(known) for known in found], indent=2, ensure_ascii=False))
        return
    for number, known in enumerate(found):
        click.echo(("\n" if number else "") + known.target.key)
        for label, value in _facts(known):
            click.echo(f"  {label:<10}{value}")


def _facts(known: "Known") -> list[tuple[str, str]]:
    target = known.target
    facts = [("title", known.title), ("state", "ready" if known.missing is None else known.missing)]
    if target.secrets:
        facts.append(("keys", ", ".join(target.secrets)))
    if known.price is not None:
        facts.append(("price", str(known.price)))
    facts.append(("adapter", target.adapter))
    return [*facts, *((("settings" if not n else ""), text) for n, text in enumerate(_settings(known)))]


def _settings(known: "Known") -> list[str]:
    return [f"{name} = {json.dumps(value, ensure_ascii=False)}" for name, value in known.target.settings.items()]


def _document(known: "Known") -> dict[str, Any]:
    import msgspec

    target = known.target
    return {
        "key": target.key,
        "name": target.name,
        "benchmark": target.benchmark.value,
        "title": known.title,
        "ready": known.missing is None,
        "missing": known.missing,
        "keys": list(target.secrets),
        "price": msgspec.to_builtins(known.price),
        "adapter": target.adapter or None,
        "settings": dict(target.settings),
    }
