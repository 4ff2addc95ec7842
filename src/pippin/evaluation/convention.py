"""A convention: the choices that make two tools give different numbers for one ranking, as a value.

Every axis is independent. A tool is a named convention (`pippin.evaluation.tools`); measures and kernels see only the
tables and flags that a convention comes down to. A combination without a meaning raises `ConventionError`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, fields, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pippin.errors import ConventionError

Gain = str | tuple[float, ...]

# axis -> (choices, or None where any number will do; what the axis decides)
AXES: dict[str, tuple[tuple[str, ...] | None, str]] = {
    "gain": (("label", "exp2", "TABLE"), "what a label is worth: the label, 2^label - 1, or a table"),
    "top_label": (None, "labels above it count as 0, in gain and in relevance"),
    "gain_at": (None, "labels below it gain nothing"),
    "discount": (("log2", "letor", "reciprocal"), "1/log2(1+r), LETOR's 1, 1, 1/log2 r, or 1/r"),
    "ideal": (("list", "judged"), "the ideal ranking is made from the list or from all judged documents"),
    "short": (("keep", "zero"), "NDCG@k and DCG@k of a list of fewer than k documents"),
    "short_precision": (("cutoff", "list", "zero"), "P@k of such a list: hits/k, hits/min(k, n), or 0"),
    "empty": (("0", "1", "0.5", "skip"), "value where nothing is relevant, or the query is left out"),
    "queries": (("both", "judged", "relevant"), "which queries count: retrieved and judged, all judged, all judged "
                "with a relevant document"),
    "ties": (("input", "reversed", "id-descending", "id-ascending", "expected", "best", "worst"),
             "the order of documents with equal scores"),
    "precision": (("float32", "float64"), "the precision in which scores are compared"),
    "relevant_at": (None, "labels from here on are relevant"),
    "ap_denominator": (("judged", "list", "cutoff"), "AP divides by all relevant, those in the list, or min(R, k)"),
    "ap_undefined": (("pool", "cutoff"), "AP is undefined without a relevant document at all, or above the cutoff"),
    "recall_cut": (("up", "nearest"), "how many relevant documents a recall level p stands for: p R rounded up, "
                   "or to the nearest"),
    "err_top": (("NUMBER", "query", "probability"), "ERR's top grade: fixed, the query's own, or labels are "
                "probabilities"),
    "cut": (("yes", "no"), "whether the cutoff cuts the measure at all"),
    "held": (("float64", "float32", "DIGITS"), "what a query's value is held in before the mean"),
    "digits": (None, "decimals printed"),
}  # fmt: skip

_CHOICES = {axis: choices for axis, (choices, _) in AXES.items() if choices is not None}
_LARGEST_LABEL = 1 << 20


@dataclass(frozen=True)
class Convention:
    """One value on every axis; the default is the textbook (`official`)."""

    gain: Gain = "exp2"
    top_label: int | None = None
    gain_at: int = 1
    discount: str = "log2"
    ideal: str = "judged"
    short: str = "keep"
    short_precision: str = "cutoff"
    empty: float | None = 0.0
    queries: str = "judged"
    ties: str = "expected"
    precision: str = "float64"
    relevant_at: int = 1
    ap_denominator: str = "judged"
    ap_undefined: str = "pool"
    recall_cut: str = "up"
    err_top: int | str = 4
    cut: bool = True
    held: str | int = "float64"
    digits: int = 4

    def __post_init__(self) -> None:
        for axis in ("discount", "ideal", "short", "short_precision", "queries", "ties", "precision",
                     "ap_denominator", "ap_undefined", "recall_cut"):  # fmt: skip
            if getattr(self, axis) not in _CHOICES[axis]:
                raise ConventionError(f"{axis} is one of {', '.join(_CHOICES[axis])}, not {getattr(self, axis)!r}")
        if isinstance(self.gain, str) and self.gain not in ("label", "exp2"):
            raise ConventionError(f"gain is label, exp2 or a table like 0,1,3,7, not {self.gain!r}")
        if not isinstance(self.gain, str):
            object.__setattr__(self, "gain", self._table(self.gain))
        if self.empty is not None and not (_is_number(self.empty) and 0 <= self.empty <= 1):
            raise ConventionError(f"the value of an empty query is between 0 and 1 or left out, not {self.empty!r}")
        if not isinstance(self.cut, bool):
            raise ConventionError(f"cut is True or False, not {self.cut!r}")
        for axis, least in (("relevant_at", 1), ("gain_at", 0), ("digits", 0)):
            if not _is_whole(getattr(self, axis), least):
                raise ConventionError(f"{axis} is a whole number, at least {least}, not {getattr(self, axis)!r}")
        if self.top_label is not None and not _is_whole(self.top_label, 0):
            raise ConventionError(f"top_label is a label or None, not {self.top_label!r}")
        if self.err_top not in ("query", "probability") and not _is_whole(self.err_top, 0):
            raise ConventionError(f"err_top is a label, query or probability, not {self.err_top!r}")
        if self.held not in ("float32", "float64") and not _is_whole(self.held, 0):
            raise ConventionError(f"held is float32, float64 or a number of digits, not {self.held!r}")

    def _table(self, given: Any) -> tuple[float, ...]:
        """A gain table of any sequence as a tuple of floats, so that conventions compare and hash by value."""
        try:
            table = tuple(float(gain) for gain in given)
        except (TypeError, ValueError):
            raise ConventionError(f"gain is label, exp2 or a table like 0,1,3,7, not {given!r}") from None
        if not table or not all(np.isfinite(g) and g >= 0 for g in table) or table[0] != 0:
            raise ConventionError("a gain table starts with 0 and has no negative gain")
        if self.ties in ("best", "worst") and list(table) != sorted(table):
            raise ConventionError(f"ties={self.ties} needs gains that grow with the label")
        return table

    def replace(self, **changes: Any) -> Convention:
        """The same convention with these axes changed.

        >>> Convention().replace(empty=1.0).empty
        1.0
        """
        unknown = set(changes) - set(AXES)
        if unknown:
            from pippin.errors import UnknownName

            raise UnknownName("axis", sorted(unknown)[0], AXES)
        return replace(self, **changes)

    def as_dict(self) -> dict[str, Any]:
        """Every axis with its value, as JSON can hold it."""
        return {k: list(v) if isinstance(v, tuple) else v for k, v in asdict(self).items()}

    def differences(self, other: Convention) -> dict[str, tuple[Any, Any]]:
        """Axes on which two conventions differ, with both values.

        >>> Convention().differences(Convention(empty=None))
        {'empty': (0.0, None)}
        """
        pairs = {f.name: (getattr(self, f.name), getattr(other, f.name)) for f in fields(self)}
        return {axis: pair for axis, pair in pairs.items() if pair[0] != pair[1]}

    def gains(self, largest: int) -> NDArray[np.float64]:
        """Gain by label, up to the largest label of the data.

        >>> Convention(gain="exp2").gains(3).tolist()
        [0.0, 1.0, 3.0, 7.0]
        """
        if isinstance(self.gain, tuple):
            if largest >= len(self.gain):
                raise ConventionError(
                    f"label {largest} is beyond the gain table of {len(self.gain)} labels; top_label says from "
                    "which label on nothing is gained"
                )
            gains = np.array(self.gain[: max(largest, 0) + 1], np.float64)
        elif self.gain == "exp2":
            gains = exponential_gains(largest)
        else:
            if largest > _LARGEST_LABEL:
                raise ConventionError(f"label {largest} is too large for a table of gains")
            gains = np.arange(max(largest, 0) + 1, dtype=np.float64)
        gains[: self.gain_at] = 0.0
        return gains

    def discounts(self, depth: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Multipliers and divisors by position: a gain at position i counts gain * multiplier[i] / divisor[i].

        LETOR's scripts compute (gain * log 2) / log(rank) from rank 2 on, in this order of operations.
        """
        ranks = np.arange(1, max(depth, 1) + 1, dtype=np.float64)
        ones = np.ones_like(ranks)
        if self.discount == "log2":
            return ones, np.log2(ranks + 1)
        if self.discount == "reciprocal":
            return ones, ranks
        multipliers = np.full_like(ranks, np.log(2.0))
        divisors = np.log(ranks)
        multipliers[0] = divisors[0] = 1.0
        return multipliers, divisors


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, bool)


def _is_whole(value: Any, least: int) -> bool:
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool) and bool(value >= least)


def exponential_gains(largest: int) -> NDArray[np.float64]:
    """2^label - 1 for labels 0 … largest."""
    if largest > 1000:
        raise ConventionError(f"2^{largest} is no gain; use gain=label or a table")
    return np.exp2(np.arange(max(largest, 0) + 1, dtype=np.float64)) - 1.0


# What a user types for an axis, where that is not the value itself.
_READERS: dict[str, Callable[[str], Any]] = {
    "empty": lambda text: None if text == "skip" else float(text),
    "gain": lambda text: text if text in ("label", "exp2") else tuple(float(t) for t in text.split(",")),
    "relevant_at": int,
    "gain_at": int,
    "digits": int,
    "top_label": lambda text: None if text == "none" else int(text),
    "err_top": lambda text: int(text) if text.isdigit() else text,
    "held": lambda text: int(text) if text.isdigit() else text,
    "cut": lambda text: {"yes": True, "no": False}[text],
}


def parse_axis(axis: str, text: str) -> Any:
    """The value of an axis from what a user typed.

    >>> parse_axis("empty", "skip"), parse_axis("gain", "0,1,3"), parse_axis("err_top", "4")
    (None, (0.0, 1.0, 3.0), 4)
    """
    reader = _READERS.get(axis, str)
    try:
        return reader(text)
    except (ValueError, KeyError):
        choices = _CHOICES.get(axis)
        wanted = ", ".join(choices) if choices else "a whole number"
        raise ConventionError(f"{axis} is {wanted}, not {text!r}") from None


def parse_overrides(given: Mapping[str, str | None]) -> dict[str, Any]:
    """Axes that a user set, parsed; None means not set."""
    return {axis: parse_axis(axis, text) for axis, text in given.items() if text is not None}
