"""Nothing secret survives the redactor, and what a reader needs does."""

import base64
import hashlib
import hmac
import json
import time
from collections.abc import Callable
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sayagain.artifact.needles import folded
from sayagain.artifact.redaction import Redactor, transcript_digest
from sayagain.records import Failure, FailureKind, Phase

SECRET = "sk-proj/Ab9_kd83+JdlsK e39dk=="
REFERENCE = "Please say the quick brown fox jumped over my lazy dog, twice."
PROMPT = "Your order 4471 ships on Tuesday to 12 Harbour Street."
EMAIL = "jane.q.doe+calls@mail.example.co.uk"


def url_lower(text: str) -> str:
    """Percent-encode with lower-case hexadecimal digits."""
    return "".join(part if not part.startswith("%") else part.lower() for part in _percent_parts(quote(text, "")))


def _percent_parts(text: str) -> list[str]:
    parts, at = [], 0
    while at < len(text):
        size = 3 if text[at] == "%" else 1
        parts.append(text[at : at + size])
        at += size
    return parts


def every_byte_percent(text: str) -> str:
    return "".join(f"%{octet:02X}" for octet in text.encode())


def base64_at(offset: int, *, safe: bool = False, padded: bool = True) -> Callable[[str], str]:
    """Encode a text that begins `offset` bytes after the start of what is encoded."""

    def encode(text: str) -> str:
        octets = b"\x00\x17~"[:offset] + text.encode()
        coded = (base64.urlsafe_b64encode if safe else base64.b64encode)(octets).decode()
        return coded if padded else coded.rstrip("=")

    return encode


SPELLINGS: dict[str, Callable[[str], str]] = {
    "raw": str,
    "upper case": str.upper,
    "URL": lambda text: quote(text, ""),
    "URL, lower hexadecimal": url_lower,
    "URL, plus for space": quote_plus,
    "URL, every byte": every_byte_percent,
    "URL, twice": lambda text: quote(quote(text, ""), ""),
    "JSON": json.dumps,
    "JSON in JSON": lambda text: json.dumps(json.dumps({"t": text})),
    "JSON, every character": lambda text: "".join(f"\\u{ord(char):04x}" for char in text if ord(char) < 0x10000),
    "repr of bytes": lambda text: repr(text.encode()),
    "HTML": lambda text: "".join(f"&#{ord(char)};" for char in text),
    "no spaces": lambda text: text.replace(" ", ""),
    "other spaces": lambda text: text.replace(" ", " \n\t\u00a0"),
    "zero width": "\u200b".join,
    "colours": "\x1b[31m".join,
    "hexadecimal": lambda text: text.encode().hex(),
    **{
        f"base64 at {offset}, {'URL-safe' if safe else 'standard'}, {'padded' if padded else 'bare'}": base64_at(
            offset, safe=safe, padded=padded
        )
        for offset in range(3)
        for safe in (False, True)
        for padded in (False, True)
    },
}
AROUND = ["{}", "error: {}", "x{}y", '{{"message":"{}","code":3}}', "GET /v1/{}/z failed", "<{}>", "a {} b {} c"]


def skeleton(text: str) -> str:
    return "".join(folded(char) for char in text if char.isalnum())


@pytest.mark.parametrize("around", AROUND)
@pytest.mark.parametrize("spelling", SPELLINGS.values(), ids=SPELLINGS.keys())
@pytest.mark.parametrize(
    "canary", [SECRET, REFERENCE, PROMPT, EMAIL], ids=["secret", "reference", "prompt", "email"]
)
def test_no_canary_survives_in_any_spelling(canary: str, spelling: Callable[[str], str], around: str) -> None:
    text = spelling(canary)
    clean = Redactor([SECRET]).clean(around.replace("{}", text), [REFERENCE, PROMPT])
    assert skeleton(canary) not in skeleton(clean)
    assert text not in clean
    for part in canary.split():
        if len(part) > 5:
            assert part.casefold() not in clean.casefold()


WORDS = st.text(st.characters(categories=["L", "N", "P", "Zs"]), min_size=1, max_size=60)


@given(
    secret=st.text(st.characters(min_codepoint=33, max_codepoint=126), min_size=12, max_size=60),
    before=WORDS,
    after=WORDS,
    spelling=st.sampled_from(sorted(SPELLINGS)),
)
def test_no_long_secret_survives(secret: str, before: str, after: str, spelling: str) -> None:
    if len(skeleton(secret)) < 8:
        spelling = "raw"
    clean = Redactor([secret]).clean(f"{before} {SPELLINGS[spelling](secret)} {after}")
    assert secret not in clean
    if len(skeleton(secret)) >= 8:
        assert skeleton(secret) not in skeleton(clean.replace("<secret>", "|").replace("<token>", "|"))


@given(
    words=st.lists(st.from_regex(r"[a-z]{2,9}", fullmatch=True), min_size=6, max_size=20, unique=True),
    spelling=st.sampled_from(sorted(SPELLINGS)),
    data=st.data(),
)
def test_no_long_run_of_words_of_an_own_text_survives(
    words: list[str], spelling: str, data: st.DataObject
) -> None:
    start = data.draw(st.integers(0, len(words) - 4))
    quoted = words[start : start + data.draw(st.integers(4, len(words)))]
    text = f"could not process 1 2 3: {SPELLINGS[spelling](' '.join(quoted))}"
    clean = Redactor().clean(text, [" ".join(words)])
    if len("".join(quoted)) >= 12:
        assert skeleton("".join(quoted)) not in skeleton(clean)


def test_half_a_text_goes_with_the_word_that_was_cut() -> None:
    assert Redactor().clean("cannot say: Please say the quick bro...", [REFERENCE]) == "cannot say: <text>..."


def test_part_of_a_secret_goes() -> None:
    assert Redactor([SECRET]).clean("key sk-proj/Ab9_kd8 is wrong") == "key <secret> is wrong"


def test_a_key_that_the_provider_masked_goes_with_its_rest() -> None:
    assert Redactor().clean("Incorrect API key provided: sk-pr****9dk.") == "Incorrect API key provided: <secret>"


@pytest.mark.parametrize(
    ("text", "clean"),
    [
        ("wss://user:p@ss@api.x.com/v1?model=a", "wss://<secret>@api.x.com/v1?model=a"),
        ("https://x.com/?api_key=abc&model=nova-2", "https://x.com/?api_key=<secret>&model=nova-2"),
        ("https://x.com/?X-Amz-Signature=abc&a=1", "https://x.com/?X-Amz-Signature=<secret>&a=1"),
        ("https://x.com/?a=1&sig=abc#frag", "https://x.com/?a=1&sig=<secret>#frag"),
        ("Authorization: Bearer abc was refused", "Authorization: <secret> was refused"),
        ("{'Authorization': 'Token abcdef', 'a': 1}", "{'Authorization': '<secret>', 'a': 1}"),
        ("[(b'xi-api-key', b'abc'), (b'host', b'x')]", "[(b'xi-api-key', b'<secret>'), (b'host', b'x')]"),
        ("X-API-Key: abc\r\nAccept: */*", "X-API-Key: <secret> Accept: */*"),
        ("Cookie: a=b; c=d\nHost: x", "Cookie: <secret> Host: x"),
        ("Set-Cookie: sid=abc; Path=/; HttpOnly\nHost: x", "Set-Cookie: <secret> Host: x"),
        ('"client_secret": "a b c", "x": 1', '"client_secret": "<secret>", "x": 1'),
        ("DEEPGRAM_API_KEY=abc", "DEEPGRAM_API_KEY=<secret>"),
        ("sent Token abc123def", "sent Token <secret>"),
        ("got eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2ln", "got <token>"),
        ("mail to bob.smith@example.com please", "mail to <email> please"),
        ("mail=bob%40example.com", "mail=<email>"),
    ],
)
def test_a_credential_goes_by_its_place(text: str, clean: str) -> None:
    assert Redactor().clean(text) == clean


@pytest.mark.parametrize(
    "text",
    [
        "received 1011 (internal error) keepalive ping timeout; no close frame received",
        "Connection refused [Errno 111] ('127.0.0.1', 10300)",
        "token expired",
        "bearer authentication required",
        "Missing key: language; max_tokens: 50",
        "ConnectionAbortedError in websockets/asyncio/client.py",
        "unknown model eleven_multilingual_v2, not gpt-4o-mini-tts-2025-03-20",
        "request_id: 123e4567-e89b-12d3-a456-426614174000",
        "[SSL: CERTIFICATE_VERIFY_FAILED] certificate has expired (_ssl.c:1006)",
    ],
)
def test_what_a_reader_needs_stays(text: str) -> None:
    assert Redactor([SECRET]).clean(text, [REFERENCE, PROMPT]) == text


@pytest.mark.parametrize(
    ("own", "text", "clean"),
    [
        ("no", "no close frame received", "no close frame received"),
        ("no", 'cannot say "no" in this voice', 'cannot say "<text>" in this voice'),
        ("No.", "no", "<text>"),
        ("stop", "stop now, stopped", "<text> now, stopped"),
        ("你好世界", "得到你好世界了", "<text>"),
        ("Straße", "got STRASSE there", "got <text> there"),
    ],
)
def test_a_short_own_text_goes_where_it_can_be_told_from_the_message(own: str, text: str, clean: str) -> None:
    assert Redactor().clean(text, [own]) == clean


@pytest.mark.parametrize(
    ("secret", "text", "clean"),
    [
        ("hunter2", "bad: hunter2!", "bad: <secret>!"),
        ("test", "testing the test", "testing the <secret>"),
        ("zz", 'key "zz" is bad, zzz', 'key "<secret>" is bad, zzz'),
        ("", "nothing", "nothing"),
        ("!?$%&/()", "a!?$%&/()b", "a<secret>b"),
    ],
)
def test_a_short_secret_goes_where_it_can_be_told_from_the_message(secret: str, text: str, clean: str) -> None:
    assert Redactor([secret]).clean(text) == clean


def test_the_machine_and_the_home_are_not_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("socket.gethostname", lambda: "annes-laptop")
    monkeypatch.setenv("HOME", "/home/anne")
    clean = Redactor().clean("cannot resolve annes-laptop.local; see /home/anne/x.wav")
    assert clean == "cannot resolve <host>.local; see ~/x.wav"


@pytest.mark.parametrize(
    ("text", "clean"),
    [
        ("\x1b[31mred\x1b[0m \x1b]0;title\x07\x1b]8;;http://x\x1b\\link", "red link"),
        ("a\x00b\x07c\x9bd\u202ee\u200bf", "abcdef"),
        ("one\r\ntwo\u2028three\x85four\tfive", "one two three four five"),
        ("[bold red]x[/] [link=http://a]y[/link]", "(bold red)x(/) (link=http://a)y(/link)"),
        ("lone \ud800 surrogate", "lone \ufffd surrogate"),
    ],
)
def test_controls_and_markup_go(text: str, clean: str) -> None:
    assert Redactor().clean(text) == clean


class Unprintable:
    def __str__(self) -> str:
        raise ValueError(SECRET)


@pytest.mark.parametrize(
    ("value", "clean"),
    [(None, "None"), (7, "7"), (b"a\xffb", "a\ufffdb"), (ValueError("x"), "x"), (Unprintable(), "Unprintable")],
)
def test_any_object_becomes_text(value: object, clean: str) -> None:
    assert Redactor([SECRET]).clean(value) == clean


@given(st.text() | st.text(alphabet="ab@.:=%\\u0041x[]<>\"'&#;+/- \n\x1b*", max_size=200))
def test_any_text_becomes_one_line_that_is_clean_already(text: str) -> None:
    redactor = Redactor([SECRET])
    clean = redactor.clean(text, [REFERENCE])
    assert clean.isprintable()
    clean.encode()


@pytest.mark.parametrize(
    "unit",
    ["fubkiFwMqk", "a@", "%25", "%41", "\\", "\\u0041", "The quick ", "a1b2C3 ", "://", "key=", "cookie:", "*** ",
     "0", "[a", "&#", "&amp;", "\x1b]", "thequick", "://a", "token='", "?key", ";", "Bearer ", "é", "a.", "eyJ."],
)  # fmt: skip
def test_time_is_linear_in_the_length(unit: str) -> None:
    """A quadratic step over this length would take hours."""
    redactor = Redactor([SECRET])
    began = time.process_time()
    redactor.clean(unit * (200_000 // len(unit)), [REFERENCE])
    assert time.process_time() - began < 30


def test_a_megabyte_of_base64_are_one_token() -> None:
    text = base64.b64encode(hashlib.shake_256(b"noise").digest(750_000)).decode()
    assert Redactor([SECRET]).clean(f"bad audio: {text}", [REFERENCE]) == "bad audio: <token>"


def test_base64_in_lines_is_one_token() -> None:
    text = base64.encodebytes(b"x" * 80 + REFERENCE.encode()).decode()
    assert Redactor().clean(f"bad: {text} end", [REFERENCE]) == "bad: <token> end"


def test_a_failure_is_redacted_cut_and_fingerprinted() -> None:
    raw = Failure(
        kind=FailureKind.AUTH,
        phase=Phase.OPEN,
        message=f"refused {quote(SECRET, '')} for {REFERENCE} {'x ' * 400}",
        code=SECRET,
    )
    kept = Redactor([SECRET]).failure(raw, "deepgram", [REFERENCE])
    assert kept.message.startswith("refused <secret> for <text>. x x")
    assert len(kept.message) == 500
    assert kept.code is None
    assert kept.fingerprint is not None


def test_a_failure_keeps_its_code_and_never_has_an_empty_message() -> None:
    raw = Failure(kind=FailureKind.AUTH, phase=Phase.OPEN, message="\x1b[0m", code="1008")
    kept = Redactor().failure(raw, "deepgram")
    assert kept.code == "1008"
    assert kept.message == "The provider refused the credential."


def test_failures_that_differ_in_their_own_texts_share_a_bucket() -> None:
    redactor = Redactor()
    first, second = (
        redactor.failure(
            Failure(kind=FailureKind.BAD_REQUEST, phase=Phase.SEND, message=f'cannot say "{text}"'), "p", [text]
        )
        for text in (REFERENCE, PROMPT)
    )
    assert first.fingerprint == second.fingerprint


def test_a_transcript_digest_is_sha256_of_its_utf8_and_counts_code_points() -> None:
    assert transcript_digest("naïve 👍", None) == (hashlib.sha256("naïve 👍".encode()).hexdigest(), 7)


def test_a_keyed_transcript_digest_is_an_hmac() -> None:
    assert transcript_digest("yes", "k") == (hmac.new(b"k", b"yes", hashlib.sha256).hexdigest(), 3)


def test_an_empty_transcript_is_a_transcript() -> None:
    assert transcript_digest("", None) == (hashlib.sha256(b"").hexdigest(), 0)


@pytest.mark.parametrize("value", [None, 0, 1.5, b"yes", ["yes"], object(), float("nan"), True])
@pytest.mark.parametrize("key", [None, "k"])
def test_what_is_not_a_string_has_no_digest(value: object, key: str | None) -> None:
    assert transcript_digest(value, key) == (None, None)


@given(st.text(st.characters(min_codepoint=0, max_codepoint=0x10FFFF)), st.none() | st.text())
def test_any_string_has_a_digest(text: str, key: str | None) -> None:
    digest, chars = transcript_digest(text, key)
    assert digest is not None
    assert len(digest) == 64
    assert chars == len(text)


def test_lone_surrogates_have_digests_of_their_own() -> None:
    assert transcript_digest("\ud800", None) != transcript_digest("\ud801", None)


def test_of_a_message_too_long_to_be_read_nothing_is_kept_but_its_length() -> None:
    secret = "sk-live-0123456789abcdef"
    failure = Failure(kind=FailureKind.SERVER_ERROR, phase=Phase.RECEIVE, message=f"{secret} " * 500_000)
    message = Redactor([]).failure(failure, "p").message
    assert "sk-live" not in message
    assert str(len(secret + " ") * 500_000) in message
