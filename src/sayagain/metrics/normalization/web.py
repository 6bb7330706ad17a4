"""Web addresses, e-mail addresses and file names, as they are said: john dot doe at example dot com."""

import re

from sayagain.metrics.normalization.tables import web_labels

_SCHEME = re.compile(r"[a-z]{2,8}://", re.IGNORECASE)
_HOST = re.compile(r"[\w.+@-]+")
_PART = re.compile(r"[a-z]+|[0-9]+|.", re.IGNORECASE | re.DOTALL)
_SAID = {
    ".": "dot",
    "@": "at",
    "/": "slash",
    "_": "underscore",
    "-": "dash",
    ":": "colon",
    "+": "plus",
    "&": "and",
}


def is_address(chunk: str) -> bool:
    """Tell whether a run of characters is an address or a file name, known by its last label.

    Anything else with a dot inside is taken for a sentence whose space is missing (`end.Next`).
    """
    if "." not in chunk:
        return False
    if _SCHEME.match(chunk):
        return True
    host = _HOST.match(chunk)
    if host is None:
        return False
    labels = host.group().lower().rstrip(".").split(".")
    return labels[0] == "www" or (len(labels) > 1 and labels[-1] in web_labels() and labels[0] != "")


def spoken(address: str) -> list[str]:
    """Return the words of an address; the scheme (https://) and a closing slash are not said."""
    scheme = _SCHEME.match(address)
    said = address[scheme.end() :] if scheme else address
    parts = _PART.findall(said.rstrip("/").lower())
    return [_SAID.get(part, part) for part in parts if part in _SAID or part.isalnum()]
