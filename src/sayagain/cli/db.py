"""`sayagain db`: upgrade the ledger's database, or say at which revision it is."""

import click

from sayagain.cli import options


@click.group()
def command() -> None:
    """Look after the ledger's database."""


@command.command()
@options.db
def upgrade(db: str | None) -> None:
    """Lead the ledger to the tables of this version of sayagain, making them where there are none.

    A SQLite ledger is also upgraded whenever it is opened; a PostgreSQL ledger only here.
    """
    from sayagain.config import load_settings
    from sayagain.ledger import connect

    with connect(load_settings({"db": db}).db) as ledger:
        before, after = ledger.upgrade()
        if before == after:
            click.echo(f"{ledger} is at revision {after} already")
        else:
            click.echo(f"{ledger} is now at revision {after}, before: {before or 'no tables'}")


@command.command()
@options.db
def current(db: str | None) -> None:
    """Say at which revision the ledger is; exit with 1, saying what to do, when it is not this version's."""
    from sayagain.config import load_settings
    from sayagain.ledger import connect

    with connect(load_settings({"db": db}).db, create=False) as ledger:
        ledger.require_current()
        click.echo(f"{ledger} is at revision {ledger.revision()}, which is this version's")
