"""Some pages of a large graph, and the links among them; nothing but bits is as long as the graph.

All functions release the GIL; pages, offsets or columns that lead out of an array are a ValueError.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from pippin.kernels import native, threads

I64 = NDArray[np.int64]
I32 = NDArray[np.int32]
F64 = NDArray[np.float64]

_ALONE = 8192  # pages whose links one thread has sorted out before a second one has started


class PageSet:
    """Some of the pages 0 … n−1 of a graph.

    >>> some = PageSet(100)
    >>> some.add(np.array([70, 3, 70])).tolist(), some.add(np.array([3, 5])).tolist()
    ([70, 3], [5])
    >>> some.number().tolist(), some.slots(np.array([70, 4, 3])).tolist()
    ([3, 5, 70], [2, -1, 0])
    """

    def __init__(self, pages: int) -> None:
        self.handle = native.PageSet(pages)

    def add(self, pages: NDArray[np.integer[Any]]) -> I64:
        """The pages that were not there before, each once."""
        fresh: I64 = self.handle.add(np.ascontiguousarray(pages, np.int64))
        return fresh

    def number(self) -> I64:
        """The members, ascending: their slots from now on, until more are added."""
        members: I64 = self.handle.number()
        return members

    def slots(self, pages: I64) -> I64:
        """Where each page stands among the members, −1 for those that are none."""
        slots = np.empty(len(pages), np.int64)
        self.handle.slots(np.ascontiguousarray(pages, np.int64), slots)
        return slots


def inner_links(
    offsets: I64, columns: I32, inside: PageSet, pages: I64, scored: PageSet, scores: F64
) -> tuple[tuple[I64, I32], tuple[I64, I32, F64]]:
    """The links among `pages`, all members of `inside`, in one pass over all their links.

    First all of them, as offsets and columns; then those to pages with S > 0 alone, with S(q)/Σ_{u∈Out(p)} S⁺(u) for
    each. S is `scores` for the members of `scored`, and 0 for other pages. The same on any number of threads.
    """
    workers = 1 if len(pages) < _ALONE else threads()
    links = native.inner_links(offsets, columns, inside.handle, pages, scored.handle, scores, workers)
    return links[:2], links[2:]
