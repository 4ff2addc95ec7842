"""Sums along links: graphs are offsets (int64) and columns (int32), values are rows of float64.

Every sum runs in the order of the lists, so that neither the number of threads nor the block of columns changes a bit.
All functions release the GIL; offsets or columns that lead out of an array are a ValueError.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from pippin.kernels import native, threads

I64 = NDArray[np.int64]
I32 = NDArray[np.int32]
F64 = NDArray[np.float64]

_ALONE = 1 << 20  # links that one thread has summed before a second one has started


def link_sums(offsets: I64, columns: I32, values: F64, out: F64 | None = None) -> F64:
    """Σ values(q) over the list of each page; `values` [n] or [n, k]. `out` is written where it is given."""
    sums = np.empty((len(offsets) - 1, *values.shape[1:])) if out is None else out
    workers = 1 if len(columns) < _ALONE else threads()
    native.link_sums(offsets, columns, np.atleast_2d(values.T).T, np.atleast_2d(sums.T).T, workers)
    return sums


def propagate(
    offsets: I64, columns: I32, weights: F64, values: F64, self_share: float, enough: float, rounds: int
) -> tuple[F64, float]:
    """Rounds of h(p) = own·S(p) + (1−own)·Σ weight(p, q)·h(q) from h = S [n, k] until h changes by at most `enough`.

    With h the greatest change of the last round; infinite where there was none.
    """
    h = np.empty_like(values)
    return h, native.propagate(offsets, columns, weights, values, self_share, enough, rounds, h)


def transpose(offsets: I64, columns: I32, weights: F64) -> tuple[I64, I32, F64]:
    """Rows as columns and columns as rows of a square matrix; entries of one row keep their order."""
    found: tuple[I64, I32, F64] = native.transpose(offsets, columns, weights)
    return found


def weigh_rows(table: F64, pages: I64, weights: F64) -> F64:
    """Σ_k weight(k)·table(p, k) for each of some pages."""
    sums = np.empty(len(pages))
    native.weigh_rows(table, pages, weights, sums)
    return sums
