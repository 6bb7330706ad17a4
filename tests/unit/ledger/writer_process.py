"""A process that inserts a run and records cases one by one, saying so after each; then waits to be killed.

Arguments: the database URL and a file with msgpack of the header and the cases.
"""

import sys
from pathlib import Path

import msgspec

from sayagain.ledger import Owner, open_ledger
from sayagain.records import Record, RunHeader, ScoredCase


class Work(Record, frozen=True, kw_only=True):
    """What to write."""

    header: RunHeader
    cases: tuple[ScoredCase, ...]


def main(url: str, file: str) -> None:
    """Write the run."""
    work = msgspec.msgpack.decode(Path(file).read_bytes(), type=Work)
    ledger = open_ledger(url)
    ledger.insert_run(work.header, Owner.current())
    for case in work.cases:
        ledger.record(work.header.run_id, [case])
        print(case.finished.case.position, flush=True)
    sys.stdin.read()


if __name__ == "__main__":
    main(*sys.argv[1:])
