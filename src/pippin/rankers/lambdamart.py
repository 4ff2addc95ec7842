"""LambdaMART: boosted trees that follow λ, the change of a ranking measure if two documents swapped places."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from pippin.data.dataset import Dataset
from pippin.evaluation.convention import Convention
from pippin.rankers.base import register
from pippin.rankers.parts.lambdas import Lambdas
from pippin.rankers.parts.trees import BoostedRanker, Objective, unlike_queries

F64 = NDArray[np.float64]


@register("lambdamart")
class LambdaMART(BoostedRanker):
    """Trees fitted to λ_i = Σ_j ± sigma |Δ_ij| ρ_ij, with Newton leaves Σλ / Σ∂λ, for any measure and convention.

    Δ_ij is the change of `measure` under `convention` if documents i and j swapped places: exact with `depth` None;
    by default as if the measure were cut at rank 30 at least, because λ of a high cutoff sees too few pairs.
    """

    source = "Wu, Burges, Svore & Gao 2010; Burges 2010"
    grid: ClassVar = {
        "depth": (None, 30), "min_leaf": (1,), "row_fraction": (0.3,), "feature_fraction": (0.3,), "bags": (10,),
    }  # fmt: skip
    in_study = True

    def __init__(
        self,
        rounds: int = 1000,
        leaves: int = 10,
        learning_rate: float = 0.05,
        min_leaf: int = 20,
        l2: float = 0.0,
        bins: int = 255,
        row_fraction: float = 1.0,
        feature_fraction: float = 1.0,
        bags: int = 1,
        sigma: float = 1.0,
        beyond: str = "zero",
        depth: int | None = 30,
        drop_constant: bool = True,
        patience: int | None = 100,
        measure: str = "NDCG@10",
        convention: str | Convention = "official",
        seed: int = 1,
        verbose: bool = False,
    ) -> None:
        self.rounds = rounds  # trees at most
        self.leaves = leaves  # leaves of a tree at most
        self.learning_rate = learning_rate  # what each tree's values are multiplied by
        self.min_leaf = min_leaf  # documents in a leaf at least, weighed by their second derivative
        self.l2 = l2  # added to the second derivative a leaf's value is divided by
        self.bins = bins  # thresholds tried per feature at most
        self.row_fraction = row_fraction  # share of the documents each tree sees (but 500 of them at least)
        self.feature_fraction = feature_fraction  # share of the features each tree sees (but 10 at least)
        self.bags = bags  # ensembles grown side by side with other random shares; scores are averaged
        self.sigma = sigma  # steepness of the pairs' logistic
        self.beyond = beyond  # what a rank beyond the cutoff of NDCG counts in λ: "zero", or "keep" its discount
        self.depth = depth  # ranks that λ looks at at least, though the measure is cut above; None: as it is cut
        self.drop_constant = drop_constant  # leaves queries out whose documents all have one label
        self.patience = patience  # rounds without a better validation value before the end
        self.measure = measure  # what λ follows and the validation set is judged by
        self.convention = convention  # the convention of that measure
        self.seed = seed  # of the random shares
        self.verbose = verbose  # shows progress

    def _fit(self, train: Dataset, valid: Dataset | None) -> None:
        if self.drop_constant:
            train = train.select(unlike_queries(train, self.name))
        self._grow(train, valid)

    def _objective(self, train: Dataset) -> Objective:
        lambdas = Lambdas(train, self.measure, self.convention, sigma=self.sigma, beyond=self.beyond, depth=self.depth)
        return lambda scores, round_, bag: lambdas(scores)
