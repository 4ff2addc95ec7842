"""Coordinate ascent: a linear model whose weights are optimised one by one for a measure."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from pippin.data.dataset import Dataset
from pippin.display.terminal import ProgressBar
from pippin.evaluation.convention import Convention
from pippin.evaluation.measures import Measure
from pippin.evaluation.objective import Objective, resolve
from pippin.kernels.measures import NativeObjective
from pippin.kernels.optimisers import ascend, rescore
from pippin.rankers.base import register
from pippin.rankers.linear import LinearRanker
from pippin.rankers.parameters import check_minima, one_of, parameter

F64 = NDArray[np.float64]

BATCH_VALUES = 4_000_000  # documents times features of one native call, between which Ctrl-C is handled


@register("coordinate-ascent")
class CoordinateAscent(LinearRanker):
    """Maximises a measure over the training queries, one weight at a time, from several starts.

    Changing one weight moves the score of a document along a + t x. The line search "grid" tries
    t = ±0.001 · (2^(j+1) − 1), j < line_steps, and w = 0; "exact" evaluates every interval between crossings of two
    documents. Weights are normalised to Σ|w| = 1, and only improvements are accepted. A start ends when a pass gains
    less than `tol`. The weights with the best validation measure (or training measure) of all starts and passes are
    kept. Queries with the same value for every order are ignored.
    """

    source = "Metzler & Croft 2007; schedule as RankLib, random starts as Busa-Fekete et al. 2012"
    small_limits: ClassVar[Mapping[str, int]] = {"n_restarts": 1, "max_iter": 5}
    cost_ms = 3000

    measure: str = parameter("NDCG@10", "measure to maximise")
    convention: str | Convention = parameter("official", "convention of the measure")
    n_restarts: int = parameter(5, "number of starts: one from equal weights, the others from random weights")
    line_steps: int = parameter(25, "steps of the grid in each direction; distances double")
    tol: float = parameter(0.001, "gain of the measure per pass below which a start ends")
    max_iter: int = parameter(100, "maximum number of passes over the features")
    line_search: str = parameter("grid", '"grid", or "exact": every crossing, n² per query')
    init: str = parameter("random", '"random" (Dirichlet), or "uniform": all starts from equal weights, as in RankLib')
    positive: bool = parameter(False, "allow no negative weights")
    seed: int = parameter(1, "seed of the starts and of the order of features")
    verbose: bool = parameter(False, "show progress")

    def _check(self) -> None:
        one_of(self, line_search=("grid", "exact"), init=("random", "uniform"))
        check_minima(self, n_restarts=1, line_steps=1, max_iter=1, seed=0)

    def _fit(self, train: Dataset, valid: Dataset | None) -> None:
        objective = Objective(train, self.measure, self.convention).require_native()
        active = np.flatnonzero(objective.varies())
        if not len(active):
            warnings.warn(
                f"{self.measure} is the same for every ranking of every training query: all weights stay equal",
                stacklevel=2,
            )
            self.coef_ = self._starts(train.features.shape[1])[0]
            self.climbs_: list[list[float]] = []
            return
        climbed = train.select(active)  # copies only these rows
        judge = BestWeights(valid, *resolve(self.measure, self.convention))
        bar = ProgressBar(self.max_iter, self.name) if self.verbose else None
        try:
            self._climb(climbed, judge, bar)
        except KeyboardInterrupt:
            if judge.weights is None:
                raise
            warnings.warn(f"{self.name} was interrupted: the best weights so far are kept", stacklevel=2)
        finally:
            if bar is not None:
                bar.close()
        self.curve_ = judge.curve
        self.coef_ = np.array(judge.weights)

    def _climb(self, climbed: Dataset, judge: BestWeights, bar: ProgressBar | None) -> None:
        """Optimise every start; `climbs_` has each start's training measure before and after each pass."""
        objective = Objective(climbed, self.measure, self.convention).require_native()
        columns = np.ascontiguousarray(climbed.features.T, np.float64)
        queries, features = np.arange(climbed.queries), climbed.features.shape[1]
        batch = max(1, BATCH_VALUES // columns.shape[1])
        weights = self._starts(features)
        scores, totals = rescore(objective, queries, columns, weights)
        self.climbs_ = [[float(total) / len(queries)] for total in totals]
        active, self.ends_ = np.arange(len(weights)), weights.copy()
        # Metzler & Croft 2007: search along one weight after the other, in a random order of features per pass, from
        # several starts; a start ends if a pass improves its training measure by less than `tol`.
        for pass_number in range(self.max_iter):
            orders = np.array([self._order(int(start), pass_number, features) for start in active], np.int32)
            for first in range(0, features, batch):
                totals = ascend(
                    objective, queries, columns, np.ascontiguousarray(orders[:, first : first + batch]), weights,
                    scores, steps=self.line_steps, exact=self.line_search == "exact", nonneg=self.positive,
                )  # fmt: skip
            for i, start in enumerate(active):
                self.climbs_[start].append(float(totals[i]) / len(queries))
            self.ends_[active] = weights
            judge.update(weights, [self.climbs_[start][-1] for start in active])
            improving = [i for i, s in enumerate(active) if self.climbs_[s][-1] - self.climbs_[s][-2] >= self.tol]
            active, weights, scores = active[improving], weights[improving], scores[improving]
            if bar is not None:
                bar.step(f"{self.measure} {judge.value:.4f}")
            if not len(active):
                break

    def _order(self, start: int, number: int, features: int) -> NDArray[np.int64]:
        """Return the order of features in a pass."""
        return np.random.default_rng([self.seed, start, number, 1]).permutation(features)

    def _starts(self, features: int) -> F64:
        """Return the initial weights [start, feature]; each row sums to 1."""
        weights = np.full((self.n_restarts, features), 1.0 / features)
        if self.init == "random":
            for r in range(1, self.n_restarts):
                weights[r] = np.random.default_rng([self.seed, r]).dirichlet(np.ones(features))
        return weights


class BestWeights:
    """Keeps the weights with the best validation (or training) measure; the first if tied.

    Queries with the same value for every order are ignored, so the value of empty queries does not matter.
    """

    def __init__(self, valid: Dataset | None, measure: Measure, convention: Convention) -> None:
        self.valid = valid
        self.objective: NativeObjective | None = None
        if valid is not None:
            self.objective = Objective(valid, measure, convention).require_native()
            self.varies = self.objective.varies()
            if not self.varies.any():
                self.objective = None
        self.value = -np.inf
        self.weights: F64 | None = None
        self.curve: list[float] = []

    def update(self, weights: F64, training: list[float]) -> None:
        """Evaluate the weights of every start after a pass, given their training measures."""
        values = training
        if self.valid is not None and self.objective is not None:
            count = int(self.varies.sum())
            values = [
                float(np.cumsum(self.objective.values(self.valid.features @ weight)[self.varies])[-1]) / count
                for weight in weights
            ]
        for start_weights, value in zip(weights, values, strict=True):
            if value > self.value:
                self.value, self.weights = value, start_weights.copy()
        self.curve.append(max(values))
