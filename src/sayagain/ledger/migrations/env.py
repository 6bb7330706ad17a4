"""What Alembic runs: the migrations, on the connection and in the transaction it was handed."""

from alembic import context

from sayagain.ledger.migrating import VERSION_TABLE
from sayagain.ledger.tables import metadata

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=metadata,
    version_table=VERSION_TABLE,
)
with context.begin_transaction():
    context.run_migrations()
