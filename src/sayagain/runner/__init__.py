"""Running: from settings to a plan, from a plan to results in the ledger, from the ledger to an artifact."""
