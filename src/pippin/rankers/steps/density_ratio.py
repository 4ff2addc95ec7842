"""Density ratio: another data set's queries count as much as they look like one's own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from pippin.data.dataset import Dataset
from pippin.errors import DataError
from pippin.forms.form import Form
from pippin.rankers.base import Features, Ranker
from pippin.rankers.parts.narrowing import fitted
from pippin.rankers.parts.parameters import above_zero, parameter
from pippin.rankers.parts.weights import weighted
from pippin.rankers.steps.base import register
from pippin.rankers.steps.borrowing import Borrowing, both, in_features_of, need_weights

F64 = NDArray[np.float64]
I64 = NDArray[np.int64]
_LIMIT = 100.0  # a query of the source counts at most so much, and at least one over it


@register("density-ratio")
class DensityRatio(Borrowing):
    """Trains on both data sets; a query of the other counts as much as its documents could be of one's own.

    A logistic regression tells documents of the two apart; p / (1 − p), times the ratio of their numbers, is the
    ratio of densities at a document, and a query's weight its geometric mean over the documents, times `share`.
    """

    source = "Sugiyama et al. 2008; for ranking: Gao, Cai, Wong & Zhou 2010 (instance weighting)"
    grid: ClassVar = {"share": (0.1, 1.0)}
    quick_grid: ClassVar = {"share": (0.5,)}

    share: float = parameter(0.5, "what all weights of the other data set's queries are multiplied by")
    ridge: float = parameter(1.0, "price on the weights that tell the two apart")

    def _check(self) -> None:
        super()._check()
        above_zero(self, "share", "ridge")

    def _fit(self, train: Dataset, valid: Dataset | None, rest: Ranker) -> None:
        need_weights(self, rest)
        source = in_features_of(self._source(), train, self.names)
        ratios = density_ratios(np.asarray(train.features, np.float64), np.asarray(source.features), self.ridge)
        means = np.bincount(source.qid(), np.log(ratios), source.queries) / np.maximum(1, np.diff(source.offsets))
        self.weights_ = self.share * np.clip(np.exp(means), 1 / _LIMIT, _LIMIT)
        counts = np.concatenate((np.ones(train.queries), self.weights_))
        self.models_ = [fitted(rest, weighted(both(train, source), counts), valid)]

    def scores(self, features: Features, offsets: I64 | None) -> F64:
        """The rest's own scores."""
        return self.models_[0].scores(features, offsets)

    def _form(self, forms: Sequence[Form]) -> Form:
        return forms[0]


def density_ratios(own: F64, other: F64, ridge: float, rounds: int = 50) -> F64:
    """p(x | own) / p(x | other) at each row of `other`, by a logistic regression that Newton's method fits."""
    mean, scale = own.mean(axis=0), own.std(axis=0)
    scale = np.where(scale > 0, scale, 1.0)
    table = np.column_stack(((np.vstack((own, other)) - mean) / scale, np.ones(len(own) + len(other))))
    target = np.concatenate((np.ones(len(own)), np.zeros(len(other))))
    price = np.full(table.shape[1], ridge)
    price[-1] = 0.0  # the constant is free
    weights = np.zeros(table.shape[1])
    for _ in range(rounds):
        chance = _sigmoid(table @ weights)
        slope = table.T @ (chance - target) + price * weights
        bend = (table * (chance * (1 - chance))[:, None]).T @ table + np.diag(price + 1e-9)
        step = np.linalg.solve(bend, slope)
        weights = weights - step
        if float(np.abs(step).max()) < 1e-8:
            break
    if not np.isfinite(weights).all():
        raise DataError("the two data sets cannot be told apart smoothly; raise ridge")
    chance = _sigmoid(table[len(own) :] @ weights)
    ratios: F64 = chance / np.maximum(1 - chance, 1e-12) * len(other) / len(own)
    return np.maximum(ratios, 1e-12)


def _sigmoid(values: F64) -> F64:
    curve: F64 = 1 / (1 + np.exp(-np.clip(values, -35, 35)))
    return curve
