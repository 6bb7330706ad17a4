"""From the ledger to an artifact: what the ledger holds of a run, written as one portable file."""

from pathlib import Path

import msgspec

from sayagain.artifact.destinations import Written, deliver
from sayagain.artifact.redaction import transcript_digest
from sayagain.artifact.writing import write_artifact
from sayagain.ledger import Ledger
from sayagain.records import TranscriptHash


def export_run(ledger: Ledger, run_id: str, place: str, hmac_key: str | None = None) -> Written:
    """Write the artifact of a run, whatever its status, and say where it lies.

    Args:
        ledger: Where the run is kept.
        run_id: The run.
        place: A directory or an fsspec URL; the file's name comes from the run.
        hmac_key: Key of the transcript digests; plain SHA-256 without one.

    Raises:
        SayagainError: The ledger cannot be read, or the file cannot be written; it says why and what to do.
    """
    run = ledger.run(run_id)
    made = TranscriptHash.HMAC_SHA256 if hmac_key else TranscriptHash.SHA256

    def write(directory: Path) -> Path:
        return write_artifact(
            directory,
            msgspec.structs.replace(run.header, transcript_hash=made),
            ledger.rows(run.run_id, lambda text: transcript_digest(text, hmac_key)),
            status=run.status,
            reason=run.reason,
            finished=run.finished,
            planned=run.header.cases,
        )

    return deliver(place, write)
