"""Weighted sums of features, term after term, in the precision that another program computes them in."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from pippin.kernels import native

F64 = NDArray[np.float64]


def linear_scores(
    table: F64,
    columns: NDArray[np.int32],
    weights: F64,
    start: float = 0.0,
    *,
    single_features: bool = False,
    single_sums: bool = False,
    missing_is_zero: bool = False,
) -> F64:
    """start + Σ weight · value of each row, in the order of the columns, which may come again.

    `single_features` rounds values to float32 first, `single_sums` each product and each sum.

    >>> linear_scores(np.array([[1.0, 2.0]]), np.array([1, 0, 1], np.int32), np.array([1.0, 10.0, 100.0]), 0.5)
    array([212.5])
    """
    scores = np.empty(len(table), np.float64)
    native.linear_scores(table, columns, weights, start, single_features, single_sums, missing_is_zero, scores)
    return scores
