"""ListMLE: maximum likelihood of the order of the labels under the Plackett-Luce model."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from pippin.data.dataset import Dataset
from pippin.kernels.losses import list_likelihood
from pippin.rankers.base import register
from pippin.rankers.networks import F64, Cost, NetworkRanker, derive_rng
from pippin.rankers.parameters import check_minima, one_of, parameter


@register("listmle")
class ListMLE(NetworkRanker):
    """Maximum likelihood of the order of the labels, with a linear model or a network.

    min over f of Σ_queries Σ_t [ln Σ_{k≥t} e^{s_π(k)} − s_π(t)], π = documents by descending label (Xia et al. 2008,
    section 5.1).
    """

    source = "Xia et al. 2008"
    grid: ClassVar = {"top_k": (None, 10), "weight_decay": (0.0, 1e-3), "learning_rate": (0.005, 0.02)}
    cost_ms = 2

    ties: str = parameter(
        "random", "order of equal labels: random (sampled in each round), or score (by current scores)"
    )
    top_k: int | None = parameter(None, "positions that count in the likelihood; None: all")
    seed: int = parameter(0, "seed of ties, initial weights and batches")

    def _cost(self, data: Dataset, part: int) -> Cost:
        queries = data.qid()
        # A list of n documents has n terms; dividing by their number gives every query the weight 1.
        sizes = np.diff(data.offsets)
        places = sizes if self.top_k is None else np.minimum(sizes, self.top_k)
        shares = np.repeat(1.0 / np.maximum(places, 1), sizes)

        def gradient(scores: F64, done: int) -> F64:
            within = -scores if self.ties == "score" else derive_rng(self.seed, "ties", part, done).random(len(scores))
            order = best_first(data.labels, queries, within)
            return shares * list_likelihood(scores, data.offsets, order, self.top_k or 0)[1]

        return gradient

    def _check(self) -> None:
        super()._check()
        one_of(self, ties=("random", "score"))
        check_minima(self, top_k=1)


def best_first(labels: NDArray[np.int32], queries: NDArray[np.int64], within: F64) -> NDArray[np.int64]:
    """Return the rows of each query by descending label, equal labels by `within`.

    >>> best_first(np.array([0, 2, 1, 2]), np.zeros(4, np.int64), np.array([0.1, 0.9, 0.5, 0.3])).tolist()
    [3, 1, 2, 0]
    """
    return np.lexsort((within, -labels, queries))
