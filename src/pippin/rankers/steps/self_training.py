"""Self-training: a ranker learns from few labelled queries, labels others itself, and learns from both."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from pippin.data.dataset import Dataset, concatenate
from pippin.errors import DataError
from pippin.rankers.base import Ranker
from pippin.rankers.parts.narrowing import fitted
from pippin.rankers.parts.parameters import at_least, parameter
from pippin.rankers.parts.weights import weighted
from pippin.rankers.steps.base import register
from pippin.rankers.steps.queries import Plain, lot

F64 = NDArray[np.float64]


@register("self-training")
class SelfTraining(Plain):
    """Learns from n labelled queries, then from these and the others with labels of its own making.

    The other queries' labels are never looked at: their documents are ranked by the ranker learned so far, and get
    labels in that order, each label as often as it is among the labelled documents. They count `weight` where the
    ranker takes weights of queries, and 1 where it does not.
    """

    source = "Yarowsky 1995; for ranking: Duh & Kirchhoff 2008 (semi-supervised)"
    grid: ClassVar = {"weight": (0.1, 0.5)}
    quick_limits: ClassVar = {"rounds": 1}
    takes_weights = False

    n: int = parameter(50, "queries of the training part whose labels are known")
    weight: float = parameter(0.5, "how much a query counts that was labelled by the ranker")
    rounds: int = parameter(2, "how often the others are labelled again")
    seed: int = parameter(1, "of the lot that draws the labelled queries, the same as that of `queries`")

    def _check(self) -> None:
        at_least(self, n=1, rounds=1, seed=0)
        if not 0 < self.weight <= 1:
            raise DataError(f"{self.name}: weight is above 0 and at most 1, not {self.weight}")

    def _fit(self, train: Dataset, valid: Dataset | None, rest: Ranker) -> None:
        order = lot(train, self.seed)
        known, others = (train.select(np.sort(part)) for part in (order[: self.n], order[self.n :]))
        model = fitted(rest, known, valid)
        for _ in range(self.rounds if others.queries else 0):
            both = concatenate([known, labelled_by(model, others, known)])
            counts = np.concatenate((np.ones(known.queries), np.full(others.queries, self.weight)))
            model = fitted(rest, weighted(both, counts) if rest.takes_weights else both, valid)
        self.models_ = [model]


def labelled_by(model: Ranker, others: Dataset, known: Dataset) -> Dataset:
    """Queries with the labels that a model's ranking gives them, each label as often as it is among known ones."""
    scores = model.predict(others)
    labels = np.zeros(len(others), np.int32)
    values, counts = np.unique(known.labels, return_counts=True)
    shares = np.cumsum(counts[::-1]) / counts.sum()
    for start, end in pairwise(others.offsets.tolist()):
        best_first = start + np.argsort(-scores[start:end], kind="stable")
        spots = (np.arange(end - start) + 0.5) / max(1, end - start)
        labels[best_first] = values[::-1][np.minimum(np.searchsorted(shares, spots), len(values) - 1)]
    return replace(others, labels=labels, lines=None)
