"""RankNet: a network trained on pairs of documents."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

import numpy as np

from pippin.data.dataset import Dataset
from pippin.kernels.losses import tied_pairs
from pippin.rankers.base import register
from pippin.rankers.lambdas import Lambdas
from pippin.rankers.networks import F64, Cost, NetworkRanker
from pippin.rankers.parameters import above_zero, one_of, parameter


@register("ranknet")
class RankNet(NetworkRanker):
    """Pairwise cross entropy, with a network.

    min over f of Σ ln(1 + e^{−sigma (s_i − s_j)}) over pairs of a query with label_i > label_j (Burges et al. 2005,
    section 3). Gradients are summed by document before backpropagation (Burges 2010, section 2.1).
    """

    source = "Burges et al. 2005; derivatives by document: Burges 2010, § 2.1"
    grid: ClassVar = {"hidden_units": (10, 50), "weight_decay": (1e-3, 1e-2)}
    cost_ms = 9

    hidden_layers: int = parameter(1, NetworkRanker.parameters["hidden_layers"].meaning)
    hidden_units: int = parameter(10, NetworkRanker.parameters["hidden_units"].meaning)
    sigma: float = parameter(1.0, "steepness of the logistic of score differences")
    pair_weighting: str = parameter(
        "query", '"query": every query has weight 1, divided among its pairs; "pair": every pair has weight 1'
    )
    include_ties: bool = parameter(False, "include pairs of equal labels, with target probability ½")
    learning_rate: float = parameter(0.01, NetworkRanker.parameters["learning_rate"].meaning)
    weight_decay: float = parameter(0.001, NetworkRanker.parameters["weight_decay"].meaning)
    batch_size: int | None = parameter(32, NetworkRanker.parameters["batch_size"].meaning)
    measure: str = parameter("MAP", 'measure for early stopping, or "loss": the cross entropy of the pairs')
    rounds: int = parameter(100, NetworkRanker.parameters["rounds"].meaning)
    early_stopping_rounds: int | None = parameter(20, NetworkRanker.parameters["early_stopping_rounds"].meaning)

    def _cost(self, data: Dataset, part: int) -> Cost:
        return pair_cost(data, self.sigma, self.pair_weighting, self.include_ties)

    def _validation_value(self, valid: Dataset) -> Callable[[F64], float] | None:
        if self.measure != "loss":
            return None
        return lambda scores: -pair_loss(valid, scores, self.sigma, self.pair_weighting)

    def _check(self) -> None:
        super()._check()
        above_zero(self, "sigma")
        one_of(self, pair_weighting=("query", "pair"))


def pair_cost(data: Dataset, sigma: float = 1.0, weighting: str = "query", include_ties: bool = False) -> Cost:
    """Return RankNet's gradient by score, over pairs of different labels and optionally of equal ones."""
    pull = Lambdas(data, None, sigma=sigma)
    counts = pair_counts(data, include_ties)
    shares = 1.0 / np.maximum(counts, 1.0) if weighting == "query" else np.ones(data.queries)
    pull.scales = shares
    if not include_ties:
        return lambda scores, _: pull(scores)[0]
    by_document = np.repeat(shares, np.diff(data.offsets))

    def gradient(scores: F64, _: int) -> F64:
        return pull(scores)[0] + by_document * tied_pairs(scores, data.offsets, data.labels, sigma)[1]

    return gradient


def pair_loss(data: Dataset, scores: F64, sigma: float = 1.0, weighting: str = "query") -> float:
    """Return the cross entropy over pairs of different labels, Σ ln(1 + e^{−sigma (s_i − s_j)}).

    Examples
    --------
    >>> data = Dataset.from_arrays([[0.0], [0.0]], [1, 0], [1, 1])
    >>> round(pair_loss(data, np.array([0.0, 0.0])), 6)  # ln 2
    0.693147
    """
    total = 0.0
    for first, last in zip(data.offsets[:-1].tolist(), data.offsets[1:].tolist(), strict=True):
        labels, part = data.labels[first:last], scores[first:last]
        better, worse = np.nonzero(labels[:, None] > labels[None, :])
        loss = float(np.logaddexp(0.0, -sigma * (part[better] - part[worse])).sum())
        total += loss / max(1, len(better)) if weighting == "query" else loss
    return total


def pair_counts(data: Dataset, with_ties: bool = False) -> F64:
    """Return the number of pairs of each query: of different labels, or all."""
    sizes = np.diff(data.offsets).astype(np.float64)
    counts = sizes * (sizes - 1) / 2
    if with_ties:
        return counts
    queries = data.qid()
    for label in np.unique(data.labels):
        same = np.bincount(queries[data.labels == label], minlength=data.queries)
        counts -= same * (same - 1) / 2
    return counts
