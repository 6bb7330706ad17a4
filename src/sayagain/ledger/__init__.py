"""The ledger: the database that is the source of truth for every run."""
