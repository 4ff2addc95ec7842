"""XE-NDCG: boosted trees that follow a listwise cross entropy, a convex bound on NDCG."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from pippin.data.dataset import Dataset
from pippin.errors import DataError
from pippin.rankers.base import register
from pippin.rankers.parts.parameters import parameter
from pippin.rankers.parts.trees import BoostedRanker, Gradient, unlike_queries

F64 = NDArray[np.float64]


@register("xendcg")
class XENDCG(BoostedRanker):
    """Boosted trees that follow a smooth bound of NDCG over the whole list.

    Trees are fitted to the cross entropy of φ_i ∝ 2^label_i - γ_i and ρ = softmax(scores) within a query. γ is drawn
    anew from [0, 1) for every document in every round. `order` 1 takes the gradient ρ - φ; 2 and 3 add the following
    terms of its expansion, as LightGBM does. Second derivative: ρ (1 - ρ). A query whose documents all have one label
    takes part: on average its φ is level, so that it pulls scores together where nothing is relevant.
    """

    source = "Bruch 2019 (An Alternative Cross Entropy Loss for Learning-to-Rank)"
    grid: ClassVar = {"learning_rate": (0.05, 0.1)}

    learning_rate: float | None = parameter(0.05, BoostedRanker.parameters["learning_rate"].meaning)
    bags: int = parameter(1, "ensembles grown side by side with other random choices; scores are averaged")
    order: int = parameter(3, "terms of the gradient, 1 to 3")
    drop_constant: bool = parameter(False, "leaves queries out whose documents all have one label")
    seed: int = parameter(1, "of γ and of the random shares")

    def _check(self) -> None:
        super()._check()
        if self.order not in (1, 2, 3):
            raise DataError(f"{self.name}: order is 1, 2 or 3, not {self.order}")

    def _fit(self, train: Dataset, valid: Dataset | None) -> None:
        kept = unlike_queries(train, self.name)  # refuses a set with no order to learn, dropped or not
        self._grow(train.select(kept) if self.drop_constant else train, valid)

    def _gradient(self, train: Dataset) -> Gradient:
        entropy = CrossEntropy(train, self.order)

        def gradient(scores: F64, round_: int, bag: int) -> tuple[F64, F64]:
            draws = np.random.Generator(np.random.Philox(key=[self.seed, (bag << 32) + round_]))
            return entropy(scores, draws.random(len(train)))

        return gradient


class CrossEntropy:
    """Gradient and second derivative of the cross entropy at given scores and draws γ."""

    def __init__(self, data: Dataset, order: int = 3) -> None:
        filled = np.diff(data.offsets) > 0
        self._starts, self._sizes = data.offsets[:-1][filled], np.diff(data.offsets)[filled]
        self._worth, self._order = np.exp2(data.labels.astype(np.float64)), order

    def __call__(self, scores: F64, draws: F64) -> tuple[F64, F64]:
        """Both, per document; zero in a query of one document."""
        exponentials = np.exp(scores - self._spread(np.maximum.reduceat(scores, self._starts)))
        rho = exponentials / self._sums(exponentials)
        phi = self._worth - draws
        phi /= self._sums(phi)
        rest = np.maximum(1 - rho, 1e-15)  # never divides by 0 where one document has all the mass
        gradient = rho - phi
        term = gradient / rest
        for _ in range(1, self._order):
            step = rho * (self._sums(term) - term)
            gradient = gradient + step
            term = step / rest
        alone = self._spread(self._sizes) == 1
        return np.where(alone, 0.0, gradient), np.where(alone, 0.0, rho * (1 - rho))

    def _spread(self, by_query: NDArray[np.float64] | NDArray[np.int64]) -> NDArray[np.float64]:
        spread: NDArray[np.float64] = np.repeat(by_query, self._sizes)
        return spread

    def _sums(self, values: F64) -> F64:
        """The sum over each document's query."""
        return self._spread(np.add.reduceat(values, self._starts))
