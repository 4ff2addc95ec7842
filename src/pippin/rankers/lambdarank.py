"""LambdaRank: a network trained on pairs weighted by the change of a measure if the documents are swapped."""

from __future__ import annotations

from typing import ClassVar

from pippin.data.dataset import Dataset
from pippin.rankers.base import register
from pippin.rankers.lambdas import Lambdas
from pippin.rankers.networks import F64, Cost, NetworkRanker
from pippin.rankers.parameters import above_zero, check_minima, parameter
from pippin.rankers.ranknet import pair_cost


@register("lambdarank")
class LambdaRank(NetworkRanker):
    """A network trained with lambda gradients of a measure.

    λ_ij = −sigma |Δ_ij| / (1 + e^{sigma (s_i − s_j)}) for label_i > label_j, where Δ_ij is the change of `measure` if i
    and j are swapped (Burges 2010, section 4). The first rounds use RankNet's gradient, because ranks of nearly equal
    scores are arbitrary.
    """

    source = "Burges, Ragno & Le 2006; Burges 2010, §§ 4 - 5"
    grid: ClassVar = {"hidden_units": (10, 50), "weight_decay": (1e-3, 1e-2)}
    cost_ms = 25

    hidden_layers: int = parameter(1, NetworkRanker.parameters["hidden_layers"].meaning)
    hidden_units: int = parameter(10, NetworkRanker.parameters["hidden_units"].meaning)
    sigma: float = parameter(1.0, "steepness of the logistic of score differences")
    warmup_rounds: int = parameter(5, "rounds with RankNet's gradient before the measure's")
    learning_rate: float = parameter(0.01, NetworkRanker.parameters["learning_rate"].meaning)
    weight_decay: float = parameter(0.001, NetworkRanker.parameters["weight_decay"].meaning)
    batch_size: int | None = parameter(32, NetworkRanker.parameters["batch_size"].meaning)
    rounds: int = parameter(100, NetworkRanker.parameters["rounds"].meaning)
    early_stopping_rounds: int | None = parameter(20, NetworkRanker.parameters["early_stopping_rounds"].meaning)
    measure: str = parameter("NDCG@10", "measure of λ and of early stopping")

    def _cost(self, data: Dataset, part: int) -> Cost:
        pull = Lambdas(data, self.measure, self.convention, sigma=self.sigma)
        first = pair_cost(data, self.sigma)

        def gradient(scores: F64, done: int) -> F64:
            return first(scores, done) if done < self.warmup_rounds else pull(scores)[0]

        return gradient

    def _check(self) -> None:
        super()._check()
        above_zero(self, "sigma")
        check_minima(self, warmup_rounds=0)
