"""Compute pairwise and listwise losses of scores, with their gradients.

- LambdaRank: the change of a measure when two documents swap, and the gradient λ that follows from it.
- Listwise losses: one loss per query, one derivative per document.
- Pairwise hinge losses: sums over all pairs of documents with different labels in O(n log n).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from pippin.kernels import native, threads, threads_for
from pippin.kernels.measures import Rules

F64 = NDArray[np.float64]
I32 = NDArray[np.int32]
I64 = NDArray[np.int64]


def has_objective(name: str) -> bool:
    """Return whether LambdaRank can optimise the native measure `name`."""
    is_supported: bool = native.has_target(name)
    return is_supported


def swap_scales(name: str, labels: I32, offsets: I64, rules: Rules) -> F64:
    """Return, per query, the factor of raw changes (1 / ideal, 1 / R, …); 0 if no swap can change the value."""
    scales = np.empty(len(offsets) - 1, np.float64)
    native.swap_scales(name, labels, offsets, rules.to_native(), scales)
    return scales


def swap_changes(name: str, ranked: I32, rules: Rules, keep_beyond: bool = False) -> F64:
    """Return table[a, b], a < b: the raw change of the measure if positions a and b of a ranked list swap; else 0."""
    changes = np.zeros((len(ranked), len(ranked)), np.float64)
    native.swap_changes(name, ranked, rules.to_native(), keep_beyond, changes)
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
    """Return the gradient and second derivative per document of the LambdaRank cost, which training minimises.

    `order` holds each query's rows in rank order, `scales` is from `swap_scales`. `normalise` scales both in a query by
    log2(1 + S) / S, where S is the sum of |λ| over its pairs. `damp` divides the change of a pair by 0.01 + the
    difference of its scores, unless all scores of the query are equal.
    """
    gradient, hessian = np.empty(len(scores), np.float64), np.empty(len(scores), np.float64)
    native.lambdas(
        name, scores, labels, offsets, order, scales, rules.to_native(), keep_beyond, sigma, normalise, damp, gradient,
        hessian, threads_for(len(scores)),
    )  # fmt: skip
    return gradient, hessian


_DISCOUNT = {"log2": 0, "letor": 1, "reciprocal": 2}


def _allocate_outputs(scores: F64, offsets: I64) -> tuple[F64, F64]:
    return np.empty(len(offsets) - 1, np.float64), np.empty(len(scores), np.float64)


def _check_same_length(scores: F64, values: NDArray[np.generic]) -> None:
    if len(values) != len(scores):
        raise ValueError(f"{len(scores)} scores, but {len(values)} values")


def cross_entropy(scores: F64, offsets: I64, targets: F64) -> tuple[F64, F64]:
    """Return −Σ p_i ln softmax(s)_i and its gradient softmax(s) − p; targets p sum to 1 in every query."""
    _check_same_length(scores, targets)
    losses, gradient = _allocate_outputs(scores, offsets)
    native.cross_entropy(scores, offsets, targets, losses, gradient, threads_for(len(scores)))
    return losses, gradient


def list_likelihood(scores: F64, offsets: I64, order: I64, depth: int = 0) -> tuple[F64, F64]:
    """Return Σ_t [ln Σ_{k≥t} e^{s(k)} − s(t)] over the first `depth` rows (0: all) of each query in `order`."""
    _check_same_length(scores, order)
    losses, gradient = _allocate_outputs(scores, offsets)
    native.list_likelihood(scores, offsets, order, depth, losses, gradient, threads_for(len(scores)))
    return losses, gradient


def approx_ndcg(
    scores: F64, offsets: I64, gains: F64, scales: F64, alpha: float, discount: str = "log2"
) -> tuple[F64, F64]:
    """Return −scale_q Σ g_i d(π_i) with the smooth rank π_i = 1 + Σ_{j≠i} 1 / (1 + e^{alpha (s_i − s_j)})."""
    _check_same_length(scores, gains)
    if len(scales) != len(offsets) - 1:
        raise ValueError(f"{len(offsets) - 1} queries, but {len(scales)} scales")
    losses, gradient = _allocate_outputs(scores, offsets)
    native.approx_ndcg(
        scores, offsets, gains, scales, alpha, _DISCOUNT[discount], losses, gradient, threads_for(len(scores))
    )
    return losses, gradient


def tied_pairs(scores: F64, offsets: I64, labels: I32, sigma: float = 1.0) -> tuple[F64, F64]:
    """Return RankNet's cost of pairs of equal labels (target ½): Σ ln(2 cosh(sigma (s_i − s_j) / 2))."""
    _check_same_length(scores, labels)
    losses, gradient = _allocate_outputs(scores, offsets)
    native.tied_pairs(scores, offsets, labels, sigma, losses, gradient, threads_for(len(scores)))
    return losses, gradient


class PairLoss(NamedTuple):
    """The loss of scores, its derivative by each score, and each query's positions by ascending score."""

    value: float
    gradient: F64
    order: I32


def grade_labels(labels: I32, offsets: I64) -> tuple[I32, F64]:
    """Return labels renumbered from 0 without gaps per query, and each query's pairs with different labels."""
    levels, pairs = np.empty(len(labels), np.int32), np.empty(len(offsets) - 1)
    native.grade(labels, offsets, levels, pairs, threads())
    return levels, pairs


@dataclass(frozen=True, eq=False)
class Pairs:
    """All pairs (better, worse) of documents within each query, implicitly; a pair of query q has weight weights[q]."""

    levels: I32
    offsets: I64
    weights: F64

    def loss(self, scores: F64, *, squared: bool) -> PairLoss:
        """Return Σ weight · h, or weight · h², over all pairs, with h = max(0, 1 − (s_better − s_worse))."""
        values = np.empty(len(self.weights))
        gradient, order = np.empty(len(scores)), np.empty(len(scores), np.int32)
        native.pair_losses(
            self.levels,
            self.offsets,
            self.weights,
            scores,
            squared,
            values,
            gradient,
            order,
            threads_for(len(self.levels)),
        )
        return PairLoss(float(values.sum()), gradient, order)

    def product(self, scores: F64, order: I32, rows: F64) -> F64:
        """Return the Hessian of the squared loss at `scores` times each column of `rows`; `order` is from `loss`."""
        products = np.empty_like(rows)
        native.pair_products(
            self.levels, self.offsets, self.weights, scores, order, rows, products, threads_for(len(self.levels))
        )  # fmt: skip
        return products

    def part(self, first: int, last: int) -> Self:
        """Return the pairs of queries [first, last)."""
        rows = slice(self.offsets[first], self.offsets[last])
        offsets = self.offsets[first : last + 1] - self.offsets[first]
        return type(self)(self.levels[rows], offsets, self.weights[first:last])
