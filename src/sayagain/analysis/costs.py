"""What a target costs in a unit that targets can be compared by, from the catalog's dated prices."""

from collections.abc import Iterable

from sayagain.providers.catalog import Price, entries
from sayagain.records import Record

_HOUR, _MILLION = "hour of audio", "million characters"

UNITS = {
    "second": (_HOUR, 3_600.0),
    "minute": (_HOUR, 60.0),
    "hour": (_HOUR, 1.0),
    "character": (_MILLION, 1_000_000.0),
    "thousand characters": (_MILLION, 1_000.0),
    "million characters": (_MILLION, 1.0),
}
"""The units of the catalog's prices: what they are part of, and how many make one."""


class Cost(Record, frozen=True, kw_only=True):
    """A list price by the hour of audio or the million characters, as `price` said it on `date`.

    `amount` and `per` are null when the catalog's unit (a token, say) cannot be converted without knowing the
    texts.
    """

    target: str
    amount: float | None
    currency: str
    per: str | None
    price: str
    date: str


def costs(targets: Iterable[str]) -> tuple[Cost, ...]:
    """Return the cost of each target, by its key, that the catalog has a price for; in the order given."""
    prices = {entry.target().key: entry.offer.price for entry in entries()}
    return tuple(cost_of(target, price) for target in targets if (price := prices.get(target)) is not None)


def cost_of(target: str, price: Price) -> Cost:
    """Convert a price to one by the hour of audio or by the million characters, whichever its unit is part of."""
    per, factor = UNITS.get(price.unit, (None, None))
    return Cost(
        target=target,
        amount=None if factor is None else price.amount * factor,
        currency=price.currency,
        per=per,
        price=str(price),
        date=price.date,
    )
