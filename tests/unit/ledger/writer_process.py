"""A process that inserts a run and records cases one by one, saying so after each; then waits for its input's end.

Arguments: the database URL, a file with msgpack of the header and the cases, and `endless` to go on with cases
like the last until the ledger refuses one.
"""

import itertools
import sys
from collections.abc import Iterator
from pathlib import Path

import msgspec

from sayagain.ledger import Owner, open_ledger
from sayagain.records import Record, RunHeader, ScoredCase


class Work(Record, frozen=True, kw_only=True):
    """What to write."""

    header: RunHeader
    cases: tuple[ScoredCase, ...]


def like(scored: ScoredCase) -> Iterator[ScoredCase]:
    """Yield a case at each position from 1,000 on."""
    finished = scored.finished
    for position in itertools.count(1000):
        case = msgspec.structs.replace(finished.case, id=f"{position:032x}", position=position)
        yield msgspec.structs.replace(scored, finished=msgspec.structs.replace(finished, case=case))


def main(url: str, file: str, endless: str = "") -> None:
    """Write the run."""
    work = msgspec.msgpack.decode(Path(file).read_bytes(), type=Work)
    ledger = open_ledger(url)
    ledger.insert_run(work.header, Owner.current())
    more = like(work.cases[-1]) if endless else ()
    for case in itertools.chain(work.cases, more):
        ledger.record_with_retry(work.header.run_id, [case], 60)
        print(case.finished.case.position, flush=True)
    sys.stdin.read()


if __name__ == "__main__":
    main(*sys.argv[1:])
