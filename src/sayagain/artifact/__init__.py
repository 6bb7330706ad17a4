"""The artifact: one portable JSONL file a run; it knows records, not the ledger."""
