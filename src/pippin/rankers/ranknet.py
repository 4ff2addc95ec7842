"""RankNet: a network that learns from pairs which of two documents is the better one."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from pippin.data.dataset import Dataset
from pippin.evaluation.convention import Convention
from pippin.kernels.listwise import tied_pairs
from pippin.rankers.base import register
from pippin.rankers.parts.lambdas import Lambdas
from pippin.rankers.parts.network import F64, Cost, NetworkRanker


@register("ranknet")
class RankNet(NetworkRanker):
    """Cross entropy of which of two documents is better, by a network.

    min over f of Σ ln(1 + e^{−sigma (s_i − s_j)}) over pairs of a query with label_i > label_j. The derivatives of all
    pairs are added up by document before they go through the network. Needs PyTorch (the extra `neural`) unless
    `layers` is 0.
    """

    source = "Burges et al. 2005; derivatives by document: Burges 2010, § 2.1"
    grid: ClassVar = {"units": (10, 50), "decay": (1e-3, 1e-2)}
    milliseconds = 9
    in_study = True

    def __init__(
        self,
        layers: int = 1,
        units: int = 10,
        activation: str = "tanh",
        standardise: bool | str = "auto",
        sigma: float = 1.0,
        by_query: bool = True,
        use_ties: bool = False,
        rate: float = 0.01,
        decay: float = 1e-3,
        batch: int | None = 32,
        rounds: int = 100,
        patience: int | None = 20,
        measure: str = "MAP",
        convention: str | Convention = "official",
        seed: int = 0,
        verbose: bool = False,
    ) -> None:
        self.layers = layers  # hidden layers; 0 is a linear function
        self.units = units  # of each hidden layer
        self.activation = activation  # of hidden units: tanh or relu
        self.standardise = standardise  # features to mean 0, deviation 1; auto: unless all are within [-1, 1]
        self.sigma = sigma  # how steep the chance to be better is in the difference of scores
        self.by_query = by_query  # every query counts 1, shared by its pairs; else every pair counts 1
        self.use_ties = use_ties  # pairs of equal labels count too, with the chance ½
        self.rate = rate  # how far a step goes
        self.decay = decay  # weight of ½‖weights‖²
        self.batch = batch  # queries a step; None: all of them
        self.rounds = rounds  # passes over the training set, at most
        self.patience = patience  # rounds without a better validation value before training stops; None: never
        self.measure = measure  # what validation looks at
        self.convention = convention  # under which convention
        self.seed = seed  # of the first weights and of batches
        self.verbose = verbose  # show progress

    def _cost(self, data: Dataset, part: int) -> Cost:
        return pair_cost(data, self.sigma, self.by_query, self.use_ties)

    def _check(self) -> None:
        super()._check()
        check_sigma(self.sigma)


def check_sigma(sigma: float) -> None:
    """Raise unless the steepness is a positive number."""
    if not 0 < sigma < np.inf:
        raise ValueError(f"sigma is a number above 0, not {sigma!r}")


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
