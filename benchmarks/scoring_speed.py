"""How fast scoring is, beside jiwer with whisper-normalizer and beside rapidfuzz alone, in one process.

    python benchmarks/scoring_speed.py [PAIRS]

PAIRS, 10,000 unless said, is the number of pairs of 15 words; a hundredth as many pairs of 2,000 words follow. A
pair is a reference and a hypothesis that has not been seen before; ten targets share a reference, item by item as
the runner goes. Rounds alternate between ours and the peer's, and the best of each counts, because what disturbs
a round only ever makes it slower. Times are of the processor, for the same reason. The texts are made up from a
seed: words that mean nothing, so that no rule applies, and among them a tenth of figures, times and money, so
that rules do.
"""

import random
import sys
import time
from collections.abc import Callable, Sequence

import jiwer
from rapidfuzz.distance import Levenshtein
from whisper_normalizer.english import EnglishTextNormalizer

from sayagain import metrics
from sayagain.metrics import accuracy, normalizer
from sayagain.metrics.landmarks import Landmarks
from sayagain.records import (
    Attempt,
    Benchmark,
    Case,
    Event,
    EventKind,
    FinishedCase,
    Item,
    SpeechSpan,
    Target,
    Trace,
)

MS = 1_000_000
TARGETS = 10
WORD_ERRORS = 0.1
ROUNDS = 3

random.seed(7)
VOCABULARY = ["".join(random.choices("abcdefghijklmnop", k=random.randint(2, 9))) for _ in range(3_000)]
FORMATTED = ["10:30", "$1.2M", "twenty-one", "5th", "don't", "3,500", "Dr.", "15%", "20mm", "9-1-1"]

Pair = tuple[Item, Trace]


def words(count: int) -> list[str]:
    """Return made-up words, a tenth of them with a format that a rule is about."""
    return [random.choice(FORMATTED if random.random() < 0.1 else VOCABULARY) for _ in range(count)]


def pairs(count: int, length: int) -> list[Pair]:
    """Return pairs of `length` words, a tenth of them misheard."""
    made = []
    for number in range(count):
        if number % TARGETS == 0:
            reference = words(length)
        heard = [random.choice(VOCABULARY) if random.random() < WORD_ERRORS else word for word in reference]
        item = Item(
            id="i",
            text=" ".join(reference),
            sha256="0" * 64,
            duration_s=5.0,
            speech=SpeechSpan(start_s=0.4, end_s=4.6, vad="none"),
        )
        made.append((item, Trace(started="", transcript=" ".join(heard))))
    return made


def finished_case(pair: Pair) -> FinishedCase:
    """Return a streaming STT case of 5 s, sent in 250 chunks of 20 ms with ten partials."""
    item, trace = pair
    hypothesis = trace.transcript or ""
    events = [Event(0, EventKind.STREAM_STARTED)]
    events += [Event(20 * MS * n, EventKind.AUDIO_SENT, None, 640) for n in range(1, 251)]
    events += [Event(500 * MS * n, EventKind.PARTIAL, hypothesis[: 9 * n]) for n in range(1, 11)]
    events += [Event(5_001 * MS, EventKind.END_SENT), Event(5_100 * MS, EventKind.FINAL, hypothesis)]
    whole = Trace(started="2026-01-01T00:00:00.000Z", events=tuple(events), transcript=hypothesis)
    target = Target(benchmark=Benchmark.STT, provider="none", model="none")
    return FinishedCase(case=Case.of(target, item), attempts=(Attempt(number=1, trace=whole),))


def forget() -> None:
    """Empty every cache, so that a round begins as a run does."""
    normalizer.normalize.cache_clear()
    normalizer.whisper_english.cache_clear()
    accuracy._reference_words.cache_clear()
    accuracy._whisper_words.cache_clear()


def best(rounds: Sequence[Callable[[], None]], calls: int) -> list[float]:
    """Return the microseconds a call of each function, in the best of its rounds; the functions take turns."""
    fastest = [float("inf")] * len(rounds)
    for _ in range(ROUNDS):
        for index, work in enumerate(rounds):
            forget()
            started = time.process_time()
            work()
            fastest[index] = min(fastest[index], time.process_time() - started)
    return [seconds / calls * 1e6 for seconds in fastest]


def line(what: str, us: float, peer: str = "", peer_us: float = 0.0) -> None:
    """Print a figure and, if there is a peer, the peer's and the ratio."""
    versus = f"  {peer} {peer_us:10.1f} us   ratio {peer_us / us:5.2f}" if peer else ""
    print(f"{what:52s} {us:10.1f} us{versus}")


def short_pairs(count: int) -> None:
    """Compare the word error rate of 15-word pairs with the peer's, and time the whole score of a case."""
    made = pairs(count, 15)
    landmarks = Landmarks()
    whisper = EnglishTextNormalizer()

    def ours() -> None:
        for item, trace in made:
            accuracy.wer(item, trace, landmarks)

    def peers() -> None:
        for item, trace in made:
            jiwer.process_words(whisper(item.text), whisper(trace.transcript or ""))

    def published() -> None:
        for item, trace in made:
            accuracy.wer_whisper(item, trace, landmarks)

    wer_us, peer_us, published_us = best([ours, peers, published], len(made))
    line(f"wer, {count:,} pairs of 15 words", wer_us, "jiwer+whisper", peer_us)
    line("wer_whisper, the same pairs", published_us, "jiwer+whisper", peer_us)
    cases = [finished_case(pair) for pair in made[:1_000]]

    def whole() -> None:
        for case in cases:
            metrics.score(case)

    (score_us,) = best([whole], len(cases))
    line("score(): seven metrics, 263 events", score_us)


def timed(work: Callable[[], object]) -> float:
    """Return the microseconds of one call."""
    started = time.process_time()
    work()
    return (time.process_time() - started) * 1e6


def long_pair(pair: Pair) -> tuple[float, float, float]:
    """Return the microseconds of one pair's normalization, of the rest of its wer, and of rapidfuzz alone.

    Each is the best of its rounds, and the rounds take turns. Words are split anew for rapidfuzz, so that it, too,
    meets words that it has not hashed before.
    """
    item, trace = pair
    heard = trace.transcript or ""
    best_of = [float("inf")] * 3
    for _ in range(ROUNDS):
        forget()
        normalization = timed(lambda: (normalizer.normalize(item.text, "en"), normalizer.normalize(heard, "en")))
        rest = timed(lambda: accuracy.wer(item, trace, Landmarks()))
        words = normalizer.normalize(item.text, "en").split()
        others = normalizer.normalize(heard, "en").split()
        alignment = timed(lambda a=words, b=others: Levenshtein.editops(a, b))  # type: ignore[misc]
        best_of = [min(times) for times in zip(best_of, (normalization, rest, alignment), strict=True)]
    return best_of[0], best_of[1], best_of[2]


def long_pairs(count: int) -> None:
    """Compare 2,000-word pairs with rapidfuzz's own alignment of the same words, and with the peer."""
    made = pairs(count, 2_000)
    whisper = EnglishTextNormalizer()

    def peers() -> None:
        for item, trace in made[:10]:
            jiwer.process_words(whisper(item.text), whisper(trace.transcript or ""))

    normalization, rest, alignment = (sum(times) / count for times in zip(*map(long_pair, made), strict=True))
    (peer_us,) = best([peers], 10)
    line(f"wer, {count:,} pairs of 2,000 words", normalization + rest, "jiwer+whisper", peer_us)
    line("  of which normalization", normalization)
    line("  the rest", rest)
    line("  rapidfuzz alone, on the same words", alignment)
    print(f"{'  the rest ÷ rapidfuzz, at most 1.3':52s} {rest / alignment:10.2f}")


if __name__ == "__main__":
    size = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000
    print("ratio above 1: the peer takes longer\n")
    short_pairs(size)
    long_pairs(max(1, size // 100))
