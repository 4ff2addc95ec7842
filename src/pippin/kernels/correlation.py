"""Rank correlation: settle a ranking with ties once, then count the pairs of items two rankings order alike.

A ranking is an int64 table of three rows: the item at each position from the top; how many items are clearly
above each item; how many are clearly above it or tied with it, itself included. All functions are O(n log n)
and release the GIL.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pippin.kernels import native

I64 = NDArray[np.int64]
F64 = NDArray[np.float64]

TIED_PAIRS = {"half": 0, "agreed": 1}
OVERLAP_TIES = {"w": 0, "a": 1, "b": 2}


class PairCounts(NamedTuple):
    """What the n(n−1)/2 pairs of items are; a pair tied in both counts in all three of the last fields."""

    concordant: int
    discordant: int
    tied_x: int
    tied_y: int
    tied_both: int


def rank_with_ties(values: F64, high: bool, tolerance: float = 0.0) -> I64:
    """The ranking of float64 values without NaN; items that are equal or closer than `tolerance` tie."""
    ranking = np.empty((3, len(values)), np.int64)
    native.rank_with_ties(values, high, tolerance, ranking)
    return ranking


def count_pairs(x: I64, y: I64) -> PairCounts:
    """How many pairs two rankings order alike, order otherwise, or tie."""
    return PairCounts(*native.count_pairs(x, y))


def share_above(x: I64, y: I64) -> float:
    """Mean share, of the items clearly above an item in y, that x puts above it too; NaN if y ties all."""
    return float(native.share_above(x, y))


def share_above_in_orders(x: I64, y: I64, tied_pair: Literal["half", "agreed"]) -> float:
    """The mean of `share_above` over all orders of the items that y ties; y's ties must be transitive.

    A pair that y ties is concordant in one order of two (`half`), or in both if x ties it too (`agreed`).
    """
    return float(native.share_above_in_orders(x, y, TIED_PAIRS[tied_pair]))


def rank_biased_overlap(x: I64, y: I64, p: float, ties: Literal["w", "a", "b"]) -> float:
    """Extrapolated rank-biased overlap with persistence 0 < p < 1; both rankings' ties must be transitive."""
    return float(native.rank_biased_overlap(x, y, p, OVERLAP_TIES[ties]))
