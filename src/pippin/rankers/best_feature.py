"""The best single feature: a baseline for learned rankers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pippin.data.dataset import Dataset
from pippin.errors import DataError, UnknownName
from pippin.evaluation.convention import Convention
from pippin.evaluation.objective import Objective
from pippin.models.model import LinearModel, Model
from pippin.rankers.base import Features, Ranker, feature_index, read_number, read_sign, register
from pippin.rankers.parameters import one_of, parameter
from pippin.rankers.training_data import query_weights, weighted_mean


@register("best-feature")
class BestFeature(Ranker):
    """Ranks by the single feature and direction with the best training measure.

    argmax over (feature, direction) of the mean of `measure`; the first if tied. NULL ranks below every value.
    """

    source = "Busa-Fekete et al. 2012, §4.1"
    allow_nan = True
    supports_sample_weight = True
    cost_ms = 80

    measure: str = parameter("NDCG@10", "measure that selects the feature")
    convention: str | Convention = parameter("official", "convention of the measure")
    feature: str | None = parameter(None, "name of the feature; None: the best one")
    directions: str = parameter("both", '"both" or "descending"')

    def _check(self) -> None:
        one_of(self, directions=("both", "descending"))

    def _fit(self, train: Dataset, valid: Dataset | None) -> None:
        judge, weights = Objective(train, self.measure, self.convention), query_weights(train)
        best = (-np.inf, 0, 1)
        signs = (1, -1) if self.directions == "both" else (1,)
        for feature in self._features(train):
            for sign in signs:
                scores = signed_scores(train.features[:, feature], sign)
                value = judge.mean(scores) if weights is None else weighted_mean(judge.values(scores), weights)
                if value > best[0]:
                    best = (value, feature, sign)
        if best[0] == -np.inf:
            raise DataError(f"{self.measure} is undefined for every query of the training set under this convention")
        self.value_, self.feature_, self.sign_ = best

    def _features(self, train: Dataset) -> Sequence[int]:
        """Return the positions of the candidate features."""
        if self.feature is None:
            return range(train.features.shape[1])
        if self.feature not in train.feature_names:
            raise UnknownName("feature", self.feature, train.feature_names)
        return [train.feature_names.index(self.feature)]

    def _predict(self, features: Features) -> NDArray[np.float64]:
        return signed_scores(features[:, self.feature_], self.sign_)

    def _to_model(self) -> Model:
        weights = np.zeros(len(self.feature_names_))
        weights[self.feature_] = self.sign_
        return LinearModel(self.feature_names_, weights)

    def _state(self) -> dict[str, Any]:
        return {"feature": self.feature_names_[self.feature_], "sign": self.sign_, "value": self.value_}

    def _restore(self, state: dict[str, Any]) -> None:
        self.feature_, self.sign_ = feature_index(state["feature"], self.feature_names_), read_sign(state["sign"])
        self.value_ = read_number(state["value"])

    def importance(self) -> dict[str, float]:
        """1 for the one feature."""
        return {name: float(i == self.feature_) for i, name in enumerate(self.feature_names_)}


def signed_scores(column: NDArray[np.floating[Any]], sign: int) -> NDArray[np.float64]:
    """Return a feature times its sign as scores, with NULL below every value.

    >>> signed_scores(np.array([2.0, np.nan, 1.0]), -1).tolist()
    [-2.0, -3.0, -1.0]
    """
    scores = np.ascontiguousarray(sign * column, np.float64)
    missing = np.isnan(scores)
    if missing.any():
        scores[missing] = (np.nanmin(scores) - 1.0) if not missing.all() else 0.0
    return scores
