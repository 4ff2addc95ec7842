"""MART: boosted trees that regress on the label of each document."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from pippin.data.dataset import Dataset
from pippin.errors import DataError
from pippin.models.model import TreeEnsemble
from pippin.rankers.base import Features, read_number, register
from pippin.rankers.boosting import BoostedRanker, Gradient
from pippin.rankers.parameters import one_of, parameter
from pippin.rankers.training_data import init_score, row_weights

F64 = NDArray[np.float64]


@register("mart")
class MART(BoostedRanker):
    """Boosted regression trees on the label of each document (pointwise).

    Least squares: trees are fitted to the residuals m(label) - score, starting from the mean of m (Friedman 2001,
    Algorithm 2). The value of a leaf is the mean residual of its documents.
    """

    source = "Friedman 2001"
    grid: ClassVar = {"num_leaves": (None, 31), "label_gain": ("label", "exp2")}

    bagging_fraction: float | None = parameter(None, BoostedRanker.parameters["bagging_fraction"].meaning)
    feature_fraction: float | None = parameter(None, BoostedRanker.parameters["feature_fraction"].meaning)
    min_data_in_leaf: int = parameter(1, "minimum number of documents in a leaf")
    lambda_l2: float = parameter(0.0, "added to the number of documents in the denominator of a leaf's value")
    label_gain: str | tuple[float, ...] = parameter(
        "label", 'm: "label", "exp2" (2^label - 1), or a list with the value of each label'
    )

    def _check(self) -> None:
        super()._check()
        if isinstance(self.label_gain, str):
            one_of(self, label_gain=("label", "exp2"))

    def _fit(self, train: Dataset, valid: Dataset | None) -> None:
        start = init_score(train)
        residuals = self._targets(train) if start is None else self._targets(train) - start
        self.base_ = float(np.average(residuals, weights=row_weights(train)))
        self._grow(train, valid)

    def _targets(self, train: Dataset) -> F64:
        """Return m(label) of each document."""
        if isinstance(self.label_gain, str):
            labels = train.labels.astype(np.float64)
            return np.exp2(labels) - 1 if self.label_gain == "exp2" else labels
        values = np.array(self.label_gain, np.float64)
        if train.labels.max() >= len(values):
            raise DataError(f"{self.name}: label_gain has {len(values)} values, none for label {train.labels.max()}")
        return values[train.labels]

    def _gradient(self, train: Dataset) -> Gradient:
        targets, ones = self._targets(train) - self.base_, np.ones(len(train))
        return lambda scores, round_, bag: (scores - targets, ones)

    def _predict(self, features: Features) -> NDArray[np.float64]:
        return super()._predict(features) + self.base_

    def _to_model(self) -> TreeEnsemble:
        return replace(super()._to_model(), base=self.base_)

    def _state(self) -> dict[str, Any]:
        return {"base": self.base_, **super()._state()}

    def _restore(self, state: dict[str, Any]) -> None:
        self.base_ = read_number(state["base"])
        super()._restore(state)
