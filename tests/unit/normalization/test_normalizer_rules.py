"""Rules that a table of pairs cannot show: characters, regions, languages without rules, and the data tables."""

from pathlib import Path

import pytest

from sayagain.metrics.normalization import NAME, normalize, rules_for, uses_spaces
from sayagain.metrics.normalization.numerals import read_numeral
from sayagain.metrics.normalization.tables import acronyms, compounds, spelling, units, words

PAGE = Path(__file__).parents[3] / "docs" / "normalization.md"
EXAMPLES = [
    [cell.strip().strip("`") for cell in line.strip("|").split("|")]
    for line in PAGE.read_text(encoding="utf-8").split("\n")
    if line.startswith("| `")
]


@pytest.mark.parametrize(("one", "other", "both"), EXAMPLES)
def test_every_example_of_the_page_is_true(one: str, other: str, both: str) -> None:
    assert (normalize(one, "en"), normalize(other, "en")) == (both, both)


@pytest.mark.parametrize(
    ("text", "same"),
    [
        ("no\u00a0break\u202fspace", "no break space"),
        ("zero\u200bwidth", "zerowidth"),
        ("soft\u00adhyphen", "softhyphen"),
        ("\uff26\uff35\uff2c\uff2c \uff11\uff12", "full 12"),
        ("cafe\u0301", "caf\u00e9"),
        ("\ufb01ne", "fine"),
        ("can\u2019t", "can't"),
        ("\u201cyes\u201d", "yes"),
        ("1\u00bd", "one and a half"),
        ("10\u00b2", "10 squared"),
        ("CO\u2082", "CO2"),
        ("\u22125", "minus 5"),
        ("e\u2011mail", "email"),
        ("Acme\u2122", "Acme"),
    ],
)
def test_unicode_forms_of_one_text_are_one(text: str, same: str) -> None:
    assert normalize(text, "en") == normalize(same, "en")


@pytest.mark.parametrize(
    ("language", "month"), [("en", "may 6"), ("en-US", "may 6"), ("en-GB", "june 5"), ("en_AU", "june 5")]
)
def test_the_region_decides_which_number_of_a_date_is_the_month(language: str, month: str) -> None:
    assert normalize("5/6/2020", language) == f"{month} 2020"


@pytest.mark.parametrize(
    ("number", "count"), [("36", 1), ("1,200,000", 1), ("1999", 1), ("94107", 5), ("919-696-3901", 10)]
)
def test_a_number_is_one_word_up_to_four_significant_digits_and_one_word_a_digit_beyond(
    number: str, count: int
) -> None:
    assert len(normalize(number, "en").split()) == count


@pytest.mark.parametrize(
    ("phrase", "number", "form"),
    [
        ("two thousand and five", "2005", "number"),
        ("three hundred twenty thousand four hundred and first", "320401st", "ordinal"),
        ("one point", "1", "number"),
        ("nineteen hundred", "1900", "number"),
        ("two thousands", "2000s", "decade"),
        ("triple oh", "000", "number"),
        ("five thousand million", "5000000000", "number"),
    ],
)
def test_the_grammar_reads_one_number(phrase: str, number: str, form: str) -> None:
    numeral = read_numeral([*phrase.split(), "", "", ""], 0)
    assert numeral is not None
    assert (numeral.text, numeral.form) == (number, form)


def test_english_in_any_spelling_of_its_tag_has_rules_and_other_languages_say_basic() -> None:
    assert {rules_for(tag) for tag in ("en", "EN", "en-US", "en_gb")} == {NAME}
    assert all("basic" in rules_for(tag) for tag in ("de", "hi", "zh-Hans", "und", "", "eng2"))


@pytest.mark.parametrize(
    ("text", "language", "expected"),
    [
        ("नमस्ते, दुनिया।", "hi", "नमस्ते दुनिया"),
        ("हिन्दी में १२ किताबें", "hi", "हिन्दी में 12 किताबें"),
        ("สวัสดีครับ ผมชื่อ", "th", "สวัสดีครับผมชื่อ"),
        ("السَّلامُ عليكم؟", "ar", "السَّلامُ عليكم"),
        ("今日 は、 いい 天気。", "ja", "今日はいい天気"),
        ("我用 iPhone 15 手机。", "zh", "我用iphone 15手机"),
        ("L\u2019homme n'est pas là.", "fr", "l homme n est pas là"),
        ("Es sind -5 Grad, nicht 5.", "de", "es sind -5 grad nicht 5"),
        ("Straße", "de", "strasse"),
        ("气温-5度", "zh", "气温-5度"),
        ("气温 5 度", "zh", "气温5度"),
        ("1,5 Liter", "de", "1.5 liter"),
        ("안녕하세요, 세계!", "ko", "안녕하세요 세계"),
    ],
)
def test_basic_rules_keep_letters_vowel_signs_and_signs_of_numbers(
    text: str, language: str, expected: str
) -> None:
    assert normalize(text, language) == expected


@pytest.mark.parametrize(
    "language", ["zh", "zh-Hant-TW", "ja", "th", "lo", "km", "my", "yue", "und-Thai", "ZH_cn"]
)
def test_languages_and_scripts_without_spaces_are_known(language: str) -> None:
    assert not uses_spaces(language)


@pytest.mark.parametrize("language", ["en", "ko", "hi", "ar", "ja-Latn", "zh-Latn-pinyin", "und", ""])
def test_all_others_are_taken_to_use_spaces(language: str) -> None:
    assert uses_spaces(language)


def test_what_a_table_writes_no_table_replaces_again() -> None:
    written = {word for replacement in words().values() for word in replacement}
    assert not written & words().keys()


def test_every_compound_leads_to_a_word_that_begins_no_other() -> None:
    joined = {word for replacement in compounds().values() for word in replacement}
    assert not joined & {compound.split()[0] for compound in compounds()}


def test_every_unit_stands_for_itself() -> None:
    assert all(units()[unit] == unit for unit in units().values())


def test_every_listed_acronym_begins_or_ends_with_a_or_i() -> None:
    assert all(word[0] in "ai" or word[-1] in "ai" for word in acronyms())


def test_entries_of_the_library_that_change_a_word_are_taken_out() -> None:
    assert spelling()["colour"] == "color"
    assert not {"analyses", "mhm", "prologue"} & spelling().keys()
