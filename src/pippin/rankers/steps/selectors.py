"""Steps that keep a subset of the features."""

from __future__ import annotations

import math
from collections.abc import Iterator
from fnmatch import fnmatchcase
from itertools import pairwise
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from pippin.data.dataset import Dataset
from pippin.errors import DataError
from pippin.evaluation.convention import Convention
from pippin.evaluation.objective import Objective
from pippin.kernels.checksum import xxh3
from pippin.kernels.losses import Pairs, grade_labels
from pippin.rankers.base import Ranker
from pippin.rankers.explaining import permutation_importance
from pippin.rankers.linear import center_features, drop_constant_queries, feature_scales, one_blas_thread
from pippin.rankers.parameters import above_zero, check_minima, parameter
from pippin.rankers.steps.base import (
    Selector,
    fit_clone,
    make_helper_ranker,
    register,
    scaled_importance,
    select_features,
)
from pippin.rankers.training_data import MAX_PAIRS, sample_documents

F64 = NDArray[np.float64]
_BLOCK_PAIRS = 1 << 15  # document pairs compared at once; counts stay exact in float32
_CACHE: dict[tuple[object, ...], F64] = {}  # recent similarity matrices, because grids repeat them
_CACHE_SIZE = 4


def single_feature_values(data: Dataset, measure: str, convention: str | Convention) -> tuple[F64, F64]:
    """Return the measure of each single feature in its better direction, and that direction, 1 or −1."""
    table = np.nan_to_num(np.nanmean(Objective(data, measure, convention).features(), axis=1))
    up, down = table[0::2], table[1::2]
    return np.maximum(up, down), np.where(down > up, -1.0, 1.0)


def varies(data: Dataset) -> NDArray[np.bool_]:
    """Return whether each feature varies within some query."""
    table = np.nan_to_num(np.asarray(data.features, np.float64))
    inside = data.qid()[1:] == data.qid()[:-1]
    changes: NDArray[np.bool_] = (table[1:][inside] != table[:-1][inside]).any(axis=0)
    return changes


def similarity(data: Dataset, signs: F64) -> F64:
    """Return the mean share of pairs that two features put in the same order, [feature, feature].

    Queries with many documents are sampled (`sample_documents`).

    >>> data = Dataset(np.array([[1.0, 5.0], [2.0, 7.0], [3.0, 6.0]]), np.zeros(3, np.int32), np.array([0, 3]), ("q",))
    >>> similarity(data, np.array([1.0, 1.0])).round(4).tolist(), similarity(data, np.array([1.0, -1.0]))[0, 1].round(4)
    ([[1.0, 0.6667], [0.6667, 1.0]], np.float64(0.3333))
    """
    data = sample_documents(data, MAX_PAIRS, by_label=False)
    table = np.ascontiguousarray(data.features, np.float64)
    key = (xxh3(table.tobytes()), xxh3(data.offsets.tobytes()), tuple(signs.tolist()))
    if key not in _CACHE:
        while len(_CACHE) >= _CACHE_SIZE:
            del _CACHE[next(iter(_CACHE))]
        with one_blas_thread():
            _CACHE[key] = _similarity(table * signs, data.offsets)
    return _CACHE[key]


def _similarity(table: F64, offsets: NDArray[np.int64]) -> F64:
    width = table.shape[1]
    total, queries = np.zeros((width, width)), 0
    for start, end in pairwise(offsets.tolist()):
        pairs = int(end - start) * int(end - start - 1) // 2
        if pairs:
            total += _concordant_pairs(table[start:end]) / pairs
            queries += 1
    return total / max(1, queries)


def _concordant_pairs(rows: F64) -> F64:
    """Return the number of pairs of rows that each two columns put strictly in the same order."""
    first, second = np.triu_indices(len(rows), 1)
    signed, different = np.zeros((2, rows.shape[1], rows.shape[1]))
    for start in range(0, len(first), _BLOCK_PAIRS):
        block = slice(start, start + _BLOCK_PAIRS)
        signs = np.nan_to_num(np.sign(rows[first[block]] - rows[second[block]])).astype(np.float32)
        is_different = np.abs(signs)
        signed += signs.T @ signs
        different += is_different.T @ is_different
    return (signed + different) / 2


@register("gas")
class GAS(Selector):
    """Selects features with high importance and low similarity, greedily.

    Importance w_i is the measure of the ranking by feature i alone, in its better direction; similarity e_ij is the
    mean share of pairs that both features put in the same order. Geng et al. 2007, section 3.3: select the feature
    with the largest w, then set w_j ← w_j − 2 c e_ij for the others, and repeat. Constant features come last.
    """

    source = "Geng, Liu, Qin & Li 2007 (greedy search algorithm for feature selection)"
    grid: ClassVar = {"n_features": (5, 10, 20), "redundancy_weight": (0.0, 0.01, 0.1)}
    small_grid: ClassVar = {"n_features": (10,), "redundancy_weight": (0.0, 0.1)}
    cost_ms = 300

    n_features: int = parameter(10, "maximum number of features to keep")
    redundancy_weight: float = parameter(0.01, "c, the penalty of similarity; 0: importance only")
    measure: str = parameter("NDCG@10", "measure of single features")
    convention: str | Convention = parameter("official", "convention of the measure")

    def _check(self) -> None:
        check_minima(self, n_features=1, redundancy_weight=0)

    def _choose(self, train: Dataset, valid: Dataset | None, next_ranker: Ranker) -> list[int]:
        importance, signs = single_feature_values(train, self.measure, self.convention)
        redundancy = (
            similarity(train, signs) if self.redundancy_weight else np.zeros((len(importance), len(importance)))
        )
        penalty = len(importance) * (
            1 + 2 * self.redundancy_weight
        )  # constant features have no similarity and would come early
        return greedy(
            np.where(varies(train), importance, importance - penalty),
            redundancy,
            self.n_features,
            self.redundancy_weight,
        )


def greedy(importance: F64, similarity: F64, k: int, c: float) -> list[int]:
    """Return the features in the order of selection.

    >>> greedy(np.array([0.5, 0.45, 0.3]), np.array([[1, 0.9, 0.1], [0.9, 1, 0.1], [0.1, 0.1, 1]]), 2, 0.1)
    [0, 2]
    """
    remaining, selected = importance.copy(), list[int]()
    while len(selected) < min(k, len(importance)):
        best = int(np.argmax(remaining))
        selected.append(best)
        remaining = remaining - 2 * c * similarity[best]
        remaining[selected] = -np.inf
    return selected


@register("l1")
class L1(Selector):
    """Keeps the features that enter first along the regularisation path of an L1 RankSVM.

    Minimises Σ over pairs of max(0, 1 − w·(x_i − x_j))² / pairs + λ Σ |w_f| on standardised features for decreasing λ,
    from the value at which all weights are 0. Features are ordered by the λ at which their weights become non-zero.
    """

    source = "Tibshirani 1996; for ranking: Lai, Pan, Liu, Lin & Wu 2013 (sparse RankSVM)"
    grid: ClassVar = {"n_features": (5, 10, 20)}
    small_grid: ClassVar = {"n_features": (10,)}
    allow_nan = False
    cost_ms = 400

    n_features: int = parameter(10, "maximum number of features to keep")
    ratio: float = parameter(0.85, "factor of λ between points of the path")
    points: int = parameter(40, "maximum number of points of the path")
    tol: float = parameter(1e-5, "relative change of the objective at which a point has converged")

    def _check(self) -> None:
        check_minima(self, n_features=1, points=1)
        above_zero(self, "ratio", "tol")
        if self.ratio >= 1:
            raise DataError(f"{self.name}: ratio must be below 1, got {self.ratio}")

    def _choose(self, train: Dataset, valid: Dataset | None, next_ranker: Ranker) -> list[int]:
        entered: list[int] = []
        for _, weights in regularization_path(train, self.ratio, self.points, self.tol):
            new = [int(i) for i in np.flatnonzero(weights) if i not in entered]
            entered += sorted(new, key=lambda i: (-abs(weights[i]), i))
            if len(entered) >= self.n_features:
                break
        return entered[: self.n_features]


def regularization_path(train: Dataset, ratio: float, points: int, tolerance: float) -> Iterator[tuple[float, F64]]:
    """Yield λ and the weights at every point of the path, from just below the λ at which all are 0."""
    loss = PairLoss(train)
    weights = np.zeros(loss.table.shape[1])
    penalty = float(np.abs(loss.gradient(weights)[1]).max())
    for _ in range(points):
        penalty *= ratio
        weights = minimize(loss, weights, penalty, tolerance)
        yield penalty, weights


class PairLoss:
    """Mean squared hinge of all pairs, as a function of weights of standardised features."""

    def __init__(self, train: Dataset) -> None:
        data = drop_constant_queries(train)
        table = center_features(data, "query")
        self.table = np.ascontiguousarray(table / feature_scales(table))
        levels, counts = grade_labels(data.labels, data.offsets)
        self.pairs, self.count = Pairs(levels, data.offsets, np.ones_like(counts)), float(counts.sum())

    def gradient(self, weights: F64) -> tuple[float, F64]:
        """Return the loss and its gradient."""
        loss = self.pairs.loss(self.table @ weights, squared=True)
        return loss.value / self.count, (loss.gradient @ self.table) / self.count


def minimize(loss: PairLoss, weights: F64, penalty: float, tolerance: float, rounds: int = 500) -> F64:
    """Minimise by FISTA with backtracking and restarts (Beck & Teboulle 2009, section 4)."""
    point, extrapolated, momentum, step_size = weights, weights, 1.0, 1.0
    last_objective = loss.gradient(weights)[0] + penalty * float(np.abs(weights).sum())
    for _ in range(rounds):
        value, gradient = loss.gradient(extrapolated)
        while True:
            proposal = _soft_threshold(extrapolated - step_size * gradient, step_size * penalty)
            step = proposal - extrapolated
            proposal_loss = loss.gradient(proposal)[0]
            if proposal_loss <= value + float(gradient @ step) + float(step @ step) / (2 * step_size) + 1e-15:
                break
            step_size /= 2
        objective = proposal_loss + penalty * float(np.abs(proposal).sum())
        next_momentum = (1 + np.sqrt(1 + 4 * momentum**2)) / 2
        momentum, extrapolated, point = (
            next_momentum,
            proposal + (momentum - 1) / next_momentum * (proposal - point),
            proposal,
        )
        if objective > last_objective:
            momentum, extrapolated = 1.0, proposal  # restart after an increase
        if abs(last_objective - objective) <= tolerance * last_objective:
            break
        last_objective = objective
    return point


def _soft_threshold(values: F64, amount: float) -> F64:
    """Return the proximal operator of the L1 norm: values shrunk towards 0."""
    result: F64 = np.sign(values) * np.maximum(np.abs(values) - amount, 0.0)
    return result


@register("forward")
class Forward(Selector):
    """Adds the feature with the best validation measure until k are selected (forward selection).

    Each candidate costs a training, so only the best single features are candidates. Without a validation set, the
    training set is used for evaluation.
    """

    source = "Efroymson 1960; wrappers: Kohavi & John 1997"
    grid: ClassVar = {"n_features": (5, 10)}
    small_grid: ClassVar = {"n_features": (5,)}
    small_limits: ClassVar = {"candidates": 10}
    cost_ms = 5000

    n_features: int = parameter(10, "maximum number of features to keep")
    candidates: int = parameter(20, "best single features that are candidates")
    ranker: str = parameter("ranksvm", "ranker that evaluates candidates; rest: the next ranker of the chain")
    measure: str = parameter("NDCG@10", "measure of candidates")
    convention: str | Convention = parameter("official", "convention of the measure")
    seed: int = parameter(1, "seed of the ranker")

    def _check(self) -> None:
        check_minima(self, n_features=1, candidates=1)

    def _choose(self, train: Dataset, valid: Dataset | None, next_ranker: Ranker) -> list[int]:
        single_values, _ = single_feature_values(train, self.measure, self.convention)
        remaining = [int(i) for i in np.argsort(-single_values, kind="stable")[: max(self.n_features, self.candidates)]]
        judged_data = train if valid is None else valid
        judge, selected = Objective(judged_data, self.measure, self.convention), list[int]()
        shared = {"seed": self.seed, "convention": self.convention}
        while remaining and len(selected) < self.n_features:
            values = []
            for feature in remaining:
                columns = [*selected, feature]
                model = fit_clone(
                    make_helper_ranker(self.ranker, next_ranker, shared), select_features(train, columns),
                    None if valid is None else select_features(valid, columns),
                )  # fmt: skip
                values.append(judge.mean(model.predict(select_features(judged_data, columns))))
            selected.append(remaining.pop(int(np.argmax(values))))
        return selected


@register("elimination")
class Elimination(Selector):
    """Drops the least important features of a ranker repeatedly until k are left (recursive feature elimination).

    Linear weights are multiplied by the feature's deviation within queries, so the scale of features does not matter.
    """

    source = "Guyon, Weston, Barnhill & Vapnik 2002 (recursive feature elimination)"
    grid: ClassVar = {"n_features": (5, 10, 20)}
    small_grid: ClassVar = {"n_features": (10,)}
    cost_ms = 500

    n_features: int = parameter(10, "maximum number of features to keep")
    step: float = parameter(0.2, "share of the features that is dropped in a round, at least one")
    ranker: str = parameter("rest", "ranker whose importance decides; rest: the next ranker of the chain")
    seed: int = parameter(1, "seed of the ranker")

    def _check(self) -> None:
        check_minima(self, n_features=1, step=0)

    def _choose(self, train: Dataset, valid: Dataset | None, next_ranker: Ranker) -> list[int]:
        remaining = np.arange(train.features.shape[1])
        target_count = min(self.n_features, len(remaining))
        while True:
            model = fit_clone(
                make_helper_ranker(self.ranker, next_ranker, {"seed": self.seed}), select_features(train, remaining),
                None if valid is None else select_features(valid, remaining),
            )  # fmt: skip
            order = remaining[
                np.argsort(-scaled_importance(model, select_features(train, remaining), self.name), kind="stable")
            ]
            if len(remaining) == target_count:
                return [int(i) for i in order]
            count = max(target_count, len(remaining) - max(1, math.floor(self.step * len(remaining))))
            remaining = np.sort(order[:count])


@register("permutation")
class Permutation(Selector):
    """Keeps the features with the largest permutation importance on the validation set.

    A ranker is trained on all features; the importance of a feature is the decrease of the validation measure if it is
    shuffled within queries. Without a validation set, the training set is used.
    """

    source = "Breiman 2001 (permutation importance)"
    grid: ClassVar = {"n_features": (5, 10, 20)}
    small_grid: ClassVar = {"n_features": (10,)}
    cost_ms = 200

    n_features: int = parameter(10, "maximum number of features to keep")
    ranker: str = parameter("rest", "ranker whose importance decides; rest: the next ranker of the chain")
    repeats: int = parameter(3, "shuffles per feature")
    measure: str = parameter("NDCG@10", "measure of importance")
    convention: str | Convention = parameter("official", "convention of the measure")
    seed: int = parameter(1, "seed of the shuffles and of the ranker")

    def _check(self) -> None:
        check_minima(self, n_features=1, repeats=1, seed=0)

    def _choose(self, train: Dataset, valid: Dataset | None, next_ranker: Ranker) -> list[int]:
        shared = {"seed": self.seed, "convention": self.convention}
        model = fit_clone(make_helper_ranker(self.ranker, next_ranker, shared), train, valid)
        effects = permutation_importance(
            model, train if valid is None else valid, self.measure, self.convention, repeats=self.repeats,
            seed=self.seed,
        )  # fmt: skip
        return [train.feature_names.index(effect.feature) for effect in effects[: self.n_features]]


@register("without")
class Without(Selector):
    """Drops the features whose names match a pattern, for ablation studies.

    Patterns are joined by `+`; `*` matches any text: `without(dense_*+pagerank) > ranksvm`.
    """

    source = "ablation"

    features: str | int = parameter("", "patterns of the features to drop, joined by +")

    def _check(self) -> None:
        if not self.patterns():
            raise DataError("without needs patterns of feature names, for example without(dense_*+pagerank)")

    def patterns(self) -> list[str]:
        """Return the list of patterns."""
        return [pattern.strip() for pattern in str(self.features).split("+") if pattern.strip()]

    def _choose(self, train: Dataset, valid: Dataset | None, next_ranker: Ranker) -> list[int]:
        for pattern in self.patterns():
            if not any(fnmatchcase(name, pattern) for name in train.feature_names):
                raise DataError(f"no feature of {train.name} matches {pattern}")
        is_dropped = [any(fnmatchcase(name, pattern) for pattern in self.patterns()) for name in train.feature_names]
        return [i for i, dropped in enumerate(is_dropped) if not dropped]
