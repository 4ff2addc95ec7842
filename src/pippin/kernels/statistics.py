"""Resampling for significance tests, and rank correlation.

Resampling functions take values [queries, systems] as C-contiguous float64, and compute replicates begin … end − 1 of
the sequence that the seed determines. The random bits of a replicate depend on (seed, replicate) only, so splitting the
range, also over threads, gives the same bits.

Rank correlation functions take rankings: int64 tables of three rows. Row 0 is the item at each position from the top,
row 1 how many items are clearly above each item, row 2 how many are clearly above it or tied with it, itself included.
They take O(n log n) and release the GIL.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pippin.kernels import native, threads

F64 = NDArray[np.float64]
I64 = NDArray[np.int64]


def count_sign_flips(
    values: F64,
    first: NDArray[np.int32],
    second: NDArray[np.int32],
    thresholds: F64,
    counts: NDArray[np.int64],
    *,
    begin: int,
    end: int,
    seed: int,
    exact: bool,
    two_sided: bool,
    workers: int | None = None,
) -> None:
    """Add to counts[p] the replicates whose signed sum of pair p, first minus second, reaches its threshold.

    The sum is Σ_q s_q (x_q,first − x_q,second) with random s_q = ±1 shared by all pairs, its absolute value
    if two-sided. With `exact`, bit q of the replicate's number is the sign of query q (1 is minus): 0 …
    2^queries − 1.
    """
    native.count_sign_flips(
        values, first, second, thresholds, two_sided, exact, begin, end, seed, threads(workers), counts
    )


def bootstrap_means(values: F64, *, begin: int, end: int, seed: int, workers: int | None = None) -> F64:
    """Return means [replicates, systems] over n queries drawn with replacement, the same draw for every system."""
    means = np.empty((end - begin, values.shape[1]))
    native.bootstrap_means(values, begin, end, seed, threads(workers), means)
    return means


def permuted_ranges(values: F64, *, begin: int, end: int, seed: int, workers: int | None = None) -> F64:
    """Return, per replicate, the range of the systems' sums after permuting the systems within each query."""
    ranges = np.empty(end - begin)
    native.permuted_ranges(values, begin, end, seed, threads(workers), ranges)
    return ranges


TIED_PAIRS = {"half": 0, "agreed": 1}
OVERLAP_TIES = {"w": 0, "a": 1, "b": 2}


class PairCounts(NamedTuple):
    """Counts of the n(n−1)/2 pairs of items; a pair tied in both rankings counts in all three of the last fields."""

    concordant: int
    discordant: int
    tied_x: int
    tied_y: int
    tied_both: int


def rank_with_ties(values: F64, high: bool, tolerance: float = 0.0) -> I64:
    """Return the ranking of float64 values without NaN; items closer than `tolerance`, or equal, tie."""
    ranking = np.empty((3, len(values)), np.int64)
    native.rank_with_ties(values, high, tolerance, ranking)
    return ranking


def count_pairs(x: I64, y: I64) -> PairCounts:
    """Count the pairs that two rankings order alike, in opposite order, or tie."""
    return PairCounts(*native.count_pairs(x, y))


def share_above(x: I64, y: I64) -> float:
    """Return the mean share of the items above an item in y that x puts above it too; NaN if y ties all."""
    return float(native.share_above(x, y))


def share_above_in_orders(x: I64, y: I64, tied_pair: Literal["half", "agreed"]) -> float:
    """Return the mean of `share_above` over all orders of the items that y ties; y's ties must be transitive.

    A pair that y ties is concordant in one order of two (`half`), or in both if x ties it too (`agreed`).
    """
    return float(native.share_above_in_orders(x, y, TIED_PAIRS[tied_pair]))


def rank_biased_overlap(x: I64, y: I64, p: float, ties: Literal["w", "a", "b"]) -> float:
    """Return extrapolated rank-biased overlap with persistence 0 < p < 1; ties must be transitive in both rankings."""
    return float(native.rank_biased_overlap(x, y, p, OVERLAP_TIES[ties]))
