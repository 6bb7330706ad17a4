"""The grammar of `--fail-on`: what a gate says, and what is wrong with one that says nothing.

gate   = "regression" | "new-failure" | limit
limit  = [ target " " ] metric [ "." figure ] ":" sign number unit
target = a target's key, with or without its benchmark; * stands for anything
metric = "success" | a metric's name
figure = "pooled" | "mean" | "p" number, between 0 and 100
sign   = "+" (trips on a larger rise) | "-" (trips on a larger fall)
number = digits [ "." digits ]
unit   = "pp" (percentage points) | "%" (of A's figure) | "ms" | "s" | "x"
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum

from sayagain.errors import UsageError

GRAMMAR = (
    "regression, new-failure, or [TARGET ]METRIC[.FIGURE]:+LIMIT or :-LIMIT, where FIGURE is pooled, mean or p50, "
    "p95, ... and LIMIT a number and pp, %, ms, s or x; for example wer:+0.5pp, ttfs.p95:+10%, "
    "'stt:moonshine/* ttfs.p50:+50ms' or success:-1pp"
)
SUCCESS = "success"
"""What a limit calls the success rate, which is no metric but can fall."""

UNITS = ("pp", "%", "ms", "s", "x")

_METRIC = re.compile(r"[a-z][a-z0-9_]*", re.ASCII)
_PERCENTILE = re.compile(r"p(\d{1,2}(?:\.\d{1,3})?)", re.ASCII)
_AMOUNT = re.compile(r"([+-])(\d{1,9}(?:\.\d{1,9})?)(.*)", re.ASCII | re.DOTALL)


class Rule(StrEnum):
    """A gate on outcomes."""

    REGRESSION = "regression"
    """Trips when a case that succeeded in A failed in B."""
    NEW_FAILURE = "new-failure"
    """Trips when a case of B failed for a cause (a fingerprint) that no case of A has."""


@dataclass(frozen=True)
class Limit:
    """A gate on how far a figure may move: trips when it moved further in the direction of `sign`.

    `figure` None means the metric's first: the pooled rate of an error metric, else the median.
    """

    metric: str
    sign: str
    amount: Decimal
    unit: str
    target: str | None = None
    figure: str | None = None

    def __str__(self) -> str:
        target = f"{self.target} " if self.target else ""
        figure = f".{self.figure}" if self.figure else ""
        return f"{target}{self.metric}{figure}:{self.sign}{self.amount:f}{self.unit}"

    def matches(self, target: str) -> bool:
        """Say whether the gate concerns the target of this key."""
        if self.target is None:
            return True
        pattern = re.compile(re.escape(self.target).replace(r"\*", ".*"), re.DOTALL)
        return any(pattern.fullmatch(name) for name in (target, target.partition(":")[2]))


Gate = Rule | Limit


def parse_gate(text: str) -> Gate:
    """Read one gate; raise UsageError that says what is wrong with it and what the grammar is."""
    words = text.strip()
    if words in set(Rule):
        return Rule(words)
    figure, colon, amount = words.rpartition(":")
    if not colon:
        raise _wrong(text, "it is neither a rule nor a limit, which has a colon before its number")
    target, _, figure = figure.rpartition(" ")
    metric, dot, figure = figure.partition(".")
    if not _METRIC.fullmatch(metric):
        raise _wrong(text, f"{metric!a} is no name of a metric" if metric else "the metric is missing")
    sign, number, unit = _parse_amount(text, amount)
    if metric == SUCCESS and (dot or unit != "pp"):
        raise _wrong(text, "a success rate has no other figure, and its limit is in pp")
    return Limit(
        metric=metric,
        sign=sign,
        amount=number,
        unit=unit,
        target=target.strip() or None,
        figure=_parse_figure(text, figure) if dot else None,
    )


def percentiles_of(gates: Iterable[Gate]) -> tuple[float, ...]:
    """Return the percentiles that limits ask for."""
    figures = (gate.figure for gate in gates if isinstance(gate, Limit) and gate.figure)
    return tuple(float(figure[1:]) for figure in figures if _PERCENTILE.fullmatch(figure))


def _parse_amount(text: str, amount: str) -> tuple[str, Decimal, str]:
    parts = _AMOUNT.fullmatch(amount)
    if parts is None:
        raise _wrong(text, f"{amount!a} is no limit: it begins with + or - and a number")
    sign, number, unit = parts.groups()
    if unit not in UNITS:
        raise _wrong(text, f"{unit!a} is no unit" if unit else "the unit is missing")
    return sign, Decimal(number), unit


def _parse_figure(text: str, figure: str) -> str:
    if figure in ("pooled", "mean"):
        return figure
    percentile = _PERCENTILE.fullmatch(figure)
    if percentile is None or float(percentile[1]) == 0:
        raise _wrong(text, f"{figure!a} is no figure" if figure else "the figure after the dot is missing")
    return f"p{float(percentile[1]):g}"


def _wrong(text: str, problem: str) -> UsageError:
    return UsageError(f"--fail-on {text!a}: {problem}. Write {GRAMMAR}.")
