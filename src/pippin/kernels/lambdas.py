"""Swaps and forces: what a measure changes when two documents swap, and the gradient λ on scores that follows."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from pippin.kernels import native, threads_for
from pippin.kernels.measures import Rules

F64 = NDArray[np.float64]
I32 = NDArray[np.int32]
I64 = NDArray[np.int64]


def has_target(name: str) -> bool:
    """Whether λ can follow the measure of that native name."""
    known: bool = native.has_target(name)
    return known


def swap_scales(name: str, labels: I32, offsets: I64, rules: Rules) -> F64:
    """By query: what raw changes are multiplied by (1 / ideal, 1 / R, …); 0 where no swap can change the value."""
    scales = np.empty(len(offsets) - 1, np.float64)
    native.swap_scales(name, labels, offsets, rules.bound(), scales)
    return scales


def swap_changes(name: str, ranked: I32, rules: Rules, keep_beyond: bool = False) -> F64:
    """table[a, b], a < b: the raw change of the measure when positions a and b of one ranked list swap; 0 elsewhere."""
    changes = np.zeros((len(ranked), len(ranked)), np.float64)
    native.swap_changes(name, ranked, rules.bound(), keep_beyond, changes)
    return changes


def lambdas(
    name: str,
    scores: F64,
    labels: I32,
    offsets: I64,
    order: I64,
    scales: F64,
    rules: Rules,
    sigma: float = 1.0,
    keep_beyond: bool = False,
    normalise: bool = False,
    damp: bool = False,
) -> tuple[F64, F64]:
    """Gradient and second derivative per document of the cost whose forces are λ (the lower the better).

    `order` holds each query's rows in rank order, `scales` is from `swap_scales`. `normalise` scales both in a query by
    log2(1 + S) / S, S being the sum of the sizes of all its forces. `damp` divides the change of a pair by 0.01 + the
    distance of its scores, unless all scores of the query are equal.
    """
    gradient, hessian = np.empty(len(scores), np.float64), np.empty(len(scores), np.float64)
    native.lambdas(
        name, scores, labels, offsets, order, scales, rules.bound(), keep_beyond, sigma, normalise, damp, gradient,
        hessian, threads_for(len(scores)),
    )  # fmt: skip
    return gradient, hessian
