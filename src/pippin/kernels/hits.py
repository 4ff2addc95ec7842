"""HITS and topical HITS of one graph, going over its links natively until the values stand still.

Sums over a page's links run in the order of its list, sums over the links to a page in the order of how many links the
pointing pages have; all on one thread. All functions release the GIL.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from pippin.kernels import native

F64 = NDArray[np.float64]


class HubLinks:
    """The links of a graph (offsets and columns, all counting alike), arranged once for many rounds."""

    def __init__(self, offsets: NDArray[np.int64], columns: NDArray[np.int32]) -> None:
        self._links = native.HubLinks(offsets, columns)

    def hits(self, authority: F64, hub: F64, tolerance: float, rounds: int) -> tuple[int, float]:
        """Rounds of a = Aᵀh and h = Aa, each of length 1, from the given hubs, in place; rounds and last change."""
        done, residual = self._links.hits(authority, hub, tolerance, rounds)
        return int(done), float(residual)

    def topical(
        self, plain: F64, alpha: float, authority: F64, hub: F64, tolerance: float, rounds: int
    ) -> tuple[int, float]:
        """Rounds of a = α·Aᵀh/|Aᵀh*| + (1−α)·a₀ and h = α·Aa/|Aa*| + (1−α)·h₀, in place; rounds and last change.

        a₀ and h₀ are the values given, a* the `plain` authorities and h* = Aa*/|Aa*| their hubs.
        """
        done, residual = self._links.topical(plain, alpha, authority, hub, tolerance, rounds)
        return int(done), float(residual)
