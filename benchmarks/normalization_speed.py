"""How long a text takes to normalize and a pair to score, beside jiwer and whisper-normalizer in one process.

    python benchmarks/normalization_speed.py [TEXTS]

A pair is a reference and a hypothesis of about fifteen words. sayagain normalizes the reference once per item,
the hypothesis per target, and aligns with rapidfuzz; the peer normalizes both and aligns with jiwer, as a script
that calls the two libraries does. Rounds alternate between the two; the best of each is printed.
"""

import sys
import time
from collections.abc import Callable

import jiwer
from rapidfuzz.distance import Levenshtein
from whisper_normalizer.english import EnglishTextNormalizer

from sayagain.metrics.normalization import normalize

ROUNDS = 7
PLAIN = [
    ("he was not at all sure that the captain had seen the light upon the hill", "the captain", "a captain"),
    (
        "we should have ordered the larger table before it was sold out there yesterday afternoon",
        "larger",
        "large",
    ),
    ("please tell them that our train was late and that we will walk home instead", "our train", "the train"),
]
NUMERIC = [
    ("Call 919-696-3901 at 10:30 a.m. and ask for Dr. Smith about the $1.2M order.", "Smith", "Smyth"),
    ("On May 5th, 2020, it was -5 degrees, 20 mm of rain fell and I'd paid $5.20.", "rain", "snow"),
    ("One of the twenty first buses cost two and a half million dollars, about 15% more.", "buses", "busses"),
]


def per_call_us(call: Callable[[str, str], object], pairs: list[tuple[str, str]]) -> float:
    """Return the microseconds of one call, over all pairs."""
    started = time.perf_counter()
    for reference, hypothesis in pairs:
        call(reference, hypothesis)
    return (time.perf_counter() - started) / len(pairs) * 1e6


def best(calls: dict[str, Callable[[str, str], object]], pairs: list[tuple[str, str]]) -> dict[str, float]:
    """Return each call's best round, the rounds alternating so that both see the same machine."""
    rounds = [{name: per_call_us(call, pairs) for name, call in calls.items()} for _ in range(ROUNDS)]
    return {name: min(timed[name] for timed in rounds) for name in calls}


def main() -> None:
    """Print a line for each kind of text: ours, the peer's, and how many times faster ours is."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 600
    whisper = EnglishTextNormalizer()

    def our_pair(normalized_reference: str, hypothesis: str) -> object:
        return Levenshtein.editops(normalized_reference.split(), normalize(hypothesis, "en").split())

    def peer_pair(reference: str, hypothesis: str) -> object:
        return jiwer.process_words(whisper(reference), whisper(hypothesis))

    for kind, sentences in (("plain", PLAIN), ("numbers", NUMERIC)):
        heard = [(text, text.replace(right, wrong)) for text, right, wrong in sentences]
        raw = [heard[index % len(heard)] for index in range(count)]
        once = {reference: normalize(reference, "en") for reference, _ in heard}
        prepared = [(once[reference], hypothesis) for reference, hypothesis in raw]
        text = best({"ours": lambda _, t: normalize(t, "en"), "peer": lambda _, t: whisper(t)}, raw)
        rounds = [(per_call_us(our_pair, prepared), per_call_us(peer_pair, raw)) for _ in range(ROUNDS)]
        ours, peer = (min(column) for column in zip(*rounds, strict=True))
        for what, own, other in (("text", text["ours"], text["peer"]), ("pair", ours, peer)):
            print(f"{kind:8} {what}  sayagain {own:7.1f} us, peer {other:7.1f} us: {other / own:5.1f} x")


if __name__ == "__main__":
    main()
