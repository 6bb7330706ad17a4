"""Alembic migrations of the ledger: `env` runs them, `versions` holds one module for each revision."""
