"""Prices in units that targets can be compared by."""

import pytest

from sayagain.analysis.costs import cost_of, costs
from sayagain.providers.catalog import Price, entries


def price(amount: float, unit: str) -> Price:
    return Price(amount=amount, currency="USD", unit=unit, date="2026-01-31", source="its price list")


@pytest.mark.parametrize(
    ("amount", "unit", "expected", "per"),
    [
        (0.006, "minute", 0.36, "hour of audio"),
        (0.0001, "second", 0.36, "hour of audio"),
        (0.15, "hour", 0.15, "hour of audio"),
        (0.000015, "character", 15, "million characters"),
        (0.03, "thousand characters", 30, "million characters"),
        (16.0, "million characters", 16, "million characters"),
    ],
)
def test_a_price_is_converted_to_the_hour_of_audio_or_the_million_characters(
    amount: float, unit: str, expected: float, per: str
) -> None:
    cost = cost_of("stt:acme/ear", price(amount, unit))
    assert cost.amount == pytest.approx(expected)
    assert (cost.per, cost.currency, cost.date) == (per, "USD", "2026-01-31")


def test_a_unit_that_depends_on_the_texts_is_not_converted_and_still_shown() -> None:
    cost = cost_of("tts:acme/mouth", price(12, "million tokens"))
    assert (cost.amount, cost.per) == (None, None)
    assert "million tokens" in cost.price
    assert "2026-01-31" in cost.price


def test_a_target_without_a_price_costs_nothing_that_we_know_of() -> None:
    assert costs(["stt:moonshine/tiny-en"]) == ()


def test_every_price_of_the_catalog_can_be_shown_with_its_date() -> None:
    priced = [entry.target().key for entry in entries() if entry.offer.price is not None]
    assert [(cost.target, bool(cost.date)) for cost in costs(priced)] == [(key, True) for key in priced]
