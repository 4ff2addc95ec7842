"""ListNet: cross entropy between the top-one probabilities of labels and of scores."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from pippin.data.dataset import Dataset
from pippin.kernels.losses import cross_entropy
from pippin.rankers.base import register
from pippin.rankers.networks import F64, Cost, NetworkRanker
from pippin.rankers.parameters import above_zero, one_of, parameter


@register("listnet")
class ListNet(NetworkRanker):
    """Cross entropy of top-one probabilities, with a linear model or a network.

    min over f of −Σ_queries Σ_i P_y(i) ln P_s(i) with P_s = softmax(scores) and P_y = softmax(scale · m(labels)),
    m(y) = y or 2^y − 1 (Cao et al. 2007, section 4.3).
    """

    source = "Cao et al. 2007"
    grid: ClassVar = {"label_gain": ("label", "exp2"), "scale": (0.5, 1.0, 2.0, 4.0)}
    cost_ms = 1

    label_gain: str = parameter("label", "m: label, or exp2 (2^label − 1)")
    scale: float = parameter(1.0, "factor of the labels: larger values concentrate the probability on the top label")
    drop_constant_queries: bool = parameter(True, "ignore queries whose documents all have the same label")

    def _select_queries(self, data: Dataset) -> Dataset:
        return super()._select_queries(data) if self.drop_constant_queries else data

    def _cost(self, data: Dataset, part: int) -> Cost:
        targets = top_one_probabilities(data.labels, data.offsets, self.label_gain, self.scale)
        return lambda scores, _: cross_entropy(scores, data.offsets, targets)[1]

    def _check(self) -> None:
        super()._check()
        one_of(self, label_gain=("label", "exp2"))
        above_zero(self, "scale")


def top_one_probabilities(
    labels: NDArray[np.int32], offsets: NDArray[np.int64], mapping: str = "label", scale: float = 1.0
) -> F64:
    """Return the top-one probability of each document: the softmax of scale · m(label) within its query.

    >>> top_one_probabilities(np.array([1, 0, 0], np.int32), np.array([0, 2, 3]), scale=np.log(3.0)).round(6).tolist()
    [0.75, 0.25, 1.0]
    """
    values = scale * (np.exp2(labels) - 1.0 if mapping == "exp2" else labels.astype(np.float64))
    sizes = np.diff(offsets)
    starts = offsets[:-1][sizes > 0]
    full = sizes[sizes > 0]
    weights = np.exp(values - np.repeat(np.maximum.reduceat(values, starts), full)) if len(starts) else values
    return weights / np.repeat(np.add.reduceat(weights, starts), full) if len(starts) else weights
