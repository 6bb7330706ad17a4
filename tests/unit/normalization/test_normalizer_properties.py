"""What holds for every text: normalizing is total, idempotent, never empties words, and takes linear work."""

import resource
import subprocess
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sayagain.metrics.normalization import normalize
from sayagain.metrics.normalization.numerals import STARTERS, ZEROS_AFTER
from sayagain.metrics.normalization.tables import acronyms, compounds, contractions, dotted, units, words

ANY_TEXT = st.text(alphabet=st.characters(codec=None))
LANGUAGES = st.sampled_from(["en", "en-GB", "hi", "th", "ar", "zh", "ja", "fr", "und", ""])
ENGLISH = st.sampled_from(["en", "en-GB"])

PARTICLES = """a an and the of point dot oh o minus negative plus past to quarter percent per cent oclock am pm"""
DIGITS = (
    """0 5 12 05 007 2020 12345 1.5 0.50 5.00 1.2.3 1/2 2/3 1,000 10:00 10:30 21st 90s -5 #5 $5 $0.50 £2 5€ 50¢"""
)
SHAPES = """5-10 3-2 9-1-1 555-1234 2020-05-06 5/6/2020 24/7 $1.2M 10K 5G 20mm 5'10" 20°C 5% C++ C# A- $ # & @ -"""
OTHERS = (
    """may march june st dr n e main street u.s. e.g. a.b. i'm it's john's x.com a@b.io [hm] (oh) foot square"""
)
NUMBERS = sorted({*STARTERS, *ZEROS_AFTER, *PARTICLES.split(), *DIGITS.split()})
QUANTITIES = [*NUMBERS, *SHAPES.split(), *OTHERS.split()]
VOCABULARY = sorted(
    {*QUANTITIES, *acronyms(), *contractions(), *units(), *dotted(), *"abcdefghijklmnopqrstuvwxyz"}
    | {word for compound in compounds() for word in compound.split()}
    | {f"{word.capitalize()}." for word in dotted()}
    | {word for word in words() if len(word) < 6}
)
PHRASES = st.one_of(
    [st.lists(st.sampled_from(part), min_size=1, max_size=9) for part in (VOCABULARY, QUANTITIES, NUMBERS)]
).map(" ".join)
PUNCTUATED = st.text(alphabet="0123456789aAiIoOkKmMsS.,:;/-+'$€%#&@°()[]<>* ", max_size=16)
TEXTS = st.one_of(ANY_TEXT, PHRASES, PUNCTUATED)


@given(text=ANY_TEXT, language=LANGUAGES)
def test_any_string_in_any_language_becomes_words_parted_by_single_spaces(text: str, language: str) -> None:
    normalized = normalize(text, language)
    assert normalized == " ".join(normalized.split())


@given(text=TEXTS, language=LANGUAGES)
def test_normalizing_twice_changes_nothing(text: str, language: str) -> None:
    once = normalize(text, language)
    assert normalize(once, language) == once


@settings(max_examples=400)
@given(text=st.one_of(PHRASES, PUNCTUATED), language=ENGLISH)
def test_numbers_and_symbols_in_any_order_are_settled_the_first_time(text: str, language: str) -> None:
    once = normalize(text, language)
    assert normalize(once, language) == once


@given(text=TEXTS, language=LANGUAGES)
def test_a_text_with_a_letter_or_digit_never_becomes_empty(text: str, language: str) -> None:
    if any(char.isalnum() for char in text):
        assert normalize(text, language)


@pytest.mark.parametrize("text", ["um", "Uh, um...", "[laughter]", "[um]", "um [hm]", "<unk>", "(oh)"])
def test_a_text_of_fillers_or_annotations_alone_keeps_them(text: str) -> None:
    assert normalize(text, "en")


HOSTILE = [
    *(
        "a.",
        "1,11,",
        "1,111,",
        "1.1",
        "a-",
        "a@",
        "a'",
        "[a",
        "<a",
        "1-",
        "1/",
        "1:",
        "$1/a",
        "9",
        "http://",
        "www.",
    ),
    *(
        "one ",
        "million ",
        "one million ",
        "one hundred and ",
        "double ",
        "five oh ",
        "point ",
        "five point ",
        "and ",
    ),
    *(
        "$ ",
        "$5 ",
        "5 $ ",
        "5 dollars and 5 ",
        "may ",
        "5 may ",
        "the 5th of may ",
        "half past ",
        "five and a half ",
    ),
    *(
        "a ",
        "a b c ",
        "e ",
        "um ",
        "mm ",
        "dr. ",
        "No. ",
        "non ",
        "\u4eca ",
        "\u00bd",
        "\u0323\u0301",
        "e\u0301\u0323",
    ),
]
CPU_SECONDS = 60
"""For all of these texts together: many times what linear work needs, far less than quadratic work would."""


@pytest.mark.parametrize("language", ["en", "th"])
def test_no_repetition_takes_more_than_linear_work(language: str) -> None:
    program = (
        "import sys\n"
        "from sayagain.metrics.normalization import normalize\n"
        "for part in sys.argv[2:]:\n"
        "    normalize(part * (60_000 // len(part)), sys.argv[1])\n"
    )

    def limit_processor_time() -> None:
        resource.setrlimit(resource.RLIMIT_CPU, (CPU_SECONDS, CPU_SECONDS))

    command = [sys.executable, "-c", program, language, *HOSTILE]
    # Processor time, unlike a clock, does not depend on how busy the machine is.
    finished = subprocess.run(command, preexec_fn=limit_processor_time, check=False)
    assert finished.returncode == 0


def test_importing_the_normalizer_does_not_import_the_library_it_builds_on() -> None:
    program = (
        "import sys; from sayagain.metrics.normalization import normalize; normalize('colour', 'en')\n"
        "assert 'whisper_normalizer.english' not in sys.modules"
    )
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0
