"""What a codec is told about the outside: where the provider is and what opens it, and the requests it makes.

Both come from the local configuration and the catalog only, never from a target's settings: settings travel in
artifacts, and an artifact from a stranger must not be able to send anybody's key anywhere.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlencode, urlsplit

from sayagain.records import Setting

Query = Mapping[str, Setting | Iterable[str]]
"""Query parameters: None is left out, booleans become true and false, a list repeats its name."""


@dataclass(frozen=True)
class Access:
    """A provider's base URL (`https://…`, also for websockets) and its secrets by the name of their variable."""

    base_url: str
    secrets: Mapping[str, str] = field(default_factory=dict, repr=False)

    @property
    def key(self) -> str:
        """The first secret, in the order of the catalog's `keys`; empty when the target needs none."""
        return next(iter(self.secrets.values()), "")

    def url(self, path: str, query: Query | None = None) -> str:
        """Return the URL of a path (beginning with `/`) below the base."""
        encoded = urlencode(_pairs(query or {}))
        return self.base_url.rstrip("/") + path + (f"?{encoded}" if encoded else "")

    def websocket_url(self, path: str, query: Query | None = None) -> str:
        """Return the same as a `wss:` URL, or `ws:` when the base is plain `http:`."""
        url = self.url(path, query)
        secure = urlsplit(url).scheme in ("https", "wss")
        return ("wss:" if secure else "ws:") + url.split(":", 1)[1]


@dataclass(frozen=True)
class Upload:
    """A file of a multipart form; its content never appears in a representation."""

    name: str
    content: bytes = field(repr=False)
    content_type: str = "audio/wav"


@dataclass(frozen=True)
class HttpRequest:
    """One HTTP request: with a JSON body, or with a multipart form of fields and files."""

    url: str = field(repr=False)
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    method: str = "POST"
    json: Any = field(default=None, repr=False)
    form: Mapping[str, Setting | Upload] | None = field(default=None, repr=False)


@dataclass(frozen=True)
class WebsocketRequest:
    """One websocket to open."""

    url: str = field(repr=False)
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    protocols: tuple[str, ...] = ()


@dataclass(frozen=True)
class Head:
    """The beginning of a successful HTTP answer; names of headers are in lower case."""

    status: int
    headers: Mapping[str, str]


@dataclass(frozen=True)
class EndOfBody:
    """The body of an HTTP answer is complete."""


@dataclass(frozen=True)
class Closed:
    """The provider closed the websocket, with this code (1005: none given) and reason."""

    code: int
    reason: str = ""

    @property
    def normal(self) -> bool:
        """Whether nothing was said against us: the code for a fulfilled purpose, or none."""
        return self.code in (1000, 1005)


@dataclass(frozen=True)
class HttpError:
    """An HTTP answer that refuses: its status, the beginning of its body, and `Retry-After` in seconds."""

    status: int
    body: bytes = b""
    retry_after_s: float | None = None


WebsocketFrame = str | bytes | Closed
"""What a websocket carries: text and binary messages, and at its end how it was closed."""

HttpFrame = HttpRequest | Head | bytes | EndOfBody
"""What an HTTP exchange carries: the request out; then the head, pieces of the body and its end back."""


def _pairs(query: Query) -> list[tuple[str, str]]:
    pairs: list[tuple[str, str]] = []
    for name, value in query.items():
        values = [value] if value is None or isinstance(value, str | int | float) else list(value)
        pairs += [(name, text(item)) for item in values if item is not None]
    return pairs


def text(value: Setting) -> str:
    """Return a setting as a query or form writes it: booleans in lower case, whole numbers without a point."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return "" if value is None else str(value)
