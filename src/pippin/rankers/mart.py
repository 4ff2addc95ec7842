"""MART: boosted trees that regress on the label, one document at a time; the pointwise sibling of LambdaMART."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from pippin.data.dataset import Dataset
from pippin.errors import DataError
from pippin.rankers.base import Features, register
from pippin.rankers.parts.parameters import one_of, parameter
from pippin.rankers.parts.starts import start_of
from pippin.rankers.parts.states import number
from pippin.rankers.parts.trees import BoostedRanker, Gradient
from pippin.rankers.parts.weights import row_weights

F64 = NDArray[np.float64]


@register("mart")
class MART(BoostedRanker):
    """Boosted trees that predict the label itself, document by document.

    Trees are fitted to the residuals m(label) - score, so that the score approaches m(label): least squares. Starts
    from the mean of m; the mean residual of its documents is the value of a leaf.
    """

    source = "Friedman 2001"
    grid: ClassVar = {"targets": ("label", "exp2")}

    leaves: int | None = parameter(None, BoostedRanker.parameters["leaves"].meaning)
    row_fraction: float | None = parameter(None, BoostedRanker.parameters["row_fraction"].meaning)
    feature_fraction: float | None = parameter(None, BoostedRanker.parameters["feature_fraction"].meaning)
    min_leaf: int = parameter(1, "documents in a leaf at least")
    l2: float = parameter(0.0, "added to the number of documents a leaf's value is divided by")
    targets: str | tuple[float, ...] = parameter("label", 'm: "label", "exp2" (2^label - 1), or a value for each label')

    def _check(self) -> None:
        super()._check()
        if isinstance(self.targets, str):
            one_of(self, targets=("label", "exp2"))

    def _fit(self, train: Dataset, valid: Dataset | None) -> None:
        start = start_of(train)
        left = self._mapped(train) if start is None else self._mapped(train) - start
        self.base_ = float(np.average(left, weights=row_weights(train)))
        self._grow(train, valid)

    def _mapped(self, train: Dataset) -> F64:
        """m(label) of each document."""
        if isinstance(self.targets, str):
            labels = train.labels.astype(np.float64)
            return np.exp2(labels) - 1 if self.targets == "exp2" else labels
        values = np.array(self.targets, np.float64)
        if train.labels.max() >= len(values):
            raise DataError(f"{self.name}: targets has {len(values)} values, none for label {train.labels.max()}")
        return values[train.labels]

    def _gradient(self, train: Dataset) -> Gradient:
        wanted, ones = self._mapped(train) - self.base_, np.ones(len(train))
        return lambda scores, round_, bag: (scores - wanted, ones)

    def _predict(self, features: Features) -> NDArray[np.float64]:
        return super()._predict(features) + self.base_

    def _state(self) -> dict[str, Any]:
        return {"base": self.base_, **super()._state()}

    def _restore(self, state: dict[str, Any]) -> None:
        self.base_ = number(state["base"])
        super()._restore(state)
