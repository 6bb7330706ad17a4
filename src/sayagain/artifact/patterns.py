"""Find what looks like a credential, an address of a person or a token, without knowing its value.

No pattern backtracks over more than a few hundred characters: each starts at a literal or at the start of a word
and is bounded, so that a hostile message costs time in proportion to its length.
"""

import re
from collections.abc import Iterator

from sayagain.artifact.needles import Span

SECRET, EMAIL, TOKEN = "<secret>", "<email>", "<token>"

_USER_INFO = re.compile(r"(?<=://)[^\s/?#\"'<>]{1,512}(?=@)")
_PARAMETER = re.compile(r"[?&;]([\w.~-]{1,128})=([^\s&#\"'<>;]*)")
_PARAMETER_NAME = re.compile(r"key|token|secret|sig|auth|pass|pwd|credential|jwt|code|access", re.IGNORECASE)
_NAMED = re.compile(r"(?<![\w-])([\w-]{1,64}+)(?:[\"']?\s{0,4}[:=]|[\"']\s{0,4},)\s{0,4}")
_NAME = re.compile(
    r"[_-]?key$|secret|token$|token[_-]|passw|passphrase|pwd|signature|credential|jwt|authorization|cookie",
    re.IGNORECASE,
)
_KEY_ALONE = re.compile(r"key", re.IGNORECASE)
_OPENING = re.compile(r"(?:b(?=[\"']))?([\"']?)")
_QUOTED = {'"': re.compile(r"[^\"\n]+"), "'": re.compile(r"[^'\n]+")}
_VALUE = re.compile(r"[^\s&,;\"'<>(){}\[\]]+")
_COOKIES = re.compile(r"(?:[^\s;=\"']{1,256}=[^\s;\"']*+(?:;\s{0,4})?|(?<=; )[A-Za-z-]{1,20}+(?:;\s{0,4})?)+")
_AUTHORIZATION = re.compile(
    r"(?:bearer|basic|token|apikey|key)\s{1,4}[^\s\"',;]+|(?:digest|aws4-hmac-sha256)\s[^\n\"']*|[^\s\"',;]+",
    re.IGNORECASE,
)
_SCHEME = re.compile(r"\b(bearer|token|basic|apikey|api-key)\s{1,4}([\w.~+/=-]{6,})", re.IGNORECASE)
_WORDS_AFTER = re.compile(
    r"invalid|missing|expired|required|none|null|true|false|not|is|was|the|an?|error|auth|authentication"
    r"|authorization|scheme|token|header|realm",
    re.IGNORECASE,
)
_MASKED = re.compile(r"\*{3,}")
_MASKED_AROUND = 64

_AT = re.compile("[@\uff20]")
_LOCAL_PART = re.compile(r"[\w.!#$%&'*+~-]")
_DOMAIN = re.compile(r"[\w.-]{1,255}")
_STRICT_DOMAIN = re.compile(r"(?:[A-Za-z0-9-]{1,63}\.){1,8}[A-Za-z]{2,24}")

_WEB_TOKEN = re.compile(r"\beyJ[\w-]{5,}(?:\.[\w-]+)*")
_RUN = re.compile(r"(?<![A-Za-z0-9+/_-])[A-Za-z0-9+/_-]{20,}+={0,2}")
_UUID = re.compile(r"[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}", re.IGNORECASE)
_ID_LABEL = re.compile(
    r"(?:request|trace|session|correlation|operation|call|stream|connection|job|task)"
    r"[-_ ]?id[\"']?\s?[:=]?\s?[\"']?$",
    re.IGNORECASE,
)
_SEGMENT = re.compile(r"[^/]+")
_CHANGE = re.compile(r"[a-z](?=[A-Z0-9])|[A-Z](?=[0-9])|[0-9](?=[A-Za-z])")
_LOOKED_AT = 4096


def credentials(text: str) -> Iterator[Span]:
    """Yield the values of credentials: in URLs, parameters, headers, assignments, and masked by asterisks."""
    for match in _USER_INFO.finditer(text):
        yield (*match.span(), SECRET)
    for match in _PARAMETER.finditer(text):
        if match.group(2) and _PARAMETER_NAME.search(match.group(1)):
            yield (*match.span(2), SECRET)
    yield from _named_values(text)
    for match in _SCHEME.finditer(text):
        if _is_credential(match.group(1), match.group(2)):
            yield (*match.span(2), SECRET)
    yield from _masked(text)


def _named_values(text: str) -> Iterator[Span]:
    for match in _NAMED.finditer(text):
        name = match.group(1)
        if not _NAME.search(name) or _KEY_ALONE.fullmatch(name):
            continue
        opening = _OPENING.match(text, match.end())
        start = opening.end() if opening else match.end()
        pattern = _QUOTED[opening.group(1)] if opening and opening.group(1) else _unquoted(name)
        value = pattern.match(text, start)
        if value is not None and not _WORDS_AFTER.fullmatch(value.group()):
            yield (*value.span(), SECRET)


def _unquoted(name: str) -> re.Pattern[str]:
    lowered = name.casefold()
    if lowered.endswith("authorization"):
        return _AUTHORIZATION
    return _COOKIES if lowered.endswith("cookie") else _VALUE


def _is_credential(scheme: str, value: str) -> bool:
    """Tell `Bearer eyJ...` from `token expired`."""
    word = value.rstrip(".")
    if _WORDS_AFTER.fullmatch(word):
        return False
    plain_word = word.isalpha() and (word.islower() or word.istitle())
    return scheme.casefold() == "bearer" or len(value) >= 20 or not plain_word


def _masked(text: str) -> Iterator[Span]:
    """Yield what a provider masked itself, `sk-****abcd`, with what it left of it."""
    done = 0
    for match in _MASKED.finditer(text):
        start, end = match.span()
        while start > max(done, match.start() - _MASKED_AROUND) and not text[start - 1].isspace():
            start -= 1
        while end < min(len(text), match.end() + _MASKED_AROUND) and not text[end].isspace():
            end += 1
        if end - start > match.end() - match.start():
            yield start, end, SECRET
        done = end


def emails(text: str, *, strict: bool = False) -> Iterator[Span]:
    """Yield e-mail addresses; strict ones only in text that may be noise: an ASCII domain with a top level."""
    for match in _AT.finditer(text):
        start = match.start()
        while start > 0 and match.start() - start < 256 and _LOCAL_PART.match(text[start - 1]):
            start -= 1
        domain = (_STRICT_DOMAIN if strict else _DOMAIN).match(text, match.end())
        if domain is None or match.start() - start < (2 if strict else 1):
            continue
        if strict and not text[start : match.start()].isascii():
            continue
        yield start, domain.end(), EMAIL


def tokens(text: str) -> Iterator[Span]:
    """Yield web tokens and runs of 20 or more characters of the base64 alphabets that are not words.

    A UUID that the text calls the id of a request, session or the like stays: providers ask for it.
    """
    for match in _WEB_TOKEN.finditer(text):
        yield (*match.span(), TOKEN)
    for match in _RUN.finditer(text):
        run = match.group()
        if _UUID.fullmatch(run):
            if not _ID_LABEL.search(text[max(0, match.start() - 32) : match.start()]):
                yield (*match.span(), TOKEN)
        elif _is_token(run):
            yield (*match.span(), TOKEN)
        else:
            for segment in _SEGMENT.finditer(run):
                if len(segment.group()) >= 20 and _is_token(segment.group()):
                    yield match.start() + segment.start(), match.start() + segment.end(), TOKEN


def _is_token(run: str) -> bool:
    """Tell random characters from words, paths and names of models by how often letters, case and digits change.

    In random base64 they change at two places in five, in `ConnectionAbortedError` at one in ten.
    """
    looked_at = run[:_LOOKED_AT]
    changes = sum(1 for _ in _CHANGE.finditer(looked_at))
    longest = max(map(len, re.split(r"[^A-Za-z0-9]+", looked_at)))
    if longest >= 40 and not (run.isalpha() and changes):
        return True
    return changes >= (0.25 if "/" in run else 0.15) * len(looked_at)
