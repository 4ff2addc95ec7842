"""Link analysis: sums along links, subgraphs, HITS and topical HITS.

A graph is offsets (int64) and columns (int32); values are rows of float64. Every sum runs in a fixed order, so the
number of threads does not change a bit. All functions release the GIL and raise ValueError for offsets, pages or
columns out of range.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from pippin.kernels import native, threads_for

F64 = NDArray[np.float64]
I32 = NDArray[np.int32]
I64 = NDArray[np.int64]


def link_sums(offsets: I64, columns: I32, values: F64, out: F64 | None = None) -> F64:
    """Return Σ values(q) over the neighbours of each page; `values` is [n] or [n, k], `out` an optional output."""
    sums = np.empty((len(offsets) - 1, *values.shape[1:])) if out is None else out
    workers = threads_for(len(columns), "links")
    native.link_sums(offsets, columns, np.atleast_2d(values.T).T, np.atleast_2d(sums.T).T, workers)
    return sums


def propagate(
    offsets: I64, columns: I32, weights: F64, values: F64, self_share: float, tolerance: float, rounds: int
) -> tuple[F64, float]:
    """Iterate h(p) = c·S(p) + (1−c)·Σ weight(p, q)·h(q), c = `self_share`, from h = S [n, k].

    Stop when h changes by at most `tolerance`. Return h and the largest change of the last round (infinite without
    one).
    """
    h = np.empty_like(values)
    return h, native.propagate(offsets, columns, weights, values, self_share, tolerance, rounds, h)


def transpose(offsets: I64, columns: I32, weights: F64) -> tuple[I64, I32, F64]:
    """Transpose a square matrix; entries of one row keep their order."""
    result: tuple[I64, I32, F64] = native.transpose(offsets, columns, weights)
    return result


def weigh_rows(table: F64, pages: I64, weights: F64) -> F64:
    """Return Σ_k weight(k)·table(p, k) for each page p in `pages`."""
    sums = np.empty(len(pages))
    native.weigh_rows(table, pages, weights, sums)
    return sums


class PageSet:
    """A set of pages of a graph with pages 0 … n−1.

    >>> some = PageSet(100)
    >>> some.add(np.array([70, 3, 70])).tolist(), some.add(np.array([3, 5])).tolist()
    ([70, 3], [5])
    >>> some.number().tolist(), some.slots(np.array([70, 4, 3])).tolist()
    ([3, 5, 70], [2, -1, 0])
    """

    def __init__(self, pages: int) -> None:
        self.handle = native.PageSet(pages)

    def add(self, pages: NDArray[np.integer[Any]]) -> I64:
        """Add pages and return those that were not members before, each once."""
        added: I64 = self.handle.add(np.ascontiguousarray(pages, np.int64))
        return added

    def number(self) -> I64:
        """Number the members in ascending order and return them; the numbers (slots) are valid until the next `add`."""
        members: I64 = self.handle.number()
        return members

    def slots(self, pages: I64) -> I64:
        """Return the slot of each page, −1 for pages that are not members."""
        slots = np.empty(len(pages), np.int64)
        self.handle.slots(np.ascontiguousarray(pages, np.int64), slots)
        return slots


def inner_links(
    offsets: I64, columns: I32, inside: PageSet, pages: I64, scored: PageSet, scores: F64
) -> tuple[tuple[I64, I32], tuple[I64, I32, F64]]:
    """Return the links among `pages`, all members of `inside`, in one pass over all their links.

    First come all links, as offsets and columns; then the links to pages with S > 0, each with its weight
    S(q)/Σ_{u∈Out(p)} S⁺(u). S is `scores` for the members of `scored`, and 0 for other pages. The result does not
    depend on the number of threads.
    """
    workers = threads_for(len(pages), "pages")
    links = native.inner_links(offsets, columns, inside.handle, pages, scored.handle, scores, workers)
    return links[:2], links[2:]


class HubLinks:
    """The unweighted links of a graph (offsets and columns), reordered once for many iterations."""

    def __init__(self, offsets: NDArray[np.int64], columns: NDArray[np.int32]) -> None:
        self._links = native.HubLinks(offsets, columns)

    def hits(self, authority: F64, hub: F64, tolerance: float, rounds: int) -> tuple[int, float]:
        """Iterate a = Aᵀh and h = Aa, each of length 1, from `hub`, in place; return rounds and last change."""
        done, residual = self._links.hits(authority, hub, tolerance, rounds)
        return int(done), float(residual)

    def topical(
        self, plain: F64, alpha: float, authority: F64, hub: F64, tolerance: float, rounds: int
    ) -> tuple[int, float]:
        """Iterate a = α·Aᵀh/|Aᵀh*| + (1−α)·a₀ and h = α·Aa/|Aa*| + (1−α)·h₀ in place; return rounds and last change.

        a₀ and h₀ are the initial `authority` and `hub`, a* the `plain` authorities and h* = Aa*/|Aa*| their hubs.
        """
        done, residual = self._links.topical(plain, alpha, authority, hub, tolerance, rounds)
        return int(done), float(residual)
