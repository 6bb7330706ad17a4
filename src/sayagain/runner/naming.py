"""What a person's name for a target means."""

import difflib
from collections.abc import Iterable
from fnmatch import fnmatchcase

from sayagain.records import Target


def nearest(name: str, targets: Iterable[Target]) -> list[str]:
    """Return the names and providers that a misspelt name may have meant, or all providers."""
    known = list(targets)
    names = {target.name for target in known} | {target.provider for target in known}
    close = difflib.get_close_matches(name, sorted(names), n=3, cutoff=0.5)
    return close or sorted({target.provider for target in known})


def matches(name: str, target: Target) -> bool:
    """Tell whether a name means a target: a provider, provider/model, full name or key, or a pattern of these."""
    names = (target.provider, f"{target.provider}/{target.model}", target.name)
    prefixes = (*names, *(f"{target.benchmark}:{name}" for name in names))
    return any(fnmatchcase(known, name) for known in prefixes)
