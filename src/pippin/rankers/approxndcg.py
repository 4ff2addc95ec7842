"""ApproxNDCG: NDCG itself, made smooth by letting ranks be sums of chances, and climbed."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from pippin.data.dataset import Dataset
from pippin.evaluation.convention import Convention
from pippin.evaluation.objective import resolve
from pippin.kernels.listwise import approx_ndcg, cross_entropy
from pippin.rankers.base import register
from pippin.rankers.listnet import chances
from pippin.rankers.parts.network import F64, Cost, NetworkRanker
from pippin.rankers.parts.parameters import above_zero, at_least, parameter


@register("approxndcg")
class ApproxNDCG(NetworkRanker):
    """A smooth NDCG, linear or a network.

    max over f of the mean over queries of Σ_i gain_i · discount(π_i) / ideal with the rank
    π_i = 1 + Σ_{j≠i} 1 / (1 + e^{alpha (s_i − s_j)}); gain and discount are the convention's (LETOR's with ranks
    between whole ones), all ranks count. The first rounds are ListNet's, because hills are many. Linear by default.
    """

    source = "Qin, Liu & Li 2010"
    grid: ClassVar = {"alpha": (1.0, 10.0, 50.0, 100.0)}
    milliseconds = 1

    alpha: float = parameter(10.0, "how sharp ranks are: the larger, the nearer to NDCG and the rougher")
    warm: int = parameter(50, "first rounds that are ListNet's")
    rounds: int = parameter(300, "passes over the training set, at most")
    measure: str = parameter("NDCG@10", "what validation looks at")
    convention: str | Convention = parameter(
        "official", "whose gain and discount are climbed, and under which validation looks"
    )

    def _cost(self, data: Dataset, part: int) -> Cost:
        ruling = resolve("NDCG", self.convention)[1]
        gains, scales = smooth_parts(data, ruling)
        targets = chances(data.labels, data.offsets)

        def gradient(scores: F64, done: int) -> F64:
            if done < self.warm:
                return cross_entropy(scores, data.offsets, targets)[1]
            return approx_ndcg(scores, data.offsets, gains, scales, self.alpha, ruling.discount)[1]

        return gradient

    def _check(self) -> None:
        super()._check()
        above_zero(self, "alpha")
        at_least(self, warm=0)


def smooth_parts(data: Dataset, convention: Convention) -> tuple[F64, F64]:
    """The gain of each document, and of each query 1 / (DCG of its ideal order), 0 where nothing gains."""
    labels = (
        data.labels if convention.top_label is None else np.where(data.labels > convention.top_label, 0, data.labels)
    )
    gains = convention.gains(int(labels.max(initial=0)))[labels]
    order = np.lexsort((-gains, data.qid()))
    sizes = np.diff(data.offsets)
    multipliers, divisors = convention.discounts(int(sizes.max(initial=1)))
    positions = np.arange(len(gains)) - np.repeat(data.offsets[:-1], sizes)
    ideal = np.bincount(
        data.qid(), gains[order] * multipliers[positions] / divisors[positions], minlength=data.queries
    )  # fmt: skip
    return gains, np.where(ideal > 0, 1.0 / np.where(ideal > 0, ideal, 1.0), 0.0)
