"""Rank correlation: how alike do two rankings order the same items, when either of them may tie some?

`x` and `y` give one number an item: scores (`top="high"`) or ranks (`top="low"`). Where it matters, x is the
truth and y the observer, and y is the ranking that is walked from its top down. The question decides:

- no ties in either: `tau`, and the top-heavy `tau_ap`;
- accuracy of an observer who may fail to tell items apart, against a truth without ties: `tau_a`, `tau_ap_a`;
- agreement of two observers who both may tie: `tau_b`, `tau_ap_b` (the mean of `tau_ap_ties` both ways);
- extension, accuracy where a tie in the truth is what the observer should say: `tau_truth_ties`,
  `tau_ap_truth_ties`.

Ties are exact: two items tie if their doubles are equal. Coefficients that refuse ties compare the values as
printed with 15 significant digits (as R's ircor does): a difference beyond them is rounding, not an order.

Extension, `tolerance`: two items also tie if they are closer than it. Such ties are not transitive, and the
coefficients that take a tolerance do not need them to be: each pair is judged by itself, and an item is above
another only if it is clearly above. The mean over the orders of tied items (`tau_ap_a`, `tau_ap_truth_ties`)
does need groups, so these take none; `clusters` makes groups from gaps for whoever wants them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pippin.errors import ConventionError, DataError
from pippin.kernels import correlation as kernel
from pippin.registry import Registry
from pippin.shown import Shown

F64 = NDArray[np.float64]
I64 = NDArray[np.int64]
Top = Literal["high", "low"]
OverlapTies = Literal["w", "a", "b"]


@dataclass(frozen=True, repr=False)
class Correlation(Shown):
    """A coefficient's value with what it takes to read it; `reason` says why it is NaN, else it is empty."""

    name: str
    value: float
    n: int
    top: Top
    ties_x: int
    ties_y: int
    reason: str = ""

    def to_dict(self) -> dict[str, Any]:
        """One row."""
        return {field.name: [getattr(self, field.name)] for field in fields(self)}

    def __str__(self) -> str:
        value = f"NaN, because {self.reason}" if self.reason else f"{self.value:.6f}"
        ties = f"tied pairs: {self.ties_x} in x, {self.ties_y} in y"
        return f"{self.name} = {value} ({self.n} items, top = {self.top}, {ties})"


@dataclass(frozen=True)
class Pair:
    """Two settled rankings, and what a coefficient may ask of them."""

    x: I64
    y: I64
    p: float = 0.9
    ties: OverlapTies = "w"

    @property
    def n(self) -> int:
        """The number of items."""
        return len(self.x[0])

    @property
    def total(self) -> int:
        """The number of pairs of items."""
        return self.n * (self.n - 1) // 2


@dataclass(frozen=True)
class Coefficient:
    """What a coefficient accepts and how it is computed."""

    compute: Callable[[Pair], float]
    no_ties_in: str = ""  # "", "x" or "xy"
    instead: str = ""  # what to use when it refuses ties
    undefined_if_all_tied: bool = False
    tolerance_in: str = ""  # the rankings that a tolerance applies to
    options: tuple[str, ...] = ()


def _tau(pair: Pair) -> float:
    counts = kernel.count_pairs(pair.x, pair.y)
    return (counts.concordant - counts.discordant) / pair.total


def _tau_b(pair: Pair) -> float:
    counts = kernel.count_pairs(pair.x, pair.y)
    # One root of the product, not two roots: equal factors then give back exactly the factor.
    expected = math.sqrt((pair.total - counts.tied_x) * (pair.total - counts.tied_y))
    return (counts.concordant - counts.discordant) / expected


def _tau_truth_ties(pair: Pair) -> float:
    counts = kernel.count_pairs(pair.x, pair.y)
    return (2 * (counts.concordant + counts.tied_both) - pair.total) / pair.total


def _tau_ap_a(pair: Pair) -> float:
    return 2.0 * kernel.share_above_in_orders(pair.x, pair.y, "half") - 1.0


def _tau_ap_truth_ties(pair: Pair) -> float:
    return 2.0 * kernel.share_above_in_orders(pair.x, pair.y, "agreed") - 1.0


def _tau_ap_ties(pair: Pair) -> float:
    return 2.0 * kernel.share_above(pair.x, pair.y) - 1.0


def _tau_ap_b(pair: Pair) -> float:
    return (_tau_ap_ties(pair) + _tau_ap_ties(Pair(pair.y, pair.x))) / 2.0


def _spearman(pair: Pair) -> float:
    # Twice the mid-rank, less twice the mean rank: whole numbers, so that only the sums round.
    x, y = ((r[1] + r[2] - pair.n).astype(np.float64) for r in (pair.x, pair.y))
    return float((x * y).sum()) / math.sqrt(float((x * x).sum()) * float((y * y).sum()))


def _rbo(pair: Pair) -> float:
    return kernel.rank_biased_overlap(pair.x, pair.y, pair.p, pair.ties)


COEFFICIENTS: Registry[Coefficient] = Registry("correlation coefficient")
for _name, _coefficient in {
    "tau": Coefficient(_tau, "xy", "tau_a allows ties in y, tau_b in both"),
    "tau_a": Coefficient(_tau, "x", "tau_b allows ties in both", tolerance_in="y"),
    "tau_b": Coefficient(_tau_b, undefined_if_all_tied=True, tolerance_in="xy"),
    "tau_ap": Coefficient(_tau_ap_ties, "xy", "tau_ap_a allows ties in y, tau_ap_b in both"),
    "tau_ap_a": Coefficient(_tau_ap_a, "x", "tau_ap_b allows ties in both"),
    "tau_ap_ties": Coefficient(_tau_ap_ties, undefined_if_all_tied=True, tolerance_in="xy"),
    "tau_ap_b": Coefficient(_tau_ap_b, undefined_if_all_tied=True, tolerance_in="xy"),
    "tau_truth_ties": Coefficient(_tau_truth_ties, tolerance_in="xy"),
    "tau_ap_truth_ties": Coefficient(_tau_ap_truth_ties),
    "spearman": Coefficient(_spearman, undefined_if_all_tied=True),
    "rbo": Coefficient(_rbo, options=("p", "ties")),
}.items():
    COEFFICIENTS.register(_name, _coefficient)


def _vector(values: ArrayLike, name: str) -> F64:
    """The values as contiguous float64, or a DataError."""
    try:
        given = np.asarray(values)
        if given.dtype.kind not in "biufO":  # text would be parsed, and complex numbers cut, without a word
            raise TypeError
        array = np.ascontiguousarray(given, np.float64)
    except (TypeError, ValueError):
        raise DataError(f"{name} must be numbers, one an item") from None
    if given.ndim != 1:
        raise DataError(f"{name} must have one dimension, not {given.ndim}")
    missing = np.flatnonzero(np.isnan(array))
    if len(missing):
        raise DataError(f"{name} is NaN for item {missing[0] + 1} of {len(array)}; every item needs a number")
    return array


def _printed_tie(values: F64, order: I64) -> tuple[float, float] | None:
    """The first two neighbours in rank order that print alike with 15 significant digits."""
    ranked = values[order]
    with np.errstate(invalid="ignore", over="ignore"):  # infinities
        apart = np.abs(np.diff(ranked)) > 2e-14 * np.maximum(np.abs(ranked[1:]), np.abs(ranked[:-1]))
    for i in np.flatnonzero(~apart):
        first, second = float(ranked[i]), float(ranked[i + 1])
        if first == second or f"{first:.15g}" == f"{second:.15g}":
            return first, second
    return None


def _all_tied(pair: Pair) -> str:
    """Which ranking ties every pair, as a clause; empty if none does."""
    x_ties, y_ties = (_tied_pairs(ranking) == pair.total for ranking in (pair.x, pair.y))
    if x_ties and y_ties:
        return "x and y tie all items"
    return "x ties all items" if x_ties else "y ties all items" if y_ties else ""


def _tied_pairs(ranking: I64) -> int:
    return int((ranking[2] - ranking[1] - 1).sum()) // 2


def _check_options(name: str, top: str, given: dict[str, float | str | None]) -> None:
    coefficient = COEFFICIENTS[name]
    taken = coefficient.options + (("tolerance",) if coefficient.tolerance_in else ())
    for option, value in given.items():
        if value is not None and option not in taken:
            raise ConventionError(f"{name} takes no {option}")
    if top not in ("high", "low"):
        raise ConventionError(f"top must be 'high' (scores) or 'low' (ranks), not {top!r}")
    tolerance, p, ties = given["tolerance"], given["p"], given["ties"]
    if tolerance is not None and not 0 <= float(tolerance) < math.inf:
        raise ConventionError(f"tolerance must be a finite number of 0 or more, not {tolerance}")
    if p is not None and not 0 < float(p) < 1:
        raise ConventionError(f"p must lie between 0 and 1, not {p}")
    if ties is not None and ties not in kernel.OVERLAP_TIES:
        raise ConventionError(f"ties must be 'w', 'a' or 'b', not {ties!r}")


def _matched(x: Any, y: Any) -> tuple[Any, Any]:
    """The numbers of both in one order: by name where both have names."""
    if not isinstance(x, Mapping) and not isinstance(y, Mapping):
        return x, y
    if not isinstance(x, Mapping) or not isinstance(y, Mapping):
        raise DataError("x and y are both dicts by name, or both numbers in one order")
    for name, items, other in (("x", x, y), ("y", y, x)):
        lacking = [item for item in other if item not in items]
        if lacking:
            raise DataError(f"{name} has no {lacking[0]!r}, which the other has ({len(lacking)} such)")
    return list(x.values()), [y[item] for item in x]


def correlate(
    x: ArrayLike | Mapping[Any, float],
    y: ArrayLike | Mapping[Any, float],
    name: str = "tau_b",
    *,
    top: Top = "high",
    tolerance: float | None = None,
    p: float | None = None,
    ties: OverlapTies | None = None,
) -> Correlation:
    """How alike do x and y order the same items? The coefficient with what it takes to read it.

    x, y       a number per item, in one order; or dicts by the items' names, which may be in any order
    name       any of `pippin.correlation.COEFFICIENTS`: tau_b, tau_ap_b, spearman, rbo …
    top        high for scores, low for ranks
    tolerance  items closer than this are tied, where the coefficient takes one
    p, ties    options of rbo

    >>> correlate({"bm25": 0.2, "lm": 0.3}, {"lm": 0.6, "bm25": 0.5}).value
    1.0
    >>> print(correlate([1, 2, 3.5, 3.5, 5, 6], [2, 4, 1, 4, 6, 4], "tau_ap_b", top="low"))
    tau_ap_b = 0.140000 (6 items, top = low, tied pairs: 1 in x, 3 in y)
    >>> print(correlate([0.3, 0.2], [0.5, 0.5], "tau_b"))
    tau_b = NaN, because y ties all items (2 items, top = high, tied pairs: 0 in x, 1 in y)
    """
    coefficient = COEFFICIENTS[name]
    _check_options(name, top, {"tolerance": tolerance, "p": p, "ties": ties})
    first, second = _matched(x, y)
    values = {"x": _vector(first, "x"), "y": _vector(second, "y")}
    n, other = len(values["x"]), len(values["y"])
    if n != other:
        raise DataError(f"x has {n} items and y has {other}; both must rank the same items")
    if n < 2:
        raise DataError(f"a correlation needs 2 items or more, not {n}")
    near = {side: float(tolerance or 0.0) if side in coefficient.tolerance_in else 0.0 for side in "xy"}
    ranked = {side: kernel.rank_with_ties(values[side], top == "high", near[side]) for side in "xy"}
    for side in coefficient.no_ties_in:
        tie = _printed_tie(values[side], ranked[side][0])
        if tie is not None:
            alike = repr(tie[0]) if tie[0] == tie[1] else f"{tie[0]!r} and {tie[1]!r} alike at 15 digits"
            refused = f"{side} contains ties ({alike}), which {name} refuses"
            raise ConventionError(f"{refused}; {coefficient.instead}")
    pair = Pair(ranked["x"], ranked["y"], 0.9 if p is None else float(p), ties or "w")
    reason = _all_tied(pair) if coefficient.undefined_if_all_tied else ""
    value = math.nan if reason else coefficient.compute(pair)
    return Correlation(name, value, n, top, _tied_pairs(pair.x), _tied_pairs(pair.y), reason)


def clusters(values: ArrayLike, tolerance: float, *, top: Top = "high") -> I64:
    """Ranks (1 = top) of groups made by gaps: neighbours in rank order closer than `tolerance` share a group.

    A chain of close items is one group, however far apart its ends are. Use the ranks with `top="low"`.

    >>> clusters([0.50, 0.49, 0.30, 0.31, 0.10], 0.02)
    array([1, 1, 2, 2, 3])
    """
    _check_options("tau_b", top, {"tolerance": tolerance, "p": None, "ties": None})
    array = _vector(values, "values")
    order = kernel.rank_with_ties(array, top == "high")[0]
    ranks = np.ones(len(array), np.int64)
    with np.errstate(invalid="ignore", over="ignore"):  # infinities
        gaps = np.abs(np.diff(array[order]))
    ranks[order[1:]] += np.cumsum((gaps > 0) & ~(gaps < tolerance))
    return ranks
