"""AdaRank: boosting on queries with single features as weak rankers, directly for any measure."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from pippin.data.dataset import Dataset
from pippin.errors import ConventionError, DataError
from pippin.evaluation.convention import Convention
from pippin.evaluation.objective import Objective, resolve
from pippin.kernels.boosting import weighted_sums
from pippin.rankers.base import QUICK_ROUNDS, register
from pippin.rankers.parts.linear import LinearRanker
from pippin.rankers.parts.parameters import at_least, one_of, parameter
from pippin.rankers.parts.states import direction, number, place
from pippin.rankers.parts.watch import Watch
from pippin.rankers.parts.weights import query_weights

F64 = NDArray[np.float64]

STUCK = 5  # times a feature may be chosen again without changing anything
PERFECT = 1e-12  # weighted loss of a weak ranker below which it is perfect
TOLERANCE = 0.002  # RankLib's


@dataclass(frozen=True)
class Round:
    """What one round added: sign * feature, weighted by alpha; `value` is the training measure after it."""

    feature: int
    sign: int
    alpha: float
    value: float


@register("adarank")
class AdaRank(LinearRanker):
    """Boosting on queries: adds one feature a round, the one that helps most where the ranking is still bad.

    Adds α σ x_f: the feature and direction with the best weighted measure Σ_q P(q) M(q). α = ½ ln(Σ P (1 + M) / Σ P (1
    − M)). With E(q) the measure of the sum so far, queries that it ranks badly get more weight: P ∝ exp(−E) ("paper"),
    or P ∝ P exp(−α E) ("cumulative").
    """

    source = "Xu & Li 2007; cumulative weights as RankLib"
    grid: ClassVar[Mapping[str, Sequence[Any]]] = {"directions": ("both", "descending")}
    by_rounds = True
    takes_weights = True
    quick_limits: ClassVar[Mapping[str, int]] = QUICK_ROUNDS
    milliseconds = 1
    in_study = True

    measure: str = parameter("NDCG@10", "any measure between 0 and 1: trained for, and watched on the validation set")
    convention: str | Convention = parameter("official", "of that measure")
    rounds: int = parameter(500, "weak rankers at most; a validation set chooses how many")
    weighting: str = parameter("cumulative", 'of queries: "cumulative" or "paper"')
    directions: str = parameter(
        "both", '"both", or "descending": a feature only ever speaks for a document, as in the paper'
    )
    stop: str = parameter("patience", '"patience", or "ranklib": also where the training measure falls by 0.002')
    patience: int | None = parameter(100, "rounds without a better validation measure before stopping; None: never")
    verbose: bool = parameter(False, "show a bar")

    def _fit(self, train: Dataset, valid: Dataset | None) -> None:
        objective = Objective(train, *resolve(self.measure, self.convention))
        table = objective.features()
        counted = ~np.isnan(table[0])
        table = np.ascontiguousarray(table[:, counted])
        if not table.shape[1]:
            raise DataError("no query of the training set counts under this convention")
        if table.min() < 0 or table.max() > 1:
            raise ConventionError(f"AdaRank needs a measure between 0 and 1, and {objective.measure} is not")
        allowed = self._allowed(train)
        if not allowed.any():
            raise DataError(
                f"every feature is constant in every query, so there is nothing to rank by (n_samples={len(train)})"
            )
        self._boost(train, valid, objective, table, counted, allowed)

    def _check(self) -> None:
        one_of(self, weighting=("cumulative", "paper"), directions=("both", "descending"), stop=("patience", "ranklib"))
        at_least(self, rounds=1)

    def _allowed(self, train: Dataset) -> NDArray[np.bool_]:
        """Weak rankers [2f + s] that may be chosen: features that vary in some query, in the directions asked for."""
        varies = np.zeros(train.features.shape[1], bool)
        starts = train.offsets[:-1][np.diff(train.offsets) > 0]
        if len(starts):
            high, low = (how.reduceat(train.features, starts, axis=0) for how in (np.maximum, np.minimum))
            varies = (high != low).any(axis=0)
        allowed: NDArray[np.bool_] = np.repeat(varies, 2)
        if self.directions == "descending":
            allowed[1::2] = False
        return allowed

    def _boost(
        self,
        train: Dataset,
        valid: Dataset | None,
        objective: Objective,
        table: F64,
        counted: NDArray[np.bool_],
        allowed: NDArray[np.bool_],
    ) -> None:
        given = query_weights(train)
        first = np.ones(table.shape[1]) if given is None else given[counted]
        weights = first / first.sum()
        columns = np.ascontiguousarray(train.features.T)
        scores, watched = np.zeros(len(train)), np.zeros(0 if valid is None else len(valid))
        self.rounds_: list[Round] = []
        repeats, banned, last = 0, -1, np.empty(0)
        with Watch(
            valid, self.measure, self.convention, self.rounds, self.patience, verbose=self.verbose, title=self.name
        ) as watch:
            for _ in range(self.rounds):
                chosen, alpha, perfect = choose(table, weights, allowed, banned)
                if chosen < 0:
                    break
                feature, sign = chosen // 2, 1 - 2 * (chosen % 2)
                if banned >= 0 and feature != banned:
                    banned = -1
                scores += sign * alpha * columns[feature]
                values = objective.values(scores)[counted]
                value = float(np.cumsum(first * values)[-1]) / float(first.sum())
                if self.stop == "ranklib" and self.rounds_ and value + TOLERANCE <= self.rounds_[-1].value:
                    break
                same = bool(self.rounds_) and self.rounds_[-1].feature == feature and np.array_equal(values, last)
                repeats, last = (repeats + 1 if same else 0), values
                if repeats >= STUCK:
                    banned, repeats = feature, 0
                self.rounds_.append(Round(feature, sign, alpha, value))
                weights = reweigh(first if self.weighting == "paper" else weights, values, alpha, self.weighting)
                if valid is not None:
                    np.add(watched, sign * alpha * valid.features[:, feature], out=watched)
                if watch.after(lambda: watched) or perfect:
                    break
        self.curve_ = watch.curve
        self.rounds_ = self.rounds_[: watch.best + 1]
        self.coef_ = np.zeros(train.features.shape[1])
        for one in self.rounds_:
            self.coef_[one.feature] += one.sign * one.alpha

    def _state(self) -> dict[str, Any]:
        rounds = [[self.feature_names_[r.feature], r.sign, r.alpha, r.value] for r in self.rounds_]
        return {**super()._state(), "rounds": rounds}

    def _restore(self, state: dict[str, Any]) -> None:
        super()._restore(state)
        names = self.feature_names_
        self.rounds_ = [Round(place(f, names), direction(s), number(a), number(v)) for f, s, a, v in state["rounds"]]


def choose(table: F64, weights: F64, allowed: NDArray[np.bool_], banned: int) -> tuple[int, float, bool]:
    """The weak ranker with the best weighted measure (the first of equals), its α, and whether it is perfect.

    α = ½ ln(Σ P (1 + M) / Σ P (1 − M)); -1 where no weak ranker is left.
    """
    sums = np.where(allowed, weighted_sums(table, weights), -np.inf)
    if banned >= 0:
        sums[2 * banned : 2 * banned + 2] = -np.inf
    best = int(np.argmax(sums))
    if sums[best] == -np.inf:
        return -1, 0.0, False
    whole = float(weights.sum())
    missing = whole - float(sums[best])
    if missing < PERFECT:
        return best, 0.5 * math.log(2 / PERFECT), True
    return best, 0.5 * math.log((whole + float(sums[best])) / missing), False


def reweigh(weights: F64, values: F64, alpha: float, how: str) -> F64:
    """The next weights of queries, given the measure of each: small where it is large.

    `weights` are the last ones for "cumulative", and for "paper" what each query counted at first.

    >>> reweigh(np.full(4, 0.25), np.array([1, 0.5, 0.25, 0]), 0.469135, "paper").round(6).tolist()
    [0.133618, 0.220299, 0.28287, 0.363212]
    """
    following: F64 = weights * np.exp(-values if how == "paper" else -alpha * values)
    following /= following.sum()
    return following
