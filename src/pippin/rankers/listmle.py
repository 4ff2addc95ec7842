"""ListMLE: makes the order of the labels the most likely one when documents are drawn by their scores, best first."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from pippin.data.dataset import Dataset
from pippin.kernels.listwise import list_likelihood
from pippin.rankers.base import register
from pippin.rankers.parts.network import F64, Cost, NetworkRanker, keyed
from pippin.rankers.parts.parameters import at_least, one_of, parameter


@register("listmle")
class ListMLE(NetworkRanker):
    """Likelihood of the order of the labels, linear or a network.

    min over f of Σ_queries Σ_t [ln Σ_{k≥t} e^{s_π(k)} − s_π(t)], π = documents by label, best first. Linear by default.
    """

    source = "Xia et al. 2008"
    grid: ClassVar = {"depth": (None, 10), "decay": (0.0, 1e-3), "rate": (0.005, 0.02)}
    milliseconds = 2

    ties: str = parameter(
        "random", "the order of equal labels: random (drawn anew each round), or score (as scored just then)"
    )
    depth: int | None = parameter(None, "places of the order that count; None: all of them")
    seed: int = parameter(0, "of ties, of a network's first weights and of batches")

    def _cost(self, data: Dataset, part: int) -> Cost:
        queries = data.qid()
        # A list of n documents has n terms, so long ones would outweigh the others; each query counts 1.
        sizes = np.diff(data.offsets)
        places = sizes if self.depth is None else np.minimum(sizes, self.depth)
        shares = np.repeat(1.0 / np.maximum(places, 1), sizes)

        def gradient(scores: F64, done: int) -> F64:
            within = -scores if self.ties == "score" else keyed(self.seed, "ties", part, done).random(len(scores))
            order = best_first(data.labels, queries, within)
            return shares * list_likelihood(scores, data.offsets, order, self.depth or 0)[1]

        return gradient

    def _check(self) -> None:
        super()._check()
        one_of(self, ties=("random", "score"))
        at_least(self, depth=1)


def best_first(labels: NDArray[np.int32], queries: NDArray[np.int64], within: F64) -> NDArray[np.int64]:
    """Rows of each query by label, the best first, and among equal labels by `within`.

    >>> best_first(np.array([0, 2, 1, 2]), np.zeros(4, np.int64), np.array([0.1, 0.9, 0.5, 0.3])).tolist()
    [3, 1, 2, 0]
    """
    return np.lexsort((within, -labels, queries))
