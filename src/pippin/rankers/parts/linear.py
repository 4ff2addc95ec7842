"""Rankers whose score is a weighted sum of the features."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from pippin.rankers.base import Features, Ranker


class LinearRanker(Ranker):
    """score(x) = coef_ · x. A ranker that fits `coef_` has everything else here."""

    coef_: NDArray[np.float64]

    def _predict(self, features: Features) -> NDArray[np.float64]:
        return features @ self.coef_

    def _state(self) -> dict[str, Any]:
        return {"weights": dict(zip(self.feature_names_, self.coef_.tolist(), strict=True))}

    def _restore(self, state: dict[str, Any]) -> None:
        self.coef_ = np.array([float(w) for w in state["weights"].values()], np.float64)

    def weights(self) -> dict[str, float]:
        """The weight of each feature, by name."""
        return dict(zip(self.feature_names_, self.coef_.tolist(), strict=True))

    def importance(self) -> dict[str, float]:
        """The size of each weight; comparable where features have one scale."""
        return {name: abs(weight) for name, weight in self.weights().items()}
