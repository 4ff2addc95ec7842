"""How is a square matrix kept of which nearly all is 0: links among pages, and what part of a score goes along each?"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pippin.kernels.links import transpose

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Sparse:
    """Row by row (from one offset to the next) the columns that are not 0, and what they hold."""

    offsets: Ints
    columns: NDArray[np.int32]
    weights: Floats

    @classmethod
    def of(cls, rows: Ints, columns: NDArray[np.integer[Any]], weights: Floats, size: int) -> Sparse:
        """The matrix with these entries; those of a row stay in their order.

        >>> Sparse.of(np.array([1, 0, 1]), np.array([0, 1, 1]), np.array([3.0, 2.0, 4.0]), 2).toarray().tolist()
        [[0.0, 2.0], [3.0, 4.0]]
        """
        order = np.argsort(rows, kind="stable")
        offsets = np.concatenate(([0], np.cumsum(np.bincount(rows, minlength=size))))
        return cls(offsets.astype(np.int64), columns[order].astype(np.int32), weights[order])

    @property
    def size(self) -> int:
        """Rows, and columns."""
        return len(self.offsets) - 1

    @cached_property
    def rows(self) -> Ints:
        """The row of every entry."""
        return np.repeat(np.arange(self.size), np.diff(self.offsets))

    def transposed(self) -> Sparse:
        """Rows as columns, columns as rows."""
        return Sparse(*transpose(self.offsets, self.columns, self.weights))

    def __matmul__(self, x: Floats) -> Floats:
        """The product with a vector, summed row by row in the order of the entries."""
        sums = np.bincount(self.rows, self.weights * x[self.columns], self.size)
        return sums.astype(np.float64, copy=False)  # where there is no entry, they are integers

    def toarray(self) -> Floats:
        """All of it, the zeros too."""
        dense = np.zeros((self.size, self.size))
        dense[self.rows, self.columns] = self.weights
        return dense
