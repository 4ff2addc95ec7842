"""LambdaMART: boosted trees fitted to lambda gradients of a ranking measure."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from pippin.data.dataset import Dataset
from pippin.errors import ConventionError
from pippin.rankers.base import register
from pippin.rankers.boosting import MANY, BoostedRanker, Gradient, require_comparable_queries
from pippin.rankers.lambdas import Lambdas, PreferredLambdas
from pippin.rankers.parameters import above_zero, check_minima, one_of, parameter
from pippin.rankers.training_data import preferences_of

F64 = NDArray[np.float64]


@register("lambdamart")
class LambdaMART(BoostedRanker):
    """Boosted trees that optimise any measure under any convention.

    Trees are fitted to λ_i = Σ_j ± sigma |Δ_ij| ρ_ij (Burges 2010, section 7), with Newton leaves Σλ / Σ∂λ. Δ_ij is
    the change of `measure` under `convention` if documents i and j are swapped. The cutoff of the measure is raised to
    `truncation_level`, because a low cutoff leaves few pairs with a gradient.
    """

    supports_preferences = True
    source = "Wu, Burges, Svore & Gao 2010; Burges 2010"
    grid: ClassVar = {"num_leaves": (None, 4, 31)}

    bagging_fraction: float | None = parameter(None, BoostedRanker.parameters["bagging_fraction"].meaning)
    feature_fraction: float | None = parameter(None, BoostedRanker.parameters["feature_fraction"].meaning)
    learning_rate: float | None = parameter(None, BoostedRanker.parameters["learning_rate"].meaning)
    min_data_in_leaf: int = parameter(20, "minimum number of documents in a leaf, estimated from second derivatives")
    sigma: float = parameter(1.0, "steepness of the logistic of score differences")
    beyond_cutoff: str = parameter("zero", 'discount of ranks beyond the cutoff of NDCG in λ: "zero", or "keep"')
    truncation_level: int | None = parameter(30, "minimum cutoff of the measure in λ; None: the cutoff of the measure")
    lambda_norm: bool = parameter(
        True,
        "scale the λ of a query by log2(1 + S) / S, S their absolute sum, so that long queries do not dominate",
    )
    damp_close_scores: bool | None = parameter(
        None,
        "divide |Δ| by 0.01 + the difference of the two scores, which reduces the weight of distant pairs; "
        f"None: True for {MANY:,} documents or more",
    )
    drop_constant_queries: bool = parameter(True, "ignore queries whose documents all have the same label")
    measure: str = parameter("NDCG@10", "measure of λ and of early stopping")

    def _check(self) -> None:
        super()._check()
        above_zero(self, "sigma")
        one_of(self, beyond_cutoff=("zero", "keep"))
        check_minima(self, truncation_level=1)

    def _fit(self, train: Dataset, valid: Dataset | None) -> None:
        pairs = preferences_of(train)
        if pairs is not None:
            train = train.select(np.unique(train.qid()[pairs.better]))
        elif self.drop_constant_queries:
            train = train.select(require_comparable_queries(train, self.name))
        self._grow(train, valid)

    def _resolve_defaults(self, train: Dataset) -> dict[str, Any]:
        resolved = super()._resolve_defaults(train)
        # Damping compares labels, which preference pairs do not have.
        return resolved if preferences_of(train) is None else {**resolved, "damp_close_scores": False}

    def _gradient(self, train: Dataset) -> Gradient:
        damp = {"damp_close_scores": self.damp_close_scores, **self._resolve_defaults(train)}["damp_close_scores"]
        lambdas = Lambdas(
            train, self.measure, self.convention, sigma=self.sigma, beyond_cutoff=self.beyond_cutoff,
            truncation_level=self.truncation_level, lambda_norm=self.lambda_norm, damp_close_scores=damp,
        )  # fmt: skip
        pairs = preferences_of(train)
        if pairs is None:
            return lambda scores, round_, bag: lambdas(scores)
        if self.damp_close_scores:
            raise ConventionError("lambdamart: damp_close_scores needs labels and cannot be used with preference pairs")
        each = [PreferredLambdas(train, pairs, lambdas, self.lambda_norm) for _ in range(self.n_bags)]
        return lambda scores, round_, bag: each[bag](scores)
