"""The artifact: one portable JSONL file a run; it knows records, not the ledger.

`read_artifact` gives typed records or a table, `verify` says whether a file is whole, and `write_artifact` writes
one. The redactor, through which all error text passes, is `sayagain.artifact.redaction.Redactor`.
"""

from sayagain.artifact.reading import Artifact, read_artifact
from sayagain.artifact.verification import Verification, verify
from sayagain.artifact.writing import check_directory, write_artifact

__all__ = ["Artifact", "Verification", "check_directory", "read_artifact", "verify", "write_artifact"]
