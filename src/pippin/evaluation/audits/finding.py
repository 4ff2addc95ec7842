"""What an audit finds, as values: a count in words, what it does to which measure under which tool, and what to do."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pippin.registry import Registry

if TYPE_CHECKING:
    from pippin.evaluation.audits.subject import Subject

SEVERITIES = ("error", "warning", "info")
SHOWN = 5  # examples of one finding, unless it is short to name more


@dataclass(frozen=True)
class Effect:
    """What tools do with it: these tools treat it so, which moves the mean of the measure by `amount`.

    The amount is the difference to the choice that `official` makes, on the ranking that the audit looks at; None
    where there is no number to give.
    """

    measure: str
    tools: tuple[str, ...]
    does: str
    amount: float | None = None


@dataclass(frozen=True)
class Finding:
    """Something that bears on a comparison: `number` of `total` things, in one sentence."""

    key: str
    severity: str  # one of SEVERITIES
    number: int
    total: int
    sentence: str
    effects: tuple[Effect, ...] = ()
    recommendation: str = ""
    examples: tuple[str, ...] = ()
    parts: tuple[tuple[str, float], ...] = ()  # the count by label, cutoff, feature …

    @property
    def share(self) -> float:
        """Number over total.

        >>> Finding("empty", "warning", 1, 4, "…").share
        0.25
        """
        return self.number / self.total if self.total else 0.0


@dataclass(frozen=True)
class Check:
    """One thing that an audit looks for. The function says nothing (None) where all is well."""

    key: str
    title: str
    applies: Callable[[Subject], bool]
    function: Callable[[Subject], Finding | None]


CHECKS: Registry[Check] = Registry("check")


def check(
    key: str, title: str, applies: Callable[[Subject], bool] = lambda _: True
) -> Callable[[Callable[[Subject], Finding | None]], Callable[[Subject], Finding | None]]:
    """Put a function on the shelf of checks."""

    def register(function: Callable[[Subject], Finding | None]) -> Callable[[Subject], Finding | None]:
        CHECKS.register(key, Check(key, title, applies, function))
        return function

    return register


def of(number: int, total: int, things: str) -> str:
    """How many of how many, with the share.

    >>> of(220, 784, "queries"), of(1, 1, "query")
    ('220 of 784 queries (28.1 %)', '1 of 1 query (100.0 %)')
    """
    share = 100 * number / total if total else 0.0
    return (
        f"{number:,} of {total:,} {things} ({share:.1f} %)"
        if share >= 0.1 or not number
        else (f"{number:,} of {total:,} {things} ({share:.1g} %)")
    )


def verb(number: int, plural: str, singular: str) -> str:
    """The form of a verb that a number takes.

    >>> verb(1, "have", "has"), verb(2, "have", "has")
    ('has', 'have')
    """
    return singular if number == 1 else plural


def some(names: Sequence[str], most: int = SHOWN) -> tuple[str, ...]:
    """The first few, as examples."""
    return tuple(names[:most])
