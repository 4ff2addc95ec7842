"""LambdaRank: RankNet whose pairs weigh as much as the measure would change if the two documents swapped places."""

from __future__ import annotations

from typing import ClassVar

from pippin.data.dataset import Dataset
from pippin.rankers.base import register
from pippin.rankers.parts.lambdas import Lambdas
from pippin.rankers.parts.network import F64, Cost, NetworkRanker
from pippin.rankers.parts.parameters import above_zero, at_least, parameter
from pippin.rankers.ranknet import pair_cost


@register("lambdarank")
class LambdaRank(NetworkRanker):
    """A network driven by forces between documents that follow a measure.

    λ_ij = −sigma |Δ_ij| / (1 + e^{sigma (s_i − s_j)}) for label_i > label_j, where Δ_ij is the change of `measure` if i
    and j swapped places; no loss is written down. The first rounds are RankNet's, because among equal scores places
    mean nothing.
    """

    source = "Burges, Ragno & Le 2006; Burges 2010, §§ 4 - 5"
    grid: ClassVar = {"units": (10, 50), "decay": (1e-3, 1e-2)}
    milliseconds = 25

    layers: int = parameter(1, "hidden layers; 0 is a linear function")
    units: int = parameter(10, "of each hidden layer")
    sigma: float = parameter(1.0, "how steep the forces are in the difference of scores")
    warm: int = parameter(5, "first rounds that are RankNet's")
    rate: float = parameter(0.01, "how far a step goes")
    decay: float = parameter(0.001, "weight of ½‖weights‖²")
    batch: int | None = parameter(32, "queries a step; None: all of them")
    rounds: int = parameter(100, "passes over the training set, at most")
    patience: int | None = parameter(20, "rounds without a better validation value before training stops; None: never")
    measure: str = parameter("NDCG@10", "what the forces follow and what validation looks at")
    seed: int = parameter(0, "of the first weights and of batches")

    def _cost(self, data: Dataset, part: int) -> Cost:
        pull = Lambdas(data, self.measure, self.convention, sigma=self.sigma)
        first = pair_cost(data, self.sigma)

        def gradient(scores: F64, done: int) -> F64:
            return first(scores, done) if done < self.warm else pull(scores)[0]

        return gradient

    def _check(self) -> None:
        super()._check()
        above_zero(self, "sigma")
        at_least(self, warm=0)
