"""Months, and dates written with digits."""

from sayagain.metrics.normalization.wordlists import counted_from

MONTHS = tuple(
    counted_from(1, "january february march april may june july august september october november december")
)
MONTH_SET = frozenset(MONTHS)


def date_words(day: str, month: str, year: str) -> list[str]:
    """Return month, day and year as words (may, 6, 2020), or nothing when the digits are no date."""
    if 1 <= int(month) <= 12 and 1 <= int(day) <= 31:
        return [MONTHS[int(month) - 1], str(int(day)), year]
    return []


def is_day(number: str) -> bool:
    """Tell whether a number can be the day of a month, with or without a leading zero or ordinal ending."""
    digits = number[:-2] if number.endswith(("st", "nd", "rd", "th")) else number
    return len(digits) <= 2 and digits.isdigit() and 1 <= int(digits) <= 31


def day(number: str) -> str:
    """Return the day without a leading zero or ordinal ending: 05 and 5th are 5."""
    return (number[:-2] if number.endswith(("st", "nd", "rd", "th")) else number).lstrip("0")


def is_year(number: str) -> bool:
    """Tell whether a number can be a year that is said in two halves: 1900 to 2099."""
    return len(number) == 4 and number.startswith(("19", "20"))
