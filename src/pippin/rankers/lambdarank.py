"""LambdaRank: RankNet whose pairs weigh as much as the measure would change if the two documents swapped places."""

from __future__ import annotations

from typing import ClassVar

from pippin.data.dataset import Dataset
from pippin.evaluation.convention import Convention
from pippin.rankers.base import register
from pippin.rankers.parts.lambdas import Lambdas
from pippin.rankers.parts.network import F64, Cost, NetworkRanker
from pippin.rankers.ranknet import check_sigma, pair_cost


@register("lambdarank")
class LambdaRank(NetworkRanker):
    """A network driven by forces between documents that follow a measure.

    λ_ij = −sigma |Δ_ij| / (1 + e^{sigma (s_i − s_j)}) for label_i > label_j, where Δ_ij is the change of `measure` if i
    and j swapped places; no loss is written down. The first rounds are RankNet's, because among equal scores places
    mean nothing. Needs PyTorch (the extra `neural`) unless `layers` is 0.
    """

    source = "Burges, Ragno & Le 2006; Burges 2010, §§ 4 - 5"
    grid: ClassVar = {"units": (10, 50), "decay": (1e-3, 1e-2)}
    milliseconds = 25

    def __init__(
        self,
        layers: int = 1,
        units: int = 10,
        activation: str = "tanh",
        standardise: bool | str = "auto",
        sigma: float = 1.0,
        warm: int = 5,
        rate: float = 0.01,
        decay: float = 1e-3,
        batch: int | None = 32,
        rounds: int = 100,
        patience: int | None = 20,
        measure: str = "NDCG@10",
        convention: str | Convention = "official",
        seed: int = 0,
        verbose: bool = False,
    ) -> None:
        self.layers = layers  # hidden layers; 0 is a linear function
        self.units = units  # of each hidden layer
        self.activation = activation  # of hidden units: tanh or relu
        self.standardise = standardise  # features to mean 0, deviation 1; auto: unless all are within [-1, 1]
        self.sigma = sigma  # how steep the forces are in the difference of scores
        self.warm = warm  # first rounds that are RankNet's
        self.rate = rate  # how far a step goes
        self.decay = decay  # weight of ½‖weights‖²
        self.batch = batch  # queries a step; None: all of them
        self.rounds = rounds  # passes over the training set, at most
        self.patience = patience  # rounds without a better validation value before training stops; None: never
        self.measure = measure  # what the forces follow and what validation looks at
        self.convention = convention  # under which convention
        self.seed = seed  # of the first weights and of batches
        self.verbose = verbose  # show progress

    def _cost(self, data: Dataset, part: int) -> Cost:
        pull = Lambdas(data, self.measure, self.convention, sigma=self.sigma)
        first = pair_cost(data, self.sigma)

        def gradient(scores: F64, done: int) -> F64:
            return first(scores, done) if done < self.warm else pull(scores)[0]

        return gradient

    def _check(self) -> None:
        super()._check()
        check_sigma(self.sigma)
        if not isinstance(self.warm, int) or self.warm < 0:
            raise ValueError(f"warm is a whole number, at least 0, not {self.warm!r}")
