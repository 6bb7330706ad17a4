"""English normalization: the stages in order, each a module of its own."""

from sayagain.metrics.normalization import addresses, basic
from sayagain.metrics.normalization.folding import fold
from sayagain.metrics.normalization.letters import spelled_letters_joined
from sayagain.metrics.normalization.quantities import has_quantities, rewritten
from sayagain.metrics.normalization.words import joined, replaced, without_fillers
from sayagain.metrics.normalization.written import Scanner


def normalize_english(text: str, *, day_first: bool = False) -> str:
    """Return English text in canonical form; `day_first` reads 5/6/2020 as the fifth of June.

    Annotations ([laughter]) and fillers (um) are left out, unless nothing else were left: a text that has words
    never becomes empty.
    """
    folded = fold(text)
    for annotations, fillers in ((False, False), (False, True), (True, False), (True, True)):
        words = _words(folded, day_first=day_first, annotations=annotations, fillers=fillers)
        if words:
            return " ".join(words)
    has_words = any(char.isalnum() for char in text)
    return " ".join(basic.words(text)) if has_words else ""


def _words(text: str, *, day_first: bool, annotations: bool, fillers: bool) -> list[str]:
    words = Scanner(text, day_first=day_first, annotations=annotations).words()
    if not fillers:
        words = without_fillers(words)
    words = joined(spelled_letters_joined(replaced(words)))
    if has_quantities(words):
        words = rewritten(words)
    return addresses.expanded(words)
