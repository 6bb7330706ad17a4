"""What makes two spellings of one utterance equal before WER and CER count what differs."""

from collections.abc import Callable
from functools import cache, lru_cache

_CACHED_TEXTS = 256
"""Texts kept normalized. Cases run item by item, so the references in use at one time are few."""


@lru_cache(maxsize=_CACHED_TEXTS)
def normalize(text: str, language: str) -> str:
    """Return the text as it is compared: words parted by single spaces, in the form of its language.

    English (any BCP 47 tag whose language is `en`) goes through Whisper's English rules; any other language
    through Whisper's basic rules with combining marks kept, because dropping them breaks Indic words apart.
    """
    rules = _english() if _is_english(language) else _basic()
    return " ".join(rules(text).split())


def _is_english(language: str) -> bool:
    return language.replace("_", "-").partition("-")[0].lower() == "en"


@cache
def _english() -> Callable[[str], str]:
    from whisper_normalizer.english import EnglishTextNormalizer

    rules: Callable[[str], str] = EnglishTextNormalizer()
    return rules


@cache
def _basic() -> Callable[[str], str]:
    from whisper_normalizer.basic import BasicTextNormalizer

    rules: Callable[[str], str] = BasicTextNormalizer(preserve_marks=True)
    return rules
