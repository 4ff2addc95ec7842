"""Sums over all pairs of documents with different labels, in O(n log n): hinge losses, gradients, Hessian products."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from pippin.kernels import native, threads

F64 = NDArray[np.float64]
I32 = NDArray[np.int32]
I64 = NDArray[np.int64]

_FEW = 20_000  # documents below which a second thread costs more than it brings


class PairLoss(NamedTuple):
    """The loss of scores, its derivative by each score, and each query's positions by ascending score."""

    value: float
    gradient: F64
    order: I32


def grade(labels: I32, offsets: I64) -> tuple[I32, F64]:
    """Each query's labels counted from 0 without gaps, and its number of pairs with different labels."""
    levels, pairs = np.empty(len(labels), np.int32), np.empty(len(offsets) - 1)
    native.grade(labels, offsets, levels, pairs, threads())
    return levels, pairs


@dataclass(frozen=True, eq=False)
class Pairs:
    """The pairs (better, worse) of documents within each query, never listed; a pair of query q weighs weights[q]."""

    levels: I32
    offsets: I64
    weights: F64

    def _workers(self) -> int:
        return threads(None if len(self.levels) > _FEW else 1)

    def loss(self, scores: F64, *, squared: bool) -> PairLoss:
        """Σ weight · h, or weight · h², over all pairs, with h = max(0, 1 − (s_better − s_worse))."""
        values = np.empty(len(self.weights))
        gradient, order = np.empty(len(scores)), np.empty(len(scores), np.int32)
        native.pair_losses(
            self.levels, self.offsets, self.weights, scores, squared, values, gradient, order, self._workers()
        )
        return PairLoss(float(values.sum()), gradient, order)

    def product(self, scores: F64, order: I32, rows: F64) -> F64:
        """The second derivative of the squared loss at `scores` (in the order that `loss` found) times each column."""
        products = np.empty_like(rows)
        native.pair_products(
            self.levels, self.offsets, self.weights, scores, order, rows, products, self._workers()
        )  # fmt: skip
        return products

    def part(self, first: int, last: int) -> Self:
        """The pairs of queries [first, last)."""
        rows = slice(self.offsets[first], self.offsets[last])
        offsets = self.offsets[first : last + 1] - self.offsets[first]
        return type(self)(self.levels[rows], offsets, self.weights[first:last])
