"""How fast scoring is, beside jiwer with whisper-normalizer and beside rapidfuzz alone, in one process.

Run it with `uv run python benchmarks/scoring_speed.py`. Every figure is the best of several rounds, because what
disturbs a round only ever makes it slower. The texts are made up from a seed, so runs are comparable.
"""

import random
import timeit
from collections.abc import Callable
from itertools import cycle

import jiwer
from rapidfuzz.distance import Levenshtein
from whisper_normalizer.english import EnglishTextNormalizer

from sayagain import metrics
from sayagain.metrics import accuracy
from sayagain.metrics.landmarks import Landmarks
from sayagain.metrics.normalizer import normalize
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
ITEMS = 30
TARGETS = 10
WORD_ERRORS = 0.1

random.seed(7)
VOCABULARY = ["".join(random.choices("abcdefghijklmnop", k=random.randint(2, 9))) for _ in range(3_000)]


def sentence(words: int) -> str:
    """Return made-up words, so that no rule of English applies to them."""
    return " ".join(random.choices(VOCABULARY, k=words))


def misheard(text: str) -> str:
    """Return the text with a tenth of its words replaced."""
    return " ".join(random.choice(VOCABULARY) if random.random() < WORD_ERRORS else word for word in text.split())


def finished_case(reference: str, hypothesis: str) -> FinishedCase:
    """Return a streaming STT case of 5 s, sent in 250 chunks of 20 ms with ten partials."""
    item = Item(
        id="i",
        text=reference,
        sha256="0" * 64,
        duration_s=5.0,
        speech=SpeechSpan(start_s=0.4, end_s=4.6, vad="none"),
    )
    events = [Event(0, EventKind.STREAM_STARTED)]
    events += [Event(20 * MS * n, EventKind.AUDIO_SENT, None, 640) for n in range(1, 251)]
    events += [Event(500 * MS * n, EventKind.PARTIAL, hypothesis[: 9 * n]) for n in range(1, 11)]
    events += [Event(5_001 * MS, EventKind.END_SENT), Event(5_100 * MS, EventKind.FINAL, hypothesis)]
    trace = Trace(started="2026-01-01T00:00:00.000Z", events=tuple(events), transcript=hypothesis)
    target = Target(benchmark=Benchmark.STT, provider="none", model="none")
    return FinishedCase(case=Case.of(target, item), attempts=(Attempt(number=1, trace=trace),))


def microseconds(work: Callable[[], object], number: int, rounds: int = 5) -> float:
    """Return the microseconds of one call in the best of several rounds."""
    return min(timeit.repeat(work, number=number, repeat=rounds)) / number * 1e6


def line(what: str, us: float, peer: str = "", peer_us: float = 0.0) -> None:
    """Print a figure and, if there is a peer, the peer's and the ratio."""
    versus = f"  {peer} {peer_us:10.1f} us   ratio {peer_us / us:5.2f}" if peer else ""
    print(f"{what:52s} {us:10.1f} us{versus}")


def wer_of(finished: FinishedCase, landmarks: Landmarks) -> None:
    """Compute the word error rate alone, as `score` does."""
    accuracy.wer(finished.case.item, finished.final_attempt.trace, landmarks)


def short_cases() -> None:
    """Compare the scoring of 15-word cases: whole, and the word error rate alone against the peer."""
    references = [sentence(15) for _ in range(ITEMS)]
    # Item by item, as the runner goes: all targets of one item follow each other.
    cases = [finished_case(text, misheard(text)) for text in references for _ in range(TARGETS)]
    landmarks = Landmarks()
    whisper = EnglishTextNormalizer()

    def forget() -> None:
        normalize.cache_clear()
        accuracy._reference_words.cache_clear()

    def ours() -> None:
        forget()
        for case in cases:
            wer_of(case, landmarks)

    def peers() -> None:
        for case in cases:
            jiwer.process_words(whisper(case.case.item.text), whisper(case.final_attempt.trace.transcript or ""))

    peer = microseconds(peers, 1, 3) / len(cases)
    line("WER, 15 words, every hypothesis new", microseconds(ours, 1, 3) / len(cases), "jiwer+whisper", peer)
    few = cycle(cases[:TARGETS])
    line(
        "WER, 15 words, texts seen before",
        microseconds(lambda: wer_of(next(few), landmarks), 2_000),
        "jiwer+whisper",
        peer,
    )
    line(
        "score(): six metrics, 263 events, texts seen before",
        microseconds(lambda: metrics.score(next(few)), 2_000),
        "jiwer+whisper (WER only)",
        peer,
    )


def long_pair() -> None:
    """Compare one 2,000-word pair against rapidfuzz's own alignment of the normalized texts, and the peer."""
    finished = finished_case(text := sentence(2_000), misheard(text))
    item, trace = finished.case.item, finished.final_attempt.trace
    reference, hypothesis = normalize(item.text, "en"), normalize(trace.transcript or "", "en")
    words, heard = reference.split(), hypothesis.split()
    landmarks = Landmarks.of(trace)
    whisper = EnglishTextNormalizer()
    line(
        "WER, 2,000 words, normalized",
        microseconds(lambda: accuracy.wer(item, trace, landmarks), 10),
        "rapidfuzz",
        microseconds(lambda: Levenshtein.editops(words, heard), 10),
    )
    line(
        "CER, 2,000 words, normalized",
        microseconds(lambda: accuracy.cer(item, trace, landmarks), 5),
        "rapidfuzz",
        microseconds(lambda: Levenshtein.editops(reference, hypothesis), 5),
    )

    def peer() -> None:
        jiwer.process_words(whisper(item.text), whisper(trace.transcript or ""))

    def new_hypothesis() -> None:
        normalize.cache_clear()
        accuracy.wer(item, trace, landmarks)

    line(
        "WER, 2,000 words, new hypothesis",
        microseconds(new_hypothesis, 1),
        "jiwer+whisper",
        microseconds(peer, 1),
    )


if __name__ == "__main__":
    print("ratio above 1: the peer takes longer\n")
    short_cases()
    long_pair()
