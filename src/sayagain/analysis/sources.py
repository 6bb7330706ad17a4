"""Where the runs of a comparison come from: an artifact that was checked, or the ledger."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sayagain.analysis.cases import Run
from sayagain.artifact.copies import local_copy
from sayagain.artifact.places import is_url
from sayagain.artifact.reading import read_artifact
from sayagain.artifact.verification import verify
from sayagain.errors import CorruptArtifactError, UsageError
from sayagain.ledger import open_ledger

_ARTIFACT_SUFFIX = ".jsonl"


@contextmanager
def opened_run(reference: str, db: str) -> Iterator[Run]:
    """Open the run that a person named: an artifact by its path or URL, else a run of the ledger at the URL `db`.

    Raises:
        UsageError: There is neither such a file nor such a run, or what a URL names cannot be copied.
        UnsupportedSchemaError: The artifact has a major version of the schema that is not read here.
        CorruptArtifactError: The artifact is damaged; it is checked as a whole before anything is read from it.
    """
    if is_url(reference):
        with local_copy(reference) as copy:
            yield artifact_run(copy)
        return
    path = Path(reference)
    if path.exists() or path.suffix == _ARTIFACT_SUFFIX or len(path.parts) > 1:
        yield artifact_run(path)
        return
    try:
        ledger = open_ledger(db, create=False)
    except UsageError as error:
        raise UsageError(f"there is no file {reference!a}, and as a run it cannot be looked up: {error}") from None
    with ledger:
        view = ledger.run(reference)
        rows = ledger.rows(view.run_id, lambda _: (None, None))
        yield Run(view.header, rows, view.status, view.counts)


def artifact_run(path: Path) -> Run:
    """Return the run in an artifact, which is checked first; raises as `opened_run` does."""
    checked = verify(path)
    if checked.header is None or checked.summary is None or checked.problem is not None:
        raise CorruptArtifactError(checked.problem or "it is no artifact", checked.line, str(path))
    return Run.of(checked.header, read_artifact(path).rows(), checked.summary, checked.file_sha256)
