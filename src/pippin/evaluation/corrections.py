"""How small must p be when many pairs are tested at once?

Twenty true null hypotheses tested at 5 % yield one “significant” result on average. A correction raises the p
values of a family of tests so that they can be held against the same level again: Bonferroni and Holm bound
the probability of a single false finding, Benjamini and Hochberg the expected share of false ones among the
findings. A NaN (a test that had no answer) stays NaN and does not count as a member of the family.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pippin.errors import DataError
from pippin.registry import Registry

FloatArray = NDArray[np.float64]
Correction = Callable[[FloatArray], FloatArray]

CORRECTIONS: Registry[Correction] = Registry("correction")


def adjust(p: ArrayLike, correction: str = "holm") -> FloatArray:
    """Adjusted p values of one family, in the order given.

    >>> [round(x, 6) for x in adjust([0.01, 0.04, 0.03], "holm").tolist()]
    [0.03, 0.06, 0.06]
    """
    method = CORRECTIONS[correction]
    values = np.array(p, dtype=np.float64)
    if values.ndim != 1:
        raise DataError(f"a family of p values is one list, not an array of {values.ndim} dimensions")
    known = ~np.isnan(values)
    if ((values[known] < 0) | (values[known] > 1)).any():
        raise DataError("p values lie between 0 and 1")
    if known.any():
        values[known] = method(values[known])
    return values


def none(p: FloatArray) -> FloatArray:
    """No correction: p as it is."""
    return p.copy()


def bonferroni(p: FloatArray) -> FloatArray:
    """min(1, m·p), m tests in the family. Bonferroni 1936; Dunn 1961."""
    return np.minimum(1.0, p * len(p))


def holm(p: FloatArray) -> FloatArray:
    """With p sorted ascending: max over j <= i of min(1, (m − j + 1)·p_j). Holm 1979."""
    order = np.argsort(p, kind="stable")
    steps = p[order] * np.arange(len(p), 0, -1)
    adjusted = np.empty_like(p)
    adjusted[order] = np.minimum(1.0, np.maximum.accumulate(steps))
    return adjusted


def benjamini_hochberg(p: FloatArray) -> FloatArray:
    """With p sorted ascending: min over j >= i of min(1, m·p_j/j). Benjamini and Hochberg 1995."""
    order = np.argsort(p, kind="stable")
    steps = p[order] * (len(p) / np.arange(1, len(p) + 1))
    adjusted = np.empty_like(p)
    adjusted[order] = np.minimum(1.0, np.minimum.accumulate(steps[::-1])[::-1])
    return adjusted


CORRECTIONS.register("none", none)
CORRECTIONS.register("bonferroni", bonferroni)
CORRECTIONS.register("holm", holm)
CORRECTIONS.register("benjamini-hochberg", benjamini_hochberg)
CORRECTIONS.register("bh", benjamini_hochberg)
