"""ListNet: the scores of a query's documents as chances to stand first, brought near those that the labels give."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from pippin.data.dataset import Dataset
from pippin.evaluation.convention import Convention
from pippin.kernels.listwise import cross_entropy
from pippin.rankers.base import register
from pippin.rankers.parts.network import F64, Cost, NetworkRanker


@register("listnet")
class ListNet(NetworkRanker):
    """Cross entropy of the chances to stand first, linear or a network.

    min over f of −Σ_queries Σ_i P_y(i) ln P_s(i) with P_s = softmax(scores) and P_y = softmax(scale · m(labels)),
    m(y) = y or 2^y − 1. Linear by default; `layers` from 1 on needs PyTorch (the extra `neural`).
    """

    source = "Cao et al. 2007"
    grid: ClassVar = {"mapping": ("label", "exp2"), "scale": (0.5, 1.0, 2.0, 4.0)}
    milliseconds = 1

    def __init__(
        self,
        mapping: str = "label",
        scale: float = 1.0,
        skip_constant: bool = True,
        layers: int = 0,
        units: int = 20,
        activation: str = "tanh",
        standardise: bool | str = "auto",
        rate: float = 0.02,
        decay: float = 0.0,
        batch: int | None = None,
        rounds: int = 500,
        patience: int | None = 100,
        measure: str = "MAP",
        convention: str | Convention = "official",
        seed: int = 0,
        verbose: bool = False,
    ) -> None:
        self.mapping = mapping  # what a label is before the softmax: label, or exp2 (2^label − 1)
        self.scale = scale  # how much the labels are stretched: the larger, the more the top label takes all
        self.skip_constant = skip_constant  # leave queries of one label out; they would only pull scores together
        self.layers = layers  # hidden layers; 0 is a linear function
        self.units = units  # of each hidden layer
        self.activation = activation  # of hidden units: tanh or relu
        self.standardise = standardise  # features to mean 0, deviation 1; auto: unless all are within [-1, 1]
        self.rate = rate  # how far a step goes
        self.decay = decay  # weight of ½‖weights‖²
        self.batch = batch  # queries a step; None: all of them
        self.rounds = rounds  # passes over the training set, at most
        self.patience = patience  # rounds without a better validation value before training stops; None: never
        self.measure = measure  # what validation looks at
        self.convention = convention  # under which convention
        self.seed = seed  # of a network's first weights and of batches
        self.verbose = verbose  # show progress

    def _keeps(self, data: Dataset) -> Dataset:
        return super()._keeps(data) if self.skip_constant else data

    def _cost(self, data: Dataset, part: int) -> Cost:
        targets = chances(data.labels, data.offsets, self.mapping, self.scale)
        return lambda scores, _: cross_entropy(scores, data.offsets, targets)[1]

    def _check(self) -> None:
        super()._check()
        if self.mapping not in ("label", "exp2"):
            raise ValueError(f"mapping is label or exp2, not {self.mapping!r}")
        if not 0 < self.scale < np.inf:
            raise ValueError(f"scale is a number above 0, not {self.scale!r}")


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
