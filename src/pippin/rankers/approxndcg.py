"""ApproxNDCG: gradient ascent on a smooth approximation of NDCG."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from pippin.data.dataset import Dataset
from pippin.evaluation.convention import Convention
from pippin.evaluation.objective import resolve
from pippin.kernels.losses import approx_ndcg, cross_entropy
from pippin.rankers.base import register
from pippin.rankers.listnet import top_one_probabilities
from pippin.rankers.networks import F64, Cost, NetworkRanker
from pippin.rankers.parameters import above_zero, check_minima, parameter
from pippin.rankers.training_data import MAX_PAIRS, describe_sample, sample_documents


@register("approxndcg")
class ApproxNDCG(NetworkRanker):
    """Gradient ascent on a smooth approximation of NDCG, with a linear model or a network.

    max over f of the mean over queries of Σ_i gain_i · discount(π_i) / ideal with the rank
    π_i = 1 + Σ_{j≠i} 1 / (1 + e^{alpha (s_i − s_j)}) (Qin, Liu & Li 2010, section 4). Gain and discount are the
    convention's, interpolated between ranks; there is no cutoff. The first rounds minimise ListNet's loss, because the
    objective has many local maxima.
    """

    source = "Qin, Liu & Li 2010"
    grid: ClassVar = {"alpha": (1.0, 10.0, 50.0, 100.0)}
    cost_ms = 1

    alpha: float = parameter(
        10.0, "steepness of the approximate ranks: larger values are closer to NDCG but less smooth"
    )
    warmup_rounds: int = parameter(50, "rounds with ListNet's loss before the approximation")
    rounds: int = parameter(300, "maximum number of passes over the training set")
    measure: str = parameter("NDCG@10", "measure for early stopping")
    convention: str | Convention = parameter(
        "official", "gain and discount of the objective, and convention of the measure"
    )

    max_pairs: int | None = parameter(
        MAX_PAIRS, "pairs of documents to learn from; larger data are sampled, equally by query and label. None: all"
    )

    def _select_queries(self, data: Dataset) -> Dataset:
        informative = super()._select_queries(data)
        sample = sample_documents(informative, self.max_pairs)
        self.reasons_ = describe_sample(informative, sample)
        return sample

    def _cost(self, data: Dataset, part: int) -> Cost:
        ruling = resolve("NDCG", self.convention)[1]
        gains, scales = gains_and_scales(data, ruling)
        targets = top_one_probabilities(data.labels, data.offsets)

        def gradient(scores: F64, done: int) -> F64:
            if done < self.warmup_rounds:
                return cross_entropy(scores, data.offsets, targets)[1]
            return approx_ndcg(scores, data.offsets, gains, scales, self.alpha, ruling.discount)[1]

        return gradient

    def _check(self) -> None:
        super()._check()
        above_zero(self, "alpha")
        check_minima(self, warmup_rounds=0, max_pairs=1)


def gains_and_scales(data: Dataset, convention: Convention) -> tuple[F64, F64]:
    """Return the gain of each document, and 1 / (ideal DCG) of each query (0 without gains)."""
    labels = (
        data.labels
        if convention.max_valid_label is None
        else np.where(data.labels > convention.max_valid_label, 0, data.labels)
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
