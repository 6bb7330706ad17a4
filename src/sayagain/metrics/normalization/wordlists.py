"""Word lists as readable strings."""


def word_set(words: str) -> frozenset[str]:
    """Return the words of a string parted by spaces."""
    return frozenset(words.split())


def counted_from(first: int, words: str, step: int = 1) -> dict[str, int]:
    """Return each word with its number: the first has `first`, each next one `step` more."""
    return {word: first + step * place for place, word in enumerate(words.split())}
