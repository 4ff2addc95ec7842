"""PCA: the directions in which features vary most, within queries or over all documents."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from pippin.data.dataset import Dataset
from pippin.rankers.parts.parameters import at_least, one_of, parameter
from pippin.rankers.parts.spread import centred, scales
from pippin.rankers.steps.base import Projection, register

F64 = NDArray[np.float64]


@register("pca")
class PCA(Projection):
    """The k directions in which the features vary most.

    Eigenvectors of the covariance of the features, each divided by its spread. Within queries, a feature's mean over
    its query is taken off first: what tells queries apart and not documents is no variance then. The scores of a
    document come from its own features either way.
    """

    source = "Pearson 1901; Jolliffe 2002"
    grid: ClassVar = {"k": (5, 10, 20)}
    quick_grid: ClassVar = {"k": (10,)}
    milliseconds = 20

    k: int = parameter(10, "directions that are kept, at most as many as there are features")
    within: str = parameter("query", "what counts as variance: that inside a query, or over all documents (all)")

    def _check(self) -> None:
        at_least(self, k=1)
        one_of(self, within=("query", "all"))

    def _directions(self, train: Dataset) -> tuple[F64, F64, F64]:
        table = centred(train, self.within)
        scale = scales(table)
        directions = principal(table / scale, min(self.k, table.shape[1]))
        return np.asarray(train.features, np.float64).mean(axis=0), scale, directions


def principal(table: F64, count: int) -> F64:
    """The leading eigenvectors of tableᵀ·table as columns; each with its largest entry above 0, so that they are one's.

    >>> principal(np.array([[3.0, 0.0], [-3.0, 0.0], [0.0, 1.0], [0.0, -1.0]]), 1).tolist()
    [[1.0], [0.0]]
    """
    values, vectors = np.linalg.eigh(table.T @ table)
    return signed(vectors[:, np.argsort(-values, kind="stable")[:count]])


def signed(vectors: F64) -> F64:
    """The columns, each turned so that its largest entry is above 0."""
    largest = np.take_along_axis(vectors, np.abs(vectors).argmax(axis=0)[None], axis=0)
    turned: F64 = vectors * np.where(largest < 0, -1.0, 1.0)
    return np.ascontiguousarray(turned + 0.0)
