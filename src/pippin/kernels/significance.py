"""How do significance tests reach the native resampling?

Each function takes values [queries, systems] as float64, C-contiguous, and works on replicates begin … end −
1 of the sequence that the seed names. A replicate's random bits depend on (seed, replicate) only: cutting the
range, or spreading it over threads, gives the same bits.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from pippin.kernels import native, threads

FloatArray = NDArray[np.float64]


def count_sign_flips(
    values: FloatArray,
    first: NDArray[np.int32],
    second: NDArray[np.int32],
    thresholds: FloatArray,
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


def bootstrap_means(values: FloatArray, *, begin: int, end: int, seed: int, workers: int | None = None) -> FloatArray:
    """Means [replicates, systems] over n queries drawn with replacement, the same draw for every system."""
    means = np.empty((end - begin, values.shape[1]))
    native.bootstrap_means(values, begin, end, seed, threads(workers), means)
    return means


def permuted_ranges(values: FloatArray, *, begin: int, end: int, seed: int, workers: int | None = None) -> FloatArray:
    """Per replicate, largest minus smallest sum of a system after permuting the systems within each query."""
    ranges = np.empty(end - begin)
    native.permuted_ranges(values, begin, end, seed, threads(workers), ranges)
    return ranges
