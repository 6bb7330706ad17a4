"""Pairs of texts with their right word error rate: false errors and false zeros of the usual normalizers."""

from fractions import Fraction
from pathlib import Path
from typing import NamedTuple

import pytest
from rapidfuzz.distance import Levenshtein

from sayagain.metrics.normalization import normalize

CASES = Path(__file__).parents[2] / "cases"


class Pair(NamedTuple):
    """A reference, a hypothesis, and their right word error rate as the file writes it."""

    kind: str
    reference: str
    hypothesis: str
    rate: str


def rows(name: str) -> list[list[str]]:
    lines = (CASES / name).read_text(encoding="utf-8").split("\n")
    return [line.split("\t") for line in lines if line and not line.startswith("#")]


GIVEN = [Pair("given", *row[:3]) for row in rows("normalisation.tsv")]
OWN = [Pair(*row) for row in rows("normalisation_own.tsv")]
HELD_OUT = [Pair(*row) for row in rows("normalisation_held_out.tsv")]
ALL = pytest.mark.parametrize(
    "pair", GIVEN + OWN + HELD_OUT, ids=lambda pair: f"{pair.kind}: {pair.reference} / {pair.hypothesis}"
)


def errors(reference: str, hypothesis: str) -> tuple[int, int]:
    """Return the errors between two texts and the words of the normalized reference."""
    expected, heard = (normalize(text, "en").split() for text in (reference, hypothesis))
    return Levenshtein.distance(expected, heard), len(expected)


@ALL
def test_a_pair_has_its_right_word_error_rate(pair: Pair) -> None:
    wrong, count = errors(pair.reference, pair.hypothesis)
    if pair.rate == ">0":
        assert wrong > 0
    else:
        assert Fraction(wrong, count) == Fraction(pair.rate)


@ALL
def test_a_pair_is_equal_or_different_whichever_side_is_the_reference(pair: Pair) -> None:
    assert errors(pair.reference, pair.hypothesis)[0] == errors(pair.hypothesis, pair.reference)[0]


@ALL
def test_normalizing_a_normalized_text_changes_nothing(pair: Pair) -> None:
    for text in (pair.reference, pair.hypothesis):
        once = normalize(text, "en")
        assert normalize(once, "en") == once


def test_our_own_cases_are_many_and_hold_false_zeros_as_well_as_false_errors() -> None:
    mistakes = [pair for pair in OWN if pair.rate != "0"]
    assert len(OWN) >= 150
    assert len(mistakes) >= 50
