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


def propagate_once(offsets: I64, columns: I32, weights: F64, kept: F64, share: float, h: F64, out: F64) -> float:
    """out(p) = kept(p) + share·Σ weight(p, q)·h(q), all tables [n, k]; the greatest |out − h|."""
    changed: float = native.propagate_once(offsets, columns, weights, kept, share, h, out)
    return changed


def links_inside(offsets: I64, columns: I32, pages: I64, slots: I32) -> tuple[I64, I32, I32]:
    """The links of `pages` to pages with a slot (0 is none, else 1 + number): offsets, numbers, places.

    The places are those among all links of `pages`.
    """
    room = int((offsets[pages + 1] - offsets[pages]).sum()) + 1
    numbers, places = np.empty(room, np.int32), np.empty(room, np.int32)
    inside = np.zeros(len(pages) + 1, np.int64)
    count = native.links_inside(offsets, columns, pages, slots, inside[1:], numbers, places)
    return inside, numbers[:count], places[:count]


def linked_values(offsets: I64, columns: I32, pages: I64, values: F64) -> F64:
    """The values at the ends of all links of `pages`, one page's after the other's."""
    found = np.empty(int((offsets[pages + 1] - offsets[pages]).sum()))
    native.linked_values(offsets, columns, pages, values, found)
    return found
