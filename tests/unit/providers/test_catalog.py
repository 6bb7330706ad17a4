"""The catalog: data that is checked when it is read, from this package and from others."""

from textwrap import dedent

import pytest

from sayagain.config import Settings
from sayagain.errors import UsageError
from sayagain.providers.catalog import Entry, entries, parse
from sayagain.providers.network import StreamedTts, UploadStt, WebsocketStt, WebsocketTts
from sayagain.records import Benchmark, Item
from sayagain.runner.cloud import cloud_candidate, endpoint

ENTRIES = pytest.mark.parametrize("entry", entries(), ids=lambda entry: entry.target().key)


@ENTRIES
def test_every_codec_is_of_the_kind_its_entry_says(entry: Entry) -> None:
    codec = entry.load_codec()
    speech_to_text = entry.offer.benchmark is Benchmark.STT
    assert issubclass(codec, (WebsocketStt, UploadStt) if speech_to_text else (WebsocketTts, StreamedTts))
    assert (entry.offer.settings.get("mode") == "batch") is issubclass(codec, UploadStt)
    assert codec.version
    codec(entry.target(), Item(id="one", text="x", sha256="0"), None)


@ENTRIES
def test_every_setting_that_changes_a_result_is_explicit(entry: Entry) -> None:
    settings = entry.offer.settings
    assert {"model", "sample_rate"} <= set(settings)
    if entry.offer.benchmark is Benchmark.STT:
        assert any(name.startswith("language") for name in settings)
    else:
        assert entry.offer.voice
        assert "voice" in settings
    if issubclass(entry.load_codec(), WebsocketStt):
        assert "chunk_ms" in settings


@ENTRIES
def test_no_setting_says_where_a_key_is_sent_or_what_it_is(entry: Entry) -> None:
    text = str(entry.offer.settings).lower()
    assert "://" not in text
    assert "api_key" not in text


@ENTRIES
def test_every_provider_is_reached_over_tls_and_says_which_key_is_missing(entry: Entry) -> None:
    assert entry.base_url is None or entry.base_url.startswith("https://")
    missing = cloud_candidate(entry, Settings(), secrets={}).missing
    assert missing is not None or not entry.provider.keys
    assert all(name in (missing or "") for name in entry.provider.keys)
    keys = dict.fromkeys(entry.provider.keys, "k")
    settings = Settings(endpoints={entry.provider.provider: "http://127.0.0.1:1"})
    candidate = cloud_candidate(entry, settings, secrets=keys)
    assert candidate.missing is None
    assert candidate.target.secrets == entry.provider.keys
    assert candidate.target.adapter == entry.load_codec().version


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        ("provider = ", "Invalid value"),
        ("provider = 'a'\ntitle = 'A'", "missing required field `target`"),
        ("provider = 'a'\ntitle = 'A'\ntarget = []\nhost = 'x'", "unknown field `host`"),
        ("provider = 'a'\ntitle = 'A'\ntarget = []\nkeys = ['ACME_ID']", "ACME_ID must have KEY or TOKEN"),
    ],
)
def test_a_file_that_is_not_one_is_named_with_what_is_wrong(content: str, complaint: str) -> None:
    with pytest.raises(UsageError, match=complaint) as caught:
        parse(content, "acme.toml")
    assert "acme.toml" in str(caught.value)


def test_an_endpoint_comes_from_the_local_configuration_or_the_catalog() -> None:
    entry = next(entry for entry in entries() if entry.provider.provider == "deepgram")
    assert endpoint(entry, Settings()) == "https://api.deepgram.com"
    assert endpoint(entry, Settings(endpoints={"deepgram": "http://localhost:1/x"})) == "http://localhost:1/x"


@pytest.mark.parametrize("url", ["localhost:8000", "ftp://x", "https://", "https://x/?key=1", "https://x/#a"])
def test_an_endpoint_that_is_no_base_url_is_refused_by_name(url: str) -> None:
    entry = next(entry for entry in entries() if entry.provider.provider == "deepgram")
    with pytest.raises(UsageError, match="SAYAGAIN_ENDPOINT_DEEPGRAM"):
        endpoint(entry, Settings(endpoints={"deepgram": url}))


def test_a_provider_without_a_base_url_asks_for_one() -> None:
    content = dedent(
        """
        provider = "acme-own"
        title = "Acme"
        [[target]]
        benchmark = "tts"
        model = "m"
        codec = "sayagain.providers.deepgram:DeepgramTts"
        settings = {}
        """
    )
    provider = parse(content, "acme.toml")
    missing = cloud_candidate(Entry(provider, provider.target[0]), Settings(), secrets={}).missing
    assert missing is not None
    assert "SAYAGAIN_ENDPOINT_ACME_OWN" in missing


def test_a_codec_that_cannot_be_loaded_is_a_usage_error_that_names_it() -> None:
    content = "provider='a'\ntitle='A'\n[[target]]\nbenchmark='stt'\nmodel='m'\ncodec='nowhere:Codec'\nsettings={}"
    provider = parse(content, "acme.toml")
    with pytest.raises(UsageError, match="nowhere:Codec"):
        Entry(provider, provider.target[0]).load_codec()
