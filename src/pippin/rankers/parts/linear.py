"""Rankers whose score is a weighted sum of the features."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pippin.rankers.base import Features, Ranker
from pippin.rankers.parts.states import numbers


def by_name(weights: Mapping[str, float], names: Sequence[str]) -> NDArray[np.float64]:
    """The weights of a model file in the order of the features; ValueError unless each has one, and no other has.

    >>> by_name({"b": 2.0, "a": 1.0}, ("a", "b")).tolist()
    [1.0, 2.0]
    """
    if len(weights) != len(names) or any(name not in weights for name in names):
        raise ValueError(f"{len(weights)} weights are not those of the {len(names)} features")
    return numbers([weights[name] for name in names])


class LinearRanker(Ranker):
    """score(x) = coef_ · x. A ranker that fits `coef_` has everything else here."""

    def _predict(self, features: Features) -> NDArray[np.float64]:
        return features @ self.coef_

    def _state(self) -> dict[str, Any]:
        return {"weights": dict(zip(self.feature_names_, self.coef_.tolist(), strict=True))}

    def _restore(self, state: dict[str, Any]) -> None:
        self.coef_ = by_name(state["weights"], self.feature_names_)

    def weights(self) -> dict[str, float]:
        """The weight of each feature, by name."""
        return dict(zip(self.feature_names_, self.coef_.tolist(), strict=True))

    def importance(self) -> dict[str, float]:
        """The size of each weight; comparable where features have one scale."""
        return {name: abs(weight) for name, weight in self.weights().items()}
