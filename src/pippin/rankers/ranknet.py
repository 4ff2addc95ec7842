"""RankNet: a network that learns from pairs which of two documents is the better one."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from pippin.data.dataset import Dataset
from pippin.kernels.listwise import tied_pairs
from pippin.rankers.base import register
from pippin.rankers.parts.lambdas import Lambdas
from pippin.rankers.parts.network import F64, Cost, NetworkRanker
from pippin.rankers.parts.parameters import above_zero, parameter


@register("ranknet")
class RankNet(NetworkRanker):
    """Cross entropy of which of two documents is better, by a network.

    min over f of Σ ln(1 + e^{−sigma (s_i − s_j)}) over pairs of a query with label_i > label_j. The derivatives of all
    pairs are added up by document before they go through the network.
    """

    source = "Burges et al. 2005; derivatives by document: Burges 2010, § 2.1"
    grid: ClassVar = {"units": (10, 50), "decay": (1e-3, 1e-2)}
    milliseconds = 9
    in_study = True

    layers: int = parameter(1, "hidden layers; 0 is a linear function")
    units: int = parameter(10, "of each hidden layer")
    sigma: float = parameter(1.0, "how steep the chance to be better is in the difference of scores")
    by_query: bool = parameter(True, "every query counts 1, shared by its pairs; else every pair counts 1")
    use_ties: bool = parameter(False, "pairs of equal labels count too, with the chance ½")
    rate: float = parameter(0.01, "how far a step goes")
    decay: float = parameter(0.001, "weight of ½‖weights‖²")
    batch: int | None = parameter(32, "queries a step; None: all of them")
    rounds: int = parameter(100, "passes over the training set, at most")
    patience: int | None = parameter(20, "rounds without a better validation value before training stops; None: never")
    seed: int = parameter(0, "of the first weights and of batches")

    def _cost(self, data: Dataset, part: int) -> Cost:
        return pair_cost(data, self.sigma, self.by_query, self.use_ties)

    def _check(self) -> None:
        super()._check()
        above_zero(self, "sigma")


def pair_cost(data: Dataset, sigma: float = 1.0, by_query: bool = True, use_ties: bool = False) -> Cost:
    """RankNet's derivative by score: λ of every pair of unlike labels, and on demand of like ones."""
    pull = Lambdas(data, None, sigma=sigma)
    counts = pair_counts(data, use_ties)
    shares = 1.0 / np.maximum(counts, 1.0) if by_query else np.ones(data.queries)
    pull.scales = shares
    if not use_ties:
        return lambda scores, _: pull(scores)[0]
    by_document = np.repeat(shares, np.diff(data.offsets))

    def gradient(scores: F64, _: int) -> F64:
        return pull(scores)[0] + by_document * tied_pairs(scores, data.offsets, data.labels, sigma)[1]

    return gradient


def pair_counts(data: Dataset, with_ties: bool = False) -> F64:
    """The number of pairs of unlike labels of each query, or of all pairs."""
    sizes = np.diff(data.offsets).astype(np.float64)
    counts = sizes * (sizes - 1) / 2
    if with_ties:
        return counts
    queries = data.qid()
    for label in np.unique(data.labels):
        same = np.bincount(queries[data.labels == label], minlength=data.queries)
        counts -= same * (same - 1) / 2
    return counts
