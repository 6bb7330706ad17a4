"""Targets of the catalog: whether they can run here, and how each is reached.

Keys come from the environment or .env; a base URL from the catalog, or from the local configuration where that
says otherwise. Neither ever comes from a target's settings.
"""

from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from sayagain.config import ENDPOINT_PREFIX, Settings, local_secrets
from sayagain.errors import UsageError
from sayagain.providers.catalog import Entry
from sayagain.records import Limits, Target
from sayagain.runner.candidate import Candidate
from sayagain.runner.overrides import with_overrides
from sayagain.transports.base import Transport


def cloud_candidate(entry: Entry, settings: Settings, secrets: Mapping[str, str] | None = None) -> Candidate:
    """Return a target of the catalog with its codec loaded.

    Raises:
        UsageError: The codec cannot be loaded, or the endpoint configured for the provider is no URL.
    """
    known = local_secrets() if secrets is None else secrets
    codec = entry.load_codec()
    base_url = endpoint(entry, settings)
    keys = {name: known[name] for name in entry.provider.keys if name in known}
    target = with_overrides(entry.target(codec.version), settings)

    def connect(limits: Limits) -> Transport:
        return transport_of(codec, target, base_url or "", keys, limits)

    return Candidate(target, connect, why_missing(entry, base_url, keys))


def why_missing(entry: Entry, base_url: str | None, keys: Mapping[str, str]) -> str | None:
    """Return one sentence that says what is not configured and how to do it, or None when everything is."""
    absent = [name for name in entry.provider.keys if not keys.get(name)]
    if absent:
        return f"{' and '.join(absent)} must be set, in the environment or in .env."
    if base_url is None:
        name = entry.provider.provider
        return f"give its base URL as {_variable(name)}, or as {name} in the [endpoints] table of sayagain.toml."
    return None


def endpoint(entry: Entry, settings: Settings) -> str | None:
    """Return the base URL of a target: the configured one, or the catalog's; None when there is neither."""
    name = entry.provider.provider
    url = settings.endpoints.get(name)
    if url is None:
        return entry.base_url
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.query or parts.fragment:
        raise UsageError(
            f"The endpoint of {name} is no base URL such as https://host/path. "
            f"Correct {_variable(name)} or the [endpoints] table of sayagain.toml."
        )
    return url


def transport_of(codec: Any, target: Target, base_url: str, keys: Mapping[str, str], limits: Limits) -> Transport:
    """Return the transport that a codec's kind asks for; raise UsageError when it is of none of the kinds."""
    from sayagain.providers.access import Access
    from sayagain.providers.network import StreamedTts, UploadStt, WebsocketStt, WebsocketTts
    from sayagain.transports.http import HttpTransport
    from sayagain.transports.websocket import WebsocketTransport

    access = Access(base_url, keys)
    if isinstance(codec, type) and issubclass(codec, WebsocketStt | WebsocketTts):
        return WebsocketTransport(codec, target, access, limits)
    if isinstance(codec, type) and issubclass(codec, UploadStt | StreamedTts):
        return HttpTransport(codec, target, access, limits)
    raise UsageError(f"The codec of {target.name} is none of the classes of sayagain.providers.network.")


def _variable(provider: str) -> str:
    return ENDPOINT_PREFIX + provider.upper().replace("-", "_")
