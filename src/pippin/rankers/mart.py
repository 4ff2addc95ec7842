"""MART: boosted trees that regress on the label, one document at a time; the pointwise sibling of LambdaMART."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from pippin.data.dataset import Dataset
from pippin.errors import DataError
from pippin.evaluation.convention import Convention
from pippin.rankers.base import Features, register
from pippin.rankers.parts.trees import BoostedRanker, Objective

F64 = NDArray[np.float64]


@register("mart")
class MART(BoostedRanker):
    """Trees fitted to the residuals m(label) - score, so that the score approaches m(label): least squares.

    Starts from the mean of m; the mean residual of its documents is the value of a leaf.
    """

    source = "Friedman 2001"
    grid: ClassVar = {"leaves": (10,), "learning_rate": (0.1,), "targets": ("label", "exp2")}

    def __init__(
        self,
        rounds: int = 1000,
        leaves: int = 10,
        learning_rate: float = 0.1,
        min_leaf: int = 1,
        l2: float = 0.0,
        bins: int = 255,
        row_fraction: float = 1.0,
        feature_fraction: float = 1.0,
        bags: int = 1,
        targets: str | tuple[float, ...] = "label",
        patience: int | None = 100,
        measure: str = "NDCG@10",
        convention: str | Convention = "official",
        seed: int = 1,
        verbose: bool = False,
    ) -> None:
        self.rounds = rounds  # trees at most
        self.leaves = leaves  # leaves of a tree at most
        self.learning_rate = learning_rate  # what each tree's values are multiplied by
        self.min_leaf = min_leaf  # documents in a leaf at least
        self.l2 = l2  # added to the number of documents a leaf's value is divided by
        self.bins = bins  # thresholds tried per feature at most
        self.row_fraction = row_fraction  # share of the documents each tree sees (but 500 of them at least)
        self.feature_fraction = feature_fraction  # share of the features each tree sees (but 10 at least)
        self.bags = bags  # ensembles grown side by side with other random shares; scores are averaged
        self.targets = targets  # m: "label", "exp2" (2^label - 1), or a value for each label
        self.patience = patience  # rounds without a better validation value before the end
        self.measure = measure  # what the validation set is judged by
        self.convention = convention  # the convention of that measure
        self.seed = seed  # of the random shares
        self.verbose = verbose  # shows progress

    def _fit(self, train: Dataset, valid: Dataset | None) -> None:
        self.base_ = float(self._mapped(train).mean())
        self._grow(train, valid)

    def _mapped(self, train: Dataset) -> F64:
        """m(label) of each document."""
        if isinstance(self.targets, str):
            if self.targets == "exp2":
                return np.exp2(train.labels.astype(np.float64)) - 1
            if self.targets == "label":
                return train.labels.astype(np.float64)
            raise DataError(f"{self.name}: targets is label, exp2 or a value for each label, not {self.targets!r}")
        values = np.array(self.targets, np.float64)
        if train.labels.max() >= len(values):
            raise DataError(f"{self.name}: targets has {len(values)} values, none for label {train.labels.max()}")
        return values[train.labels]

    def _objective(self, train: Dataset) -> Objective:
        wanted, ones = self._mapped(train) - self.base_, np.ones(len(train))
        return lambda scores, round_, bag: (scores - wanted, ones)

    def _predict(self, features: Features) -> NDArray[np.float64]:
        return super()._predict(features) + self.base_

    def _state(self) -> dict[str, Any]:
        return {"base": self.base_, **super()._state()}

    def _restore(self, state: dict[str, Any]) -> None:
        self.base_ = float(state["base"])
        super()._restore(state)
