"""The one redactor: what leaves for the ledger, the logs or an artifact as error text passes through it.

In order of precedence it removes known secrets, credentials by their place, the machine's name and the user's
home, the case's own texts, e-mail addresses and long tokens, and whatever hides one of them in base64 or
hexadecimal. What it returns is decoded, one line, and free of control characters and markup. It comes before
truncation and fingerprinting, and its time is linear in the text's length.
"""

import hashlib
import hmac
import re
import socket
from collections.abc import Iterable, Iterator
from itertools import chain
from pathlib import Path

import msgspec

from sayagain import failures
from sayagain.artifact import patterns
from sayagain.artifact.decoding import decoded
from sayagain.artifact.hidden import hidden
from sayagain.artifact.needles import ANYWHERE, FoldedText, Needle, Needles, Span
from sayagain.artifact.plaintext import one_line
from sayagain.records import Failure

_REPEATED = re.compile(r"(<(?:secret|text|email|token|host)>)(?:[^\w<>]{0,3}\1)+")


LONGEST = 32_768
"""Code points of a failure's message that is kept at all.

Reading 10 MB takes seconds, and a failure is sanitized in the process that measures. A head of the message would
be quicker, but a cut can halve a secret so that it is not known any more; so nothing of it is kept.
"""


class Redactor:
    """Removes secrets, the case's own texts and addresses of persons from any text.

    `secrets` are the values of the credentials that are configured; empty ones are ignored. See
    `sayagain.artifact.needles` for what is done about very short ones.
    """

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        self._secrets = tuple(secret for secret in dict.fromkeys(secrets) if secret.strip())
        machine = socket.gethostname()
        self._known = Needles(
            chain(
                map(Needle.secret, self._secrets),
                () if machine.startswith("localhost") else (Needle.words(machine, "<host>"),),
            )
        )
        self._home = _home()

    def clean(self, text: object, own_texts: Iterable[str | None] = ()) -> str:
        """Return any object's text as one safe line.

        `own_texts` are the case's reference, prompt and hypothesis. Never raises: an object that cannot be turned
        into text is named by its type.
        """
        plain = decoded(_text_of(text))
        own = Needles(Needle.words(own) for own in own_texts if own)
        placed = [*self._raw_secrets(plain), *patterns.credentials(plain), *patterns.tokens(plain)]
        # What goes as a whole need not be looked into, and the `@` after a credential makes no address.
        unread = _blanked(plain, placed)
        spans = chain(
            placed,
            self._home_paths(plain),
            patterns.emails(unread),
            self._find(plain, own),
            hidden(unread, lambda content: chain(self._find(content, own), patterns.emails(content, strict=True))),
        )
        return _REPEATED.sub(r"\1", one_line(_without(plain, spans)))

    def failure(self, failure: Failure, provider: str, own_texts: Iterable[str | None] = ()) -> Failure:
        """Return the failure redacted, cut and fingerprinted: the only form in which it may be kept."""
        own = tuple(own_texts)
        code = failure.code
        if code is not None and self.clean(code, own) != code:
            code = None
        message = self._message(failure, own)
        return failures.sanitized(msgspec.structs.replace(failure, code=code), message, provider)

    def _message(self, failure: Failure, own: Iterable[str | None]) -> str:
        meaning = failures.KINDS[failure.kind].meaning
        if len(failure.message) > LONGEST:
            return f"{meaning} (a message of {len(failure.message)} characters is not kept)"
        return self.clean(failure.message, own) or meaning

    def _find(self, text: str, own: Needles) -> Iterator[Span]:
        view = FoldedText(text)
        yield from self._known.find(view)
        yield from own.find(view)

    def _raw_secrets(self, text: str) -> Iterator[Span]:
        """Find secrets exactly, because folding loses those that are mostly punctuation."""
        for secret in self._secrets:
            if len(secret) >= ANYWHERE:
                yield from _occurrences(text, decoded(secret), patterns.SECRET)

    def _home_paths(self, text: str) -> Iterator[Span]:
        if self._home:
            yield from _occurrences(text, self._home, "~")


def transcript_digest(text: object, key: str | None) -> tuple[str | None, int | None]:
    """Return the digest (64 hex digits) of a transcript's UTF-8 text and its number of code points.

    SHA-256, or HMAC-SHA-256 (RFC 2104) under the key when there is one. Whatever is not a str gives two nulls. A
    lone surrogate, which UTF-8 cannot hold, is encoded as its three bytes.
    """
    if not isinstance(text, str):
        return None, None
    octets = text.encode("utf-8", "surrogatepass")
    if key:
        return hmac.new(key.encode("utf-8", "surrogatepass"), octets, hashlib.sha256).hexdigest(), len(text)
    return hashlib.sha256(octets).hexdigest(), len(text)


def _text_of(value: object) -> str:
    if isinstance(value, bytes | bytearray | memoryview):
        return bytes(value).decode("utf-8", "replace")
    try:
        return str(value)
    except Exception:
        return type(value).__name__


def _home() -> str:
    try:
        home = str(Path.home())
    except RuntimeError:
        return ""
    return home if len(home) > 1 else ""


def _occurrences(text: str, part: str, label: str) -> Iterator[Span]:
    at = text.find(part) if part else -1
    while at >= 0:
        yield at, at + len(part), label
        at = text.find(part, at + len(part))


def _blanked(text: str, spans: Iterable[Span]) -> str:
    """Put spaces in the place of spans, so that every position stays what it was."""
    kept: list[str] = []
    done = 0
    for start, end, _ in sorted(spans):
        kept += (text[done:start], " " * (end - max(start, done)))
        done = max(done, end)
    kept.append(text[done:])
    return "".join(kept)


def _without(text: str, spans: Iterable[Span]) -> str:
    """Put each span's label in its place; of spans that overlap, the first to begin gives the label."""
    kept: list[str] = []
    done = 0
    for start, end, label in sorted(spans, key=lambda span: span[0]):
        if start >= done:
            kept += (text[done:start], label)
        done = max(done, end)
    kept.append(text[done:])
    return "".join(kept)
