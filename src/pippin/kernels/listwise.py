"""Losses of whole lists of scores with their gradients: a loss by query, its derivative by document."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from pippin.kernels import native, threads_for

F64 = NDArray[np.float64]
I32 = NDArray[np.int32]
I64 = NDArray[np.int64]

_DISCOUNT = {"log2": 0, "letor": 1, "reciprocal": 2}


def _outputs(scores: F64, offsets: I64) -> tuple[F64, F64]:
    return np.empty(len(offsets) - 1, np.float64), np.empty(len(scores), np.float64)


def _same_length(scores: F64, *others: NDArray[np.generic]) -> None:
    for other in others:
        if len(other) != len(scores):
            raise ValueError(f"{len(scores)} scores go with {len(other)} values, not one each")


def cross_entropy(scores: F64, offsets: I64, targets: F64) -> tuple[F64, F64]:
    """−Σ p_i ln softmax(s)_i; the targets p add up to 1 in every query. Gradient softmax(s) − p."""
    _same_length(scores, targets)
    losses, gradient = _outputs(scores, offsets)
    native.cross_entropy(scores, offsets, targets, losses, gradient, threads_for(len(scores)))
    return losses, gradient


def list_likelihood(scores: F64, offsets: I64, order: I64, depth: int = 0) -> tuple[F64, F64]:
    """Σ_t [ln Σ_{k≥t} e^{s(k)} − s(t)] down the first `depth` places (all if 0) of `order`, the rows of each query."""
    _same_length(scores, order)
    losses, gradient = _outputs(scores, offsets)
    native.list_likelihood(scores, offsets, order, depth, losses, gradient, threads_for(len(scores)))
    return losses, gradient


def approx_ndcg(
    scores: F64, offsets: I64, gains: F64, scales: F64, alpha: float, discount: str = "log2"
) -> tuple[F64, F64]:
    """−scale_q Σ g_i d(π_i) with the smooth rank π_i = 1 + Σ_{j≠i} 1 / (1 + e^{alpha (s_i − s_j)})."""
    _same_length(scores, gains)
    if len(scales) != len(offsets) - 1:
        raise ValueError(f"{len(offsets) - 1} queries go with {len(scales)} scales, not one each")
    losses, gradient = _outputs(scores, offsets)
    native.approx_ndcg(
        scores, offsets, gains, scales, alpha, _DISCOUNT[discount], losses, gradient, threads_for(len(scores))
    )
    return losses, gradient


def tied_pairs(scores: F64, offsets: I64, labels: I32, sigma: float = 1.0) -> tuple[F64, F64]:
    """RankNet's cost of the pairs of equal labels, whose target is ½: Σ ln(2 cosh(sigma (s_i − s_j) / 2))."""
    _same_length(scores, labels)
    losses, gradient = _outputs(scores, offsets)
    native.tied_pairs(scores, offsets, labels, sigma, losses, gradient, threads_for(len(scores)))
    return losses, gradient
