"""LambdaMART: boosted trees that follow λ, the change of a ranking measure if two documents swapped places."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from pippin.data.dataset import Dataset
from pippin.errors import ConventionError
from pippin.rankers.base import register
from pippin.rankers.parts.lambdas import Lambdas
from pippin.rankers.parts.parameters import above_zero, at_least, one_of, parameter
from pippin.rankers.parts.preferred import PreferredLambdas, preferences_of
from pippin.rankers.parts.trees import MANY, BoostedRanker, Gradient, unlike_queries

F64 = NDArray[np.float64]


@register("lambdamart")
class LambdaMART(BoostedRanker):
    """Boosted trees that follow any measure under any convention.

    Trees are fitted to λ_i = Σ_j ± sigma |Δ_ij| ρ_ij, with Newton leaves Σλ / Σ∂λ. Δ_ij is the change of `measure`
    under `convention` if documents i and j swapped places: exact with `depth` None; by default as if the measure were
    cut at rank 30 at least, because λ of a high cutoff sees too few pairs.
    """

    takes_preferences = True
    source = "Wu, Burges, Svore & Gao 2010; Burges 2010"
    grid: ClassVar = {"leaves": (None, 4, 31)}
    in_study = True

    leaves: int | None = parameter(None, BoostedRanker.parameters["leaves"].meaning)
    row_fraction: float | None = parameter(None, BoostedRanker.parameters["row_fraction"].meaning)
    feature_fraction: float | None = parameter(None, BoostedRanker.parameters["feature_fraction"].meaning)
    learning_rate: float | None = parameter(None, BoostedRanker.parameters["learning_rate"].meaning)
    min_leaf: int = parameter(20, "documents in a leaf at least, weighed by their second derivative")
    sigma: float = parameter(1.0, "steepness of the pairs' logistic")
    beyond: str = parameter("zero", 'what a rank beyond the cutoff of NDCG counts in λ: "zero", or "keep" its discount')
    depth: int | None = parameter(
        30, "ranks that λ looks at at least, though the measure is cut above; None: as it is cut"
    )
    normalise: bool = parameter(
        True,
        "scales a query's λ by log2(1 + S) / S, S the sum of their sizes, so that long queries weigh no more",
    )
    damp: bool | None = parameter(
        None,
        "divides what a swap changes by 0.01 + the distance of the two scores, so that far pairs weigh little; "
        f"None: from {MANY:,} documents on",
    )
    drop_constant: bool = parameter(True, "leaves queries out whose documents all have one label")
    measure: str = parameter("NDCG@10", "what λ follows and the validation set is judged by")

    def _check(self) -> None:
        super()._check()
        above_zero(self, "sigma")
        one_of(self, beyond=("zero", "keep"))
        at_least(self, depth=1)

    def _fit(self, train: Dataset, valid: Dataset | None) -> None:
        pairs = preferences_of(train)
        if pairs is not None:
            train = train.select(np.unique(train.qid()[pairs.better]))
        elif self.drop_constant:
            train = train.select(unlike_queries(train, self.name))
        self._grow(train, valid)

    def _settled(self, train: Dataset) -> dict[str, Any]:
        sized = super()._settled(train)  # but damp looks at labels, which pairs have not
        return sized if preferences_of(train) is None else {**sized, "damp": False}

    def _gradient(self, train: Dataset) -> Gradient:
        damp = {"damp": self.damp, **self._settled(train)}["damp"]
        lambdas = Lambdas(
            train, self.measure, self.convention, sigma=self.sigma, beyond=self.beyond, depth=self.depth,
            normalise=self.normalise, damp=damp,
        )  # fmt: skip
        pairs = preferences_of(train)
        if pairs is None:
            return lambda scores, round_, bag: lambdas(scores)
        if self.damp:
            raise ConventionError("lambdamart: damp looks at labels, and there are pairs to learn from; leave it off")
        each = [PreferredLambdas(train, pairs, lambdas, self.normalise) for _ in range(self.bags)]
        return lambda scores, round_, bag: each[bag](scores)
