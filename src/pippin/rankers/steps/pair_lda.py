"""Pair-LDA: the directions that move documents of different labels apart, and those of the same label not."""

from __future__ import annotations

from itertools import pairwise
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from pippin.data.dataset import Dataset
from pippin.rankers.parts.parameters import above_zero, at_least, parameter
from pippin.rankers.parts.spread import centred, scales
from pippin.rankers.steps.base import Projection, register
from pippin.rankers.steps.pca import signed

F64 = NDArray[np.float64]


@register("pair-lda")
class PairLDA(Projection):
    """The k directions in which pairs of different labels differ most, against pairs of the same label.

    Leading v of B v = λ (W + ridge · tr(W)/f · I) v, where B and W are the mean of (x_i − x_j)(x_i − x_j)ᵀ over a
    query's pairs with different labels, and with the same.
    """

    source = "after Fisher 1936 (linear discriminants), of pairs within queries"
    grid: ClassVar = {"k": (1, 5, 10)}
    quick_grid: ClassVar = {"k": (5,)}
    milliseconds = 20

    k: int = parameter(5, "directions that are kept, at most as many as there are features")
    ridge: float = parameter(0.01, "what is added to the scatter of pairs alike, as a share of its mean")

    def _check(self) -> None:
        at_least(self, k=1)
        above_zero(self, "ridge")

    def _directions(self, train: Dataset) -> tuple[F64, F64, F64]:
        table = centred(train, "query")
        scale = scales(table)
        between, within = pair_scatters(table / scale, train.labels, train.offsets)
        width = table.shape[1]
        ridge = self.ridge * max(float(np.trace(within)) / width, 1e-12)
        root = np.linalg.cholesky(within + ridge * np.eye(width))
        inner = np.linalg.solve(root, np.linalg.solve(root, between).T)
        values, vectors = np.linalg.eigh((inner + inner.T) / 2)
        leading = vectors[:, np.argsort(-values, kind="stable")[: min(self.k, width)]]
        directions = np.linalg.solve(root.T, leading)
        mean = np.asarray(train.features, np.float64).mean(axis=0)
        return mean, scale, signed(directions / np.linalg.norm(directions, axis=0))


def pair_scatters(table: F64, labels: NDArray[np.int32], offsets: NDArray[np.int64]) -> tuple[F64, F64]:
    """The mean of (x_i − x_j)(x_i − x_j)ᵀ over pairs of different labels, and over pairs of the same.

    Σ over the pairs of n documents is n Σ x xᵀ − s sᵀ with s = Σ x, so that no pair is ever formed.
    """
    width = table.shape[1]
    every, same = np.zeros((2, width, width))
    pairs = np.zeros(2)
    for start, end in pairwise(offsets.tolist()):
        rows, own = table[start:end], labels[start:end]
        every += _scatter(rows)
        pairs[0] += len(rows) * (len(rows) - 1) / 2
        for label in np.unique(own):
            alike = rows[own == label]
            same += _scatter(alike)
            pairs[1] += len(alike) * (len(alike) - 1) / 2
    return (every - same) / max(1.0, pairs[0] - pairs[1]), same / max(1.0, pairs[1])


def _scatter(rows: F64) -> F64:
    total = rows.sum(axis=0)
    product: F64 = len(rows) * (rows.T @ rows) - np.outer(total, total)
    return product
