"""The two forms in which transcripts are compared: sayagain's own, and Whisper's English rules unchanged.

Both are cached: a reference is normalized once for all targets, and for all repeats, which the shuffled order of a
run sets far apart.
"""

from collections.abc import Callable
from functools import cache, lru_cache

from sayagain.metrics import normalization

CACHED_TEXTS = 4096
"""Texts kept normalized, of each form."""


@lru_cache(maxsize=CACHED_TEXTS)
def normalize(text: str, language: str) -> str:
    """Return a text in the form of `sayagain.metrics.normalization`."""
    return normalization.normalize(text, language)


@lru_cache(maxsize=CACHED_TEXTS)
def whisper_english(text: str) -> str:
    """Return an English text in the form that papers about Whisper compare: whisper-normalizer's English rules."""
    return " ".join(_whisper()(text).split())


@cache
def _whisper() -> Callable[[str], str]:
    from whisper_normalizer.english import EnglishTextNormalizer

    rules: Callable[[str], str] = EnglishTextNormalizer()
    return rules
