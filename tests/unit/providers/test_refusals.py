"""How a provider's refusal becomes a kind and a code."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sayagain.providers.access import Access, Closed, HttpError
from sayagain.providers.deepgram import DeepgramStt
from sayagain.providers.refusals import described, worded
from sayagain.records import Benchmark, FailureKind, Item, Target

ITEM = Item(id="one", text="ten of clubs", sha256="0" * 64)
TARGET = Target(benchmark=Benchmark.STT, provider="deepgram", model="nova-3", settings={"model": "nova-3"})
KEY = "abcdef0123456789"


def codec() -> DeepgramStt:
    return DeepgramStt(TARGET, ITEM, Access("https://host.example", {"SOME_KEY": KEY}))


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ({"error": {"code": "invalid_api_key", "message": "no"}}, ("invalid_api_key", "no")),
        ({"error": {"type": "server_error", "message": "no", "code": None}}, ("server_error", "no")),
        ({"err_code": "INVALID_AUTH", "err_msg": "no"}, ("INVALID_AUTH", "no")),
        ({"detail": {"status": "quota_exceeded", "message": "no"}}, ("quota_exceeded", "no")),
        ({"detail": "no"}, (None, "no")),
        ({"error": "no"}, (None, "no")),
        ({"message": "no", "code": 4001}, ("4001", "no")),
        ({"code": "a sentence is no code", "message": "no"}, (None, "no")),
        ([{"message": "no"}], (None, "no")),
        ("no", (None, "no")),
        (None, (None, "")),
        ({}, (None, "")),
    ],
)
def test_the_shapes_of_errors_in_use_are_read(body: object, expected: tuple[str | None, str]) -> None:
    assert described(json.dumps(body).encode()) == expected


def test_a_page_of_html_has_no_message_and_plain_text_is_its_own() -> None:
    assert described("<html><body>secret page</body></html>") == (None, "")
    assert described("  upstream\n went away ") == (None, "upstream went away")


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        ("RATE_LIMITED", FailureKind.RATE_LIMITED),
        ("TooManyRequests", FailureKind.RATE_LIMITED),
        ("concurrency_quota_exceeded", FailureKind.RATE_LIMITED),
        ("quota", FailureKind.QUOTA),
        ("insufficient_credits", FailureKind.QUOTA),
        ("UNAUTHORIZED", FailureKind.AUTH),
        ("invalid_api_key", FailureKind.AUTH),
        ("session_expired", FailureKind.CONNECTION_LOST),
        ("InvalidSampleRate", FailureKind.BAD_REQUEST),
        ("voice.not_found", FailureKind.BAD_REQUEST),
    ],
)
def test_a_code_in_no_table_means_what_its_words_say(code: str, kind: FailureKind) -> None:
    rule = worded(code)
    assert rule is not None
    assert rule.kind is kind
    assert codec().refused(code, "no").kind is kind


@pytest.mark.parametrize("code", ["INTERNAL", "E0100", "4711", ""])
def test_a_code_without_words_says_nothing(code: str) -> None:
    assert worded(code) is None


def test_a_code_that_repeats_the_status_is_not_said_twice() -> None:
    assert codec().refused("401", "no", status=401).code == "401"


def test_words_do_not_overrule_a_status() -> None:
    assert codec().refused("auth_backend_down", "no", status=503).kind is FailureKind.SERVER_ERROR


@given(
    st.binary(max_size=200)
    | st.recursive(
        st.none() | st.text() | st.integers(),
        lambda inner: (
            st.lists(inner) | st.dictionaries(st.sampled_from(["error", "detail", "code", "message"]), inner)
        ),
    ).map(lambda value: json.dumps(value).encode())
)
def test_no_body_of_a_refusal_is_too_strange(body: bytes) -> None:
    code, message = described(body)
    assert code is None or code
    assert isinstance(message, str)


@pytest.mark.parametrize(
    ("status", "body", "kind", "code"),
    [
        (
            429,
            {"error": {"code": "insufficient_quota", "message": "no"}},
            FailureKind.QUOTA,
            "429/insufficient_quota",
        ),
        (429, {}, FailureKind.RATE_LIMITED, "429"),
        (402, {"err_code": "ASR_PAYMENT_REQUIRED"}, FailureKind.QUOTA, "402/ASR_PAYMENT_REQUIRED"),
        (418, {}, FailureKind.BAD_REQUEST, "418"),
        (529, {}, FailureKind.SERVER_ERROR, "529"),
        (415, {}, FailureKind.AUDIO_FORMAT, "415"),
    ],
)
def test_a_code_wins_over_its_status_and_both_are_kept(
    status: int, body: dict[str, object], kind: FailureKind, code: str
) -> None:
    refused = codec().http_refusal(HttpError(status, json.dumps(body).encode(), 3.0))
    assert (refused.kind, refused.code, refused.retry_after_s) == (kind, code, 3.0)
    assert refused.message


def test_a_code_that_quotes_a_key_is_dropped() -> None:
    assert codec().refused(f"bad_{KEY}", "no").code is None
    (refused,) = codec().closed(Closed(1008, json.dumps({"code": KEY, "message": "no"})))
    assert refused.code == "1008"  # type: ignore[union-attr]


def test_a_number_of_an_http_error_in_a_message_counts_as_that_status() -> None:
    refused = codec().refused(429, "slow down")
    assert (refused.kind, refused.code) == (FailureKind.RATE_LIMITED, "429")


@pytest.mark.parametrize(
    ("name", "mismatch"), [("nova-3", False), ("Nova-3-2026-01-31", False), ("nova-2", True), (None, False)]
)
def test_a_model_is_the_one_asked_for_also_with_its_date(name: str | None, mismatch: bool) -> None:
    assert bool(list(codec().model_named(name))) is mismatch
