"""AdaRank: boosting on queries that optimises a measure directly, with single features as weak rankers."""

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
from pippin.evaluation.objective import Objective
from pippin.kernels.optimisers import weighted_sums
from pippin.rankers.base import QUICK_ROUNDS, EarlyStopping, feature_index, read_number, read_sign, register
from pippin.rankers.linear import LinearRanker
from pippin.rankers.parameters import check_minima, one_of, parameter
from pippin.rankers.training_data import query_weights

F64 = NDArray[np.float64]

MAX_UNCHANGED_ROUNDS = 5  # rounds in a row in which a feature may be selected without changing the ranking
PERFECT_LOSS = 1e-12  # weighted loss below which a weak ranker is perfect
RANKLIB_TOLERANCE = 0.002  # decrease of the training measure at which RankLib stops


@dataclass(frozen=True)
class Round:
    """A weak ranker, sign * feature, its weight alpha, and the training measure after adding it."""

    feature: int
    sign: int
    alpha: float
    value: float


@register("adarank")
class AdaRank(LinearRanker):
    """Boosting on queries: each round adds the feature that is best on badly ranked queries.

    A round adds α σ x_f with the feature f and direction σ of the best weighted measure Σ_q P(q) M(q), and
    α = ½ ln(Σ P (1 + M) / Σ P (1 − M)). With E(q) the measure of the sum so far, badly ranked queries gain weight:
    P ∝ exp(−E) ("paper"), or P ∝ P exp(−α E) ("cumulative").
    """

    source = "Xu & Li 2007; cumulative weights as RankLib"
    grid: ClassVar[Mapping[str, Sequence[Any]]] = {"directions": ("both", "descending")}
    is_iterative = True
    supports_sample_weight = True
    small_limits: ClassVar[Mapping[str, int]] = QUICK_ROUNDS
    cost_ms = 1

    measure: str = parameter("NDCG@10", "measure to optimise and for early stopping, between 0 and 1")
    convention: str | Convention = parameter("official", "convention of the measure")
    rounds: int = parameter(500, "maximum number of weak rankers; a validation set selects the number")
    weighting: str = parameter("cumulative", 'update of the query weights: "cumulative" or "paper"')
    directions: str = parameter("both", '"both", or "descending": larger values always rank higher, as in the paper')
    stop: str = parameter("validation", '"validation", or "ranklib": stop also if the training measure falls by 0.002')
    early_stopping_rounds: int | None = parameter(
        100, "rounds without improvement on the validation set before training stops; None: never"
    )
    verbose: bool = parameter(False, "show progress")

    def _fit(self, train: Dataset, valid: Dataset | None) -> None:
        objective = Objective(train, self.measure, self.convention)
        performance = objective.features()
        has_value = ~np.isnan(performance[0])
        performance = np.ascontiguousarray(performance[:, has_value])
        if not performance.shape[1]:
            raise DataError(f"{self.measure} is undefined for every query of the training set under this convention")
        if performance.min() < 0 or performance.max() > 1:
            raise ConventionError(f"adarank needs a measure between 0 and 1, got {objective.measure}")
        is_candidate = self._candidate_mask(train)
        if not is_candidate.any():
            raise DataError(f"every feature is constant within every query: nothing to learn (n_samples={len(train)})")
        self._boost(train, valid, objective, performance, has_value, is_candidate)

    def _check(self) -> None:
        one_of(
            self, weighting=("cumulative", "paper"), directions=("both", "descending"), stop=("validation", "ranklib")
        )
        check_minima(self, rounds=1)

    def _candidate_mask(self, train: Dataset) -> NDArray[np.bool_]:
        """Return the mask of weak rankers [2 * feature + sign]: varying features in the allowed directions."""
        varies = np.zeros(train.features.shape[1], bool)
        starts = train.offsets[:-1][np.diff(train.offsets) > 0]
        if len(starts):
            high, low = (reduce.reduceat(train.features, starts, axis=0) for reduce in (np.maximum, np.minimum))
            varies = (high != low).any(axis=0)
        is_candidate: NDArray[np.bool_] = np.repeat(varies, 2)
        if self.directions == "descending":
            is_candidate[1::2] = False
        return is_candidate

    def _boost(
        self,
        train: Dataset,
        valid: Dataset | None,
        objective: Objective,
        performance: F64,
        has_value: NDArray[np.bool_],
        is_candidate: NDArray[np.bool_],
    ) -> None:
        sample_weight = query_weights(train)
        initial_weights = np.ones(performance.shape[1]) if sample_weight is None else sample_weight[has_value]
        query_weights_ = initial_weights / initial_weights.sum()
        columns = np.ascontiguousarray(train.features.T)
        scores, valid_scores = np.zeros(len(train)), np.zeros(0 if valid is None else len(valid))
        self.rounds_: list[Round] = []
        unchanged_rounds, banned_feature, last_values = 0, -1, np.empty(0)
        with EarlyStopping.of(self, valid) as stopping:
            for _ in range(self.rounds):
                weak_ranker, alpha, is_perfect = select_weak_ranker(
                    performance, query_weights_, is_candidate, banned_feature
                )
                if weak_ranker < 0:
                    break
                feature, sign = weak_ranker // 2, 1 - 2 * (weak_ranker % 2)
                if banned_feature >= 0 and feature != banned_feature:
                    banned_feature = -1
                scores += sign * alpha * columns[feature]
                values = objective.values(scores)[has_value]
                value = float(np.cumsum(initial_weights * values)[-1]) / float(initial_weights.sum())
                if self.stop == "ranklib" and self.rounds_ and value + RANKLIB_TOLERANCE <= self.rounds_[-1].value:
                    break
                is_unchanged = (
                    bool(self.rounds_) and self.rounds_[-1].feature == feature and np.array_equal(values, last_values)
                )
                unchanged_rounds, last_values = (unchanged_rounds + 1 if is_unchanged else 0), values
                if unchanged_rounds >= MAX_UNCHANGED_ROUNDS:
                    banned_feature, unchanged_rounds = feature, 0
                self.rounds_.append(Round(feature, sign, alpha, value))
                query_weights_ = update_query_weights(
                    initial_weights if self.weighting == "paper" else query_weights_, values, alpha, self.weighting
                )
                if valid is not None:
                    np.add(valid_scores, sign * alpha * valid.features[:, feature], out=valid_scores)
                if stopping.update(lambda: valid_scores) or is_perfect:
                    break
        self.curve_ = stopping.curve
        self.rounds_ = self.rounds_[: stopping.best + 1]
        self.coef_ = np.zeros(train.features.shape[1])
        for round_ in self.rounds_:
            self.coef_[round_.feature] += round_.sign * round_.alpha

    def _state(self) -> dict[str, Any]:
        rounds = [[self.feature_names_[r.feature], r.sign, r.alpha, r.value] for r in self.rounds_]
        return {**super()._state(), "rounds": rounds}

    def _restore(self, state: dict[str, Any]) -> None:
        super()._restore(state)
        names = self.feature_names_
        self.rounds_ = [
            Round(feature_index(f, names), read_sign(s), read_number(a), read_number(v))
            for f, s, a, v in state["rounds"]
        ]


def select_weak_ranker(
    performance: F64, query_weights: F64, is_candidate: NDArray[np.bool_], banned_feature: int
) -> tuple[int, float, bool]:
    """Return the weak ranker with the best weighted measure (the first if tied), its α, and whether it is perfect.

    Xu & Li 2007, Algorithm 1: α = ½ ln(Σ P (1 + M) / Σ P (1 − M)). The index is -1 if no candidate is left.
    """
    weighted_performance = np.where(is_candidate, weighted_sums(performance, query_weights), -np.inf)
    if banned_feature >= 0:
        weighted_performance[2 * banned_feature : 2 * banned_feature + 2] = -np.inf
    best = int(np.argmax(weighted_performance))
    if weighted_performance[best] == -np.inf:
        return -1, 0.0, False
    total = float(query_weights.sum())
    loss = total - float(weighted_performance[best])
    if loss < PERFECT_LOSS:
        return best, 0.5 * math.log(2 / PERFECT_LOSS), True
    return best, 0.5 * math.log((total + float(weighted_performance[best])) / loss), False


def update_query_weights(query_weights: F64, performance: F64, alpha: float, weighting: str) -> F64:
    """Return the next query weights: queries with a low measure gain weight.

    `query_weights` are those of the last round for "cumulative", and the initial ones for "paper".

    >>> update_query_weights(np.full(4, 0.25), np.array([1, 0.5, 0.25, 0]), 0.469135, "paper").round(6).tolist()
    [0.133618, 0.220299, 0.28287, 0.363212]
    """
    updated: F64 = query_weights * np.exp(-performance if weighting == "paper" else -alpha * performance)
    updated /= updated.sum()
    return updated
