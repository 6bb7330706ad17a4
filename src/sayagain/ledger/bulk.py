"""Many rows at once into one table: the only statements that do not go through SQLAlchemy's own insert.

Measured in cases a second, a case being ten rows committed 256 cases at a time: `connection.execute(insert(),
dicts)` reached 5,000 on SQLite and 3,700 on PostgreSQL, almost all of it spent on building parameters in Python;
executemany on tuples 13,000 and 6,500; COPY 16,800 on PostgreSQL. docs/ledger.md has the figures with everything.
"""

from collections.abc import Sequence
from functools import cache
from typing import Any

from sqlalchemy import Connection, Dialect, Table, insert

from sayagain.ledger.encoding import Row


def insert_rows(connection: Connection, table: Table, rows: Sequence[Row]) -> None:
    """Insert tuples in the order of the table's columns, within the connection's transaction."""
    if not rows:
        return
    if connection.dialect.name == "postgresql":
        _copy(connection, table, rows)
    else:
        connection.exec_driver_sql(_insert_sql(table, connection.dialect), rows)


@cache
def _insert_sql(table: Table, dialect: Dialect) -> str:
    return str(insert(table).compile(dialect=dialect))


def _copy(connection: Connection, table: Table, rows: Sequence[Row]) -> None:
    quote = connection.dialect.identifier_preparer.quote
    columns = ", ".join(quote(column.name) for column in table.columns)
    statement = f"COPY {quote(table.name)} ({columns}) FROM STDIN"
    driver: Any = connection.connection
    with driver.cursor() as cursor, cursor.copy(statement) as copy:
        for row in rows:
            copy.write_row(row)
