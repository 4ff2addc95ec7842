"""Coordinate ascent: a linear score whose weights are searched one by one for the best value of a measure."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from pippin.data.dataset import Dataset
from pippin.evaluation.convention import Convention
from pippin.evaluation.measures import Measure
from pippin.evaluation.objective import Objective, resolve
from pippin.kernels.coordinate import ascend, rescore
from pippin.kernels.objective import NativeObjective
from pippin.progress import Bar
from pippin.rankers.base import register
from pippin.rankers.parts.linear import LinearRanker
from pippin.rankers.parts.parameters import at_least, one_of, parameter

F64 = NDArray[np.float64]

AT_ONCE = 4_000_000  # documents times features of one native call, so that Ctrl-C is heard in between


@register("coordinate-ascent")
class CoordinateAscent(LinearRanker):
    """Maximises the mean of a measure over the training queries, one weight at a time, from several starts.

    Along a weight the score of a document moves as a + t x. "grid" tries t = ±0.001 · (2^(j+1) − 1), j < steps, and
    w = 0; "exact" looks at every stretch between crossings of two documents. Σ|w| = 1 after every step; only steps that
    raise the measure are taken. Passes go on until one gains less than `tolerance`. Of all starts after all passes,
    the best on the validation set (or on the training set without one) wins. Queries whose value no order can change
    take no part.
    """

    source = "Metzler & Croft 2007; schedule as RankLib, random starts as Busa-Fekete et al. 2012"
    quick_limits: ClassVar[Mapping[str, int]] = {"restarts": 1, "passes": 5}
    milliseconds = 3000
    in_study = True

    measure: str = parameter("MAP", "what is maximised: any measure that is worked out query by query")
    convention: str | Convention = parameter("official", "of that measure")
    restarts: int = parameter(5, "starts: the first from equal weights, the others from random ones")
    steps: int = parameter(25, "of the grid in each direction; distances double")
    tolerance: float = parameter(
        0.001, "gain of the mean in one pass over all features below which a start has arrived"
    )
    passes: int = parameter(100, "over all features, at most")
    line: str = parameter("grid", '"grid" or "exact" (every crossing: n² per query)')
    start: str = parameter("random", '"random" (Dirichlet), or "uniform": every start from equal weights, as RankLib')
    nonneg: bool = parameter(False, "no weight below 0")
    seed: int = parameter(1, "of starts and of the order of features")
    verbose: bool = parameter(False, "show a bar")

    def _check(self) -> None:
        one_of(self, line=("grid", "exact"), start=("random", "uniform"))
        at_least(self, restarts=1, steps=1, passes=1, seed=0)

    def _fit(self, train: Dataset, valid: Dataset | None) -> None:
        whole = Objective(train, *resolve(self.measure, self.convention)).natively()
        active = np.flatnonzero(whole.varies())
        if not len(active):
            warnings.warn(
                f"no order of documents changes {self.measure} of any training query; all weights stay alike",
                stacklevel=2,
            )
            self.coef_ = self._starts(train.features.shape[1])[0]
            self.climbs_: list[list[float]] = []
            return
        climbed = train.select(active)  # only these rows are held twice
        judge = BestWeights(valid, *resolve(self.measure, self.convention))
        bar = Bar(self.passes, self.name) if self.verbose else None
        try:
            self._climb(climbed, judge, bar)
        except KeyboardInterrupt:
            if judge.weights is None:
                raise
            warnings.warn(f"{self.name} was interrupted; the best so far is kept", stacklevel=2)
        finally:
            if bar is not None:
                bar.close()
        self.curve_ = judge.curve
        self.coef_ = np.array(judge.weights)

    def _climb(self, climbed: Dataset, judge: BestWeights, bar: Bar | None) -> None:
        """Take every start to its top; `climbs_` has each start's mean of the measure before and after each pass."""
        objective = Objective(climbed, *resolve(self.measure, self.convention)).natively()
        columns = np.ascontiguousarray(climbed.features.T, np.float64)
        every, features = np.arange(climbed.queries), climbed.features.shape[1]
        batch = max(1, AT_ONCE // columns.shape[1])
        weights = self._starts(features)
        scores, totals = rescore(objective, every, columns, weights)
        self.climbs_ = [[float(total) / len(every)] for total in totals]
        alive, self.ends_ = np.arange(len(weights)), weights.copy()
        for number in range(self.passes):
            orders = np.array([self._order(int(start), number, features) for start in alive], np.int32)
            for first in range(0, features, batch):
                totals = ascend(
                    objective, every, columns, np.ascontiguousarray(orders[:, first : first + batch]), weights, scores,
                    steps=self.steps, exact=self.line == "exact", nonneg=self.nonneg,
                )  # fmt: skip
            for i, start in enumerate(alive):
                self.climbs_[start].append(float(totals[i]) / len(every))
            self.ends_[alive] = weights
            judge.after(weights, [self.climbs_[start][-1] for start in alive])
            going = [i for i, s in enumerate(alive) if self.climbs_[s][-1] - self.climbs_[s][-2] >= self.tolerance]
            alive, weights, scores = alive[going], weights[going], scores[going]
            if bar is not None:
                bar.step(f"{self.measure} {judge.value:.4f}")
            if not len(alive):
                break

    def _order(self, start: int, number: int, features: int) -> NDArray[np.int64]:
        """The order of features in a pass of a start."""
        return np.random.default_rng([self.seed, start, number, 1]).permutation(features)

    def _starts(self, features: int) -> F64:
        """Weights [start, feature], each summing to 1."""
        weights = np.full((self.restarts, features), 1.0 / features)
        if self.start == "random":
            for r in range(1, self.restarts):
                weights[r] = np.random.default_rng([self.seed, r]).dirichlet(np.ones(features))
        return weights


class BestWeights:
    """Keeps the weights that are best on the validation set (without one, on the training set); the first best wins.

    Only queries that some order can change are looked at, so that what empty queries count cannot change the choice.
    """

    def __init__(self, valid: Dataset | None, measure: Measure, convention: Convention) -> None:
        self.valid = valid
        self.objective: NativeObjective | None = None
        if valid is not None:
            self.objective = Objective(valid, measure, convention).natively()
            self.varies = self.objective.varies()
            if not self.varies.any():
                self.objective = None
        self.value = -np.inf
        self.weights: F64 | None = None
        self.curve: list[float] = []

    def after(self, weights: F64, training: list[float]) -> None:
        """Judge every start after a pass, given its mean on the training set."""
        values = training
        if self.valid is not None and self.objective is not None:
            count = int(self.varies.sum())
            values = [
                float(np.cumsum(self.objective.values(self.valid.features @ one)[self.varies])[-1]) / count
                for one in weights
            ]
        for one, value in zip(weights, values, strict=True):
            if value > self.value:
                self.value, self.weights = value, one.copy()
        self.curve.append(max(values))
