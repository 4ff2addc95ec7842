"""XE-NDCG: boosted trees with a listwise cross entropy that bounds NDCG."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from pippin.data.dataset import Dataset
from pippin.errors import DataError
from pippin.rankers.base import register
from pippin.rankers.boosting import LEAF_RULE, BoostedRanker, Gradient, require_comparable_queries
from pippin.rankers.parameters import parameter

F64 = NDArray[np.float64]


@register("xendcg")
class XENDCG(BoostedRanker):
    """Boosted trees that optimise a smooth bound of NDCG over the whole list.

    Trees are fitted to the cross entropy of φ_i ∝ 2^label_i - γ_i and ρ = softmax(scores) within a query, with γ
    sampled from [0, 1) for every document in every round (Bruch 2019, section 3). With `gradient_terms` 1 the gradient
    is ρ - φ; 2 and 3 add the next terms of its expansion, as in LightGBM. Second derivative: ρ (1 - ρ). Queries whose
    documents all have the same label are used: their φ is uniform on average.
    """

    source = "Bruch 2019 (An Alternative Cross Entropy Loss for Learning-to-Rank)"
    grid: ClassVar = {"num_leaves": (None, 31), "learning_rate": (0.05, 0.1)}
    has_small_trees = False

    num_leaves: int | None = parameter(None, f"maximum number of leaves per tree; None: {LEAF_RULE}")
    learning_rate: float | None = parameter(0.05, BoostedRanker.parameters["learning_rate"].meaning)
    n_bags: int = parameter(1, "ensembles with different random choices, whose scores are averaged")
    gradient_terms: int = parameter(3, "terms of the expansion of the gradient, 1 to 3")
    drop_constant_queries: bool = parameter(False, "ignore queries whose documents all have the same label")
    seed: int = parameter(1, "seed of γ and of bagging")

    def _check(self) -> None:
        super()._check()
        if self.gradient_terms not in (1, 2, 3):
            raise DataError(f"{self.name}: gradient_terms must be 1, 2 or 3, got {self.gradient_terms}")

    def _fit(self, train: Dataset, valid: Dataset | None) -> None:
        comparable = require_comparable_queries(train, self.name)  # also raises if no query is comparable
        self._grow(train.select(comparable) if self.drop_constant_queries else train, valid)

    def _gradient(self, train: Dataset) -> Gradient:
        entropy = CrossEntropy(train, self.gradient_terms)

        def gradient(scores: F64, round_: int, bag: int) -> tuple[F64, F64]:
            draws = np.random.Generator(np.random.Philox(key=[self.seed, (bag << 32) + round_]))
            return entropy(scores, draws.random(len(train)))

        return gradient


class CrossEntropy:
    """Gradient and second derivative of the cross entropy at scores, with samples γ."""

    def __init__(self, data: Dataset, order: int = 3) -> None:
        is_filled = np.diff(data.offsets) > 0
        self._starts, self._sizes = data.offsets[:-1][is_filled], np.diff(data.offsets)[is_filled]
        self._worth, self._order = np.exp2(data.labels.astype(np.float64)), order

    def __call__(self, scores: F64, draws: F64) -> tuple[F64, F64]:
        """Return both per document; 0 in queries with one document."""
        exponentials = np.exp(scores - self._spread(np.maximum.reduceat(scores, self._starts)))
        rho = exponentials / self._sums(exponentials)
        phi = self._worth - draws
        phi /= self._sums(phi)
        remainder = np.maximum(1 - rho, 1e-15)  # avoids a division by 0 if one document has all the mass
        gradient = rho - phi
        term = gradient / remainder
        for _ in range(1, self._order):
            step = rho * (self._sums(term) - term)
            gradient = gradient + step
            term = step / remainder
        is_single = self._spread(self._sizes) == 1
        return np.where(is_single, 0.0, gradient), np.where(is_single, 0.0, rho * (1 - rho))

    def _spread(self, by_query: NDArray[np.float64] | NDArray[np.int64]) -> NDArray[np.float64]:
        spread: NDArray[np.float64] = np.repeat(by_query, self._sizes)
        return spread

    def _sums(self, values: F64) -> F64:
        """Return the sum over each document's query, per document."""
        return self._spread(np.add.reduceat(values, self._starts))
