"""ListNet: the scores of a query's documents as chances to stand first, brought near those that the labels give."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from pippin.data.dataset import Dataset
from pippin.kernels.listwise import cross_entropy
from pippin.rankers.base import register
from pippin.rankers.parts.network import F64, Cost, NetworkRanker
from pippin.rankers.parts.parameters import above_zero, one_of, parameter


@register("listnet")
class ListNet(NetworkRanker):
    """Cross entropy of the chances to stand first, linear or a network.

    min over f of −Σ_queries Σ_i P_y(i) ln P_s(i) with P_s = softmax(scores) and P_y = softmax(scale · m(labels)),
    m(y) = y or 2^y − 1. Linear by default.
    """

    source = "Cao et al. 2007"
    grid: ClassVar = {"mapping": ("label", "exp2"), "scale": (0.5, 1.0, 2.0, 4.0)}
    milliseconds = 1

    mapping: str = parameter("label", "what a label is before the softmax: label, or exp2 (2^label − 1)")
    scale: float = parameter(1.0, "how much the labels are stretched: the larger, the more the top label takes all")
    skip_constant: bool = parameter(True, "leave queries of one label out; they would only pull scores together")

    def _keeps(self, data: Dataset) -> Dataset:
        return super()._keeps(data) if self.skip_constant else data

    def _cost(self, data: Dataset, part: int) -> Cost:
        targets = chances(data.labels, data.offsets, self.mapping, self.scale)
        return lambda scores, _: cross_entropy(scores, data.offsets, targets)[1]

    def _check(self) -> None:
        super()._check()
        one_of(self, mapping=("label", "exp2"))
        above_zero(self, "scale")


def chances(labels: NDArray[np.int32], offsets: NDArray[np.int64], mapping: str = "label", scale: float = 1.0) -> F64:
    """Each document's chance to stand first as the labels have it: softmax of scale · m(label) in its query.

    >>> chances(np.array([1, 0, 0], np.int32), np.array([0, 2, 3]), scale=np.log(3.0)).round(6).tolist()
    [0.75, 0.25, 1.0]
    """
    values = scale * (np.exp2(labels) - 1.0 if mapping == "exp2" else labels.astype(np.float64))
    sizes = np.diff(offsets)
    starts = offsets[:-1][sizes > 0]
    full = sizes[sizes > 0]
    weights = np.exp(values - np.repeat(np.maximum.reduceat(values, starts), full)) if len(starts) else values
    return weights / np.repeat(np.add.reduceat(weights, starts), full) if len(starts) else weights
