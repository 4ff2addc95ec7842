"""The best single feature: the baseline that every learned ranker has to beat."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pippin.data.dataset import Dataset
from pippin.errors import DataError, UnknownName
from pippin.evaluation.convention import Convention
from pippin.evaluation.objective import Judge
from pippin.rankers.base import Features, Ranker, register
from pippin.rankers.parts.parameters import one_of, parameter
from pippin.rankers.parts.states import direction, number, place
from pippin.rankers.parts.weights import query_weights, weighted_mean


@register("best-feature")
class BestFeature(Ranker):
    """Ranks by one feature, up or down, chosen by the training measure.

    argmax over (feature, direction) of the mean of `measure`; the first best wins. NULL stands below every value.
    """

    source = "Busa-Fekete et al. 2012, §4.1"
    takes_null = True
    takes_weights = True
    milliseconds = 80

    measure: str = parameter("MAP", "what features are judged by")
    convention: str | Convention = parameter("official", "of that measure")
    feature: str | None = parameter(None, "the feature by its name, where it is not to be chosen")
    directions: str = parameter("both", '"both" or "descending"')

    def _check(self) -> None:
        one_of(self, directions=("both", "descending"))

    def _fit(self, train: Dataset, valid: Dataset | None) -> None:
        judge, weights = Judge(train, self.measure, self.convention), query_weights(train)
        best = (-np.inf, 0, 1)
        signs = (1, -1) if self.directions == "both" else (1,)
        for feature in self._features(train):
            for sign in signs:
                scores = directed(train.features[:, feature], sign)
                value = judge.mean(scores) if weights is None else weighted_mean(judge.values(scores), weights)
                if value > best[0]:
                    best = (value, feature, sign)
        if best[0] == -np.inf:
            raise DataError(f"no query of the training set counts in {self.measure} under this convention")
        self.value_, self.feature_, self.sign_ = best

    def _features(self, train: Dataset) -> Sequence[int]:
        """The features that are looked at, by number."""
        if self.feature is None:
            return range(train.features.shape[1])
        if self.feature not in train.feature_names:
            raise UnknownName("feature", self.feature, train.feature_names)
        return [train.feature_names.index(self.feature)]

    def _predict(self, features: Features) -> NDArray[np.float64]:
        return directed(features[:, self.feature_], self.sign_)

    def _state(self) -> dict[str, Any]:
        return {"feature": self.feature_names_[self.feature_], "sign": self.sign_, "value": self.value_}

    def _restore(self, state: dict[str, Any]) -> None:
        self.feature_, self.sign_ = place(state["feature"], self.feature_names_), direction(state["sign"])
        self.value_ = number(state["value"])

    def importance(self) -> dict[str, float]:
        """1 for the one feature."""
        return {name: float(i == self.feature_) for i, name in enumerate(self.feature_names_)}


def directed(column: NDArray[np.floating[Any]], sign: int) -> NDArray[np.float64]:
    """A feature as a score, up or down, with NULL below every value.

    >>> directed(np.array([2.0, np.nan, 1.0]), -1).tolist()
    [-2.0, -3.0, -1.0]
    """
    scores = np.ascontiguousarray(sign * column, np.float64)
    missing = np.isnan(scores)
    if missing.any():
        scores[missing] = (np.nanmin(scores) - 1.0) if not missing.all() else 0.0
    return scores
