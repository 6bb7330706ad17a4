"""Places that an fsspec URL names: how messages show them, which driver opens them, and why one could not.

Credentials are the driver's business and come from its own environment, never from a URL. What a driver says is
not repeated, because it can hold a signed URL: messages name the kind of an error and the provider's code for it.
"""

import errno
import re
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

from sayagain.artifact.plaintext import one_line
from sayagain.errors import UsageError

if TYPE_CHECKING:
    from fsspec import AbstractFileSystem

EXTRAS = {"s3": "s3", "s3a": "s3", "gs": "gcs", "gcs": "gcs"}
"""The extra of this package that brings the driver of a scheme."""

_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.:-]*)://")
"""A scheme, or a chain of them, such as `simplecache::s3`."""

_THIS_MACHINE = frozenset({"file", "local"})
_CODE = re.compile(r"[A-Za-z0-9]{1,40}")


def is_url(place: str) -> bool:
    """Tell whether a place is named by a URL and not by a path."""
    return _SCHEME.match(place) is not None


def shown(place: str) -> str:
    """Return how a message names a place: on one line, without credentials, query and fragment."""
    match = _SCHEME.match(place)
    if match is None:
        return one_line(place)
    rest = place[match.end() :]
    head = re.split(r"[?#]", rest)[0]
    if "@" in rest[len(head) :]:
        return f"{match[0]}..."  # a query with an address, or a password with a question mark: nobody can tell
    return one_line(match[0] + head.rpartition("@")[2])


def local_path(place: str) -> Path | None:
    """Return the path of a place on this machine, or None for any other."""
    match = _SCHEME.match(place)
    if match is None:
        return Path(place)
    if match[1].lower() in _THIS_MACHINE:
        return Path(unquote(urlsplit(place).path) or "/")
    return None


def driver_of(place: str) -> "tuple[AbstractFileSystem, str]":
    """Return the driver that a URL names and what the driver calls the place.

    Raises:
        UsageError: fsspec knows no such scheme.
        ImportError: The driver is not installed.
        Exception: Whatever the driver raises; `reason_of` puts it in words.
    """
    from fsspec import get_filesystem_class
    from fsspec.core import url_to_fs

    scheme = _scheme(place).rpartition("::")[2]
    try:
        get_filesystem_class(scheme)
    except ValueError:
        raise UsageError(f"fsspec has no driver for {scheme}://; correct the URL") from None
    driver, path = url_to_fs(place)
    return driver, str(path)


def reason_of(error: Exception, place: str, verb: str) -> str:
    """Say in words of our own why a place could not be used, and what would mend it.

    Args:
        error: What the driver raised.
        place: The URL.
        verb: What was tried: read or write.
    """
    if isinstance(error, UsageError):
        return str(error)
    if isinstance(error, ImportError):
        extra = EXTRAS.get(_scheme(place))
        remedy = f"pip install 'sayagain[{extra}]'" if extra else "install what fsspec needs for it"
        return f"the driver for {_scheme(place)}:// is not installed; {remedy}"
    code = _code_of(error)
    code = f" ({code})" if code else ""
    if isinstance(error, FileExistsError):
        return "this run's artifact is there and is never replaced; move it or choose another place"
    if isinstance(error, FileNotFoundError):
        return f"there is no such place{code}; correct the URL, or create the bucket"
    if isinstance(error, PermissionError):
        return (
            f"the credentials in the driver's environment may not {verb} there{code}; change those or their rights"
        )
    if isinstance(error, NotImplementedError):
        return f"its driver cannot {verb}; choose another place"
    if isinstance(error, OSError) and error.errno == errno.ENOSPC:
        return "the disk for temporary files is full; free some space, or let TMPDIR name another directory"
    kind = type(error).__name__
    return f"{kind}{code}; check the URL, the network, and the credentials in the driver's environment"


def _scheme(place: str) -> str:
    return place.partition("://")[0].lower()


def _code_of(error: BaseException | None) -> str | None:
    """Return the provider's code for an error: a word or an HTTP status, from the error or what caused it."""
    while error is not None:
        response = getattr(error, "response", None)
        found = response.get("Error", {}).get("Code") if isinstance(response, dict) else None
        for code in (found, getattr(error, "code", None), getattr(error, "status", None)):
            if code is not None and _CODE.fullmatch(str(code)):
                return str(code)
        error = error.__cause__ or error.__context__
    return None
