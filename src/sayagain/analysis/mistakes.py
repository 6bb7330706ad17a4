"""Which words a target gets wrong: the edits behind an error rate, counted over a run.

The ledger keeps transcripts and no references; those come from the datasets on this machine, pinned by digest.
Each case is aligned as its score was, under this version's normalizer: words, or characters where the item's
language has no spaces.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

from sayagain.ledger import CaseView
from sayagain.metrics.accuracy import mistakes, primary_metric
from sayagain.metrics.normalizer import normalize
from sayagain.records import Benchmark, Item, Record


class Mistake(Record, frozen=True, kw_only=True):
    """One mistake and how often it was made. A deletion has no `heard`, an insertion no `said`."""

    said: str | None
    heard: str | None
    count: int


class TargetMistakes(Record, frozen=True, kw_only=True):
    """The mistakes of one target over `cases` aligned cases with `reference` words or characters in all.

    `metric` is `wer` when words were aligned and `cer` when characters were. The three numbers count all mistakes,
    also the rare ones that are not listed; the lists have the most frequent first, ties in the order of the text.
    """

    target: str
    metric: str
    cases: int
    reference: int
    substitutions: int
    deletions: int
    insertions: int
    most_substituted: tuple[Mistake, ...]
    most_deleted: tuple[Mistake, ...]
    most_inserted: tuple[Mistake, ...]


class Mistakes(Record, frozen=True, kw_only=True):
    """The mistakes of every target; `without_reference` transcripts had no reference on this machine."""

    targets: tuple[TargetMistakes, ...]
    without_reference: int


def count_mistakes(cases: Iterable[CaseView], items: Mapping[str, Item], most: int) -> Mistakes:
    """Align every answered speech-to-text case with its reference and count.

    `items` are found by their digests; the `most` frequent mistakes of each kind are listed. Cases that failed
    have no transcript that counts and are left out.
    """
    tallies: dict[tuple[str, str], _Tally] = {}
    without_reference = 0
    for case in cases:
        if case.transcript is None or not _answered(case):
            continue
        item = items.get(case.item_digest)
        if item is None:
            without_reference += 1
            continue
        key = (case.target, primary_metric(item.language))
        tallies.setdefault(key, _Tally()).add(item, case.transcript, words=key[1] == "wer")
    ordered = sorted(tallies.items())
    return Mistakes(
        targets=tuple(tally.result(target, metric, most) for (target, metric), tally in ordered),
        without_reference=without_reference,
    )


def _answered(case: CaseView) -> bool:
    is_stt = case.target.startswith(f"{Benchmark.STT}:")
    return is_stt and bool(case.attempts) and case.attempts[-1].failure is None


class _Tally:
    """What has been counted of one target."""

    def __init__(self) -> None:
        self.cases = self.reference = 0
        self.counts: Counter[tuple[str | None, str | None]] = Counter()

    def add(self, item: Item, transcript: str, *, words: bool) -> None:
        reference, heard = (normalize(text, item.language) for text in (item.text, transcript))
        sides: tuple[Sequence[str], Sequence[str]] = (
            (reference.split(), heard.split()) if words else (reference, heard)
        )
        self.cases += 1
        self.reference += len(sides[0])
        self.counts.update(mistakes(*sides))

    def result(self, target: str, metric: str, most: int) -> TargetMistakes:
        substituted = {pair: n for pair, n in self.counts.items() if None not in pair}
        deleted = {pair: n for pair, n in self.counts.items() if pair[1] is None}
        inserted = {pair: n for pair, n in self.counts.items() if pair[0] is None}
        return TargetMistakes(
            target=target,
            metric=metric,
            cases=self.cases,
            reference=self.reference,
            substitutions=sum(substituted.values()),
            deletions=sum(deleted.values()),
            insertions=sum(inserted.values()),
            most_substituted=tuple(_most(substituted, most)),
            most_deleted=tuple(_most(deleted, most)),
            most_inserted=tuple(_most(inserted, most)),
        )


def _most(counts: Mapping[tuple[str | None, str | None], int], most: int) -> Iterator[Mistake]:
    ordered = sorted(counts.items(), key=lambda entry: (-entry[1], entry[0][0] or "", entry[0][1] or ""))
    for (said, heard), count in ordered[:most]:
        yield Mistake(said=said, heard=heard, count=count)
