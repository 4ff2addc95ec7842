"""Linear rankers: feature scaling, cutting planes and the quadratic program behind them."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pippin.data.dataset import Dataset
from pippin.errors import DataError
from pippin.models.model import LinearModel, Model
from pippin.rankers.base import EarlyStopping, Features, Ranker, read_numbers
from pippin.rankers.training_data import row_weights


def weights_by_name(weights: Mapping[str, float], names: Sequence[str]) -> NDArray[np.float64]:
    """Return the weights of a model file in the order of the features; ValueError unless the names are the same.

    >>> weights_by_name({"b": 2.0, "a": 1.0}, ("a", "b")).tolist()
    [1.0, 2.0]
    """
    if len(weights) != len(names) or any(name not in weights for name in names):
        raise ValueError(f"the {len(weights)} weights do not fit the {len(names)} features")
    return read_numbers([weights[name] for name in names])


class LinearRanker(Ranker):
    """score(x) = coef_ · x; subclasses fit `coef_`."""

    def _predict(self, features: Features) -> NDArray[np.float64]:
        return features @ self.coef_

    def _to_model(self) -> Model:
        return LinearModel(self.feature_names_, self.coef_.copy())

    def _state(self) -> dict[str, Any]:
        return {"weights": dict(zip(self.feature_names_, self.coef_.tolist(), strict=True))}

    def _restore(self, state: dict[str, Any]) -> None:
        self.coef_ = weights_by_name(state["weights"], self.feature_names_)

    def weights(self) -> dict[str, float]:
        """Return the weight of each feature, by name."""
        return dict(zip(self.feature_names_, self.coef_.tolist(), strict=True))

    def importance(self) -> dict[str, float]:
        """Return the absolute weight of each feature; comparable if features have the same scale."""
        return {name: abs(weight) for name, weight in self.weights().items()}


F64 = NDArray[np.float64]
Loss = Callable[[F64], tuple[float, F64]]  # scores → value, gradient by score


@dataclass(frozen=True)
class Solution:
    """Weights, objective, upper bound of the distance to the optimum, and number of rounds."""

    weights: F64
    objective: float
    gap: float
    rounds: int

    def missing(self, start: float) -> float:
        """Return the gap relative to the possible gain over `start`, the objective at w = 0."""
        if self.gap <= 1e-14 * start:  # rounding alone
            return 0.0
        return self.gap / (start - self.objective + self.gap)


def one_blas_thread() -> AbstractContextManager[object]:
    """Limit BLAS to one thread, because the order of sums depends on the number of threads."""
    limits: AbstractContextManager[object] = _libraries().limit(limits=1, user_api="blas")
    return limits


@cache
def _libraries() -> Any:
    """Return the controller of the loaded thread libraries; finding them takes longer than scoring a few documents."""
    from threadpoolctl import ThreadpoolController  # type: ignore[import-untyped]

    return ThreadpoolController()


def progress_only(rounds: int, title: str, verbose: bool) -> EarlyStopping:
    """Return a training context without validation: progress bar and Ctrl-C only."""
    return EarlyStopping(None, "", "", rounds, None, verbose=verbose, title=title)


def drop_constant_queries(data: Dataset, relevance_threshold: int | None = None) -> Dataset:
    """Return the queries with two labels, or (with a threshold) with relevant and other documents."""
    labels = data.labels if relevance_threshold is None else (data.labels >= relevance_threshold).astype(np.int32)
    starts, ends = data.offsets[:-1], data.offsets[1:]
    repeats = np.concatenate(([0], np.cumsum(labels[1:] == labels[:-1])))  # running count of repeated labels
    last_rows = np.maximum(ends - 1, starts)
    is_mixed = np.zeros(data.queries, bool)
    is_filled = ends > starts
    is_mixed[is_filled] = (repeats[last_rows[is_filled]] - repeats[starts[is_filled]]) < (
        last_rows[is_filled] - starts[is_filled]
    )
    return data if is_mixed.all() else data.select(np.flatnonzero(is_mixed))


def line_search(slope: Callable[[float], float], first: float, precision: float, width: float = 1e-12) -> float:
    """Return t > 0 with |slope(t)| ≤ precision · |first| for a convex function with slope(0) = first < 0.

    Doubles t until the slope is positive, then uses regula falsi (Illinois variant). At a kink, returns a point before
    it within width · t.
    """
    low, low_slope, high, high_slope = 0.0, first, np.inf, np.inf
    trial, side = 1.0, 0
    for _ in range(100):
        value = slope(trial)
        if abs(value) <= precision * -first:
            return trial
        if value < 0:
            low, low_slope = trial, value
            high_slope, side = (high_slope / 2, -1) if side < 0 else (high_slope, -1)
        else:
            high, high_slope = trial, value
            low_slope, side = (low_slope / 2, 1) if side > 0 else (low_slope, 1)
        if not np.isfinite(high):
            trial *= 2
            side = 0
            continue
        if high - low <= width * high:
            break
        trial = low + (high - low) * min(0.99, max(0.01, -low_slope / (high_slope - low_slope)))
    return low if low > 0 else trial


def cutting_planes(
    features: F64, loss: Loss, C: float, tolerance: float, rounds: int, stopping: EarlyStopping, step_ahead: float = 0.1
) -> Solution:
    """Minimise ½‖w‖² + C loss(Xw) by one-slack cutting planes, loss(Xw) ≥ a·w + b (Joachims 2006, Algorithm 3).

    After Franc & Sonnenburg 2009 (section 3), the best point moves by exact line search towards the optimum of the
    master problem, and the next plane is computed slightly ahead of it. Stops when
    objective − dual ≤ tolerance · (objective at 0 − dual).
    """
    width = features.shape[1]
    best, best_scores = np.zeros(width), np.zeros(len(features))
    cut_scores = best_scores
    planes, constants, gram, dual_weights = np.empty((0, width)), np.empty(0), np.empty((0, 0)), np.empty(0)
    start = C * loss(best_scores)[0]
    solution = Solution(best, start, start, 0)
    with stopping:
        for round_ in range(1, rounds + 1):
            # Add the plane that touches the loss at the cut point: a = Xᵀ∂loss, b = loss − a·w.
            value, gradient = loss(cut_scores)
            planes = np.vstack((planes, gradient @ features))
            constants = np.append(constants, value - gradient @ cut_scores)
            products = planes @ planes[-1]
            gram = np.block([[gram, products[:-1, None]], [products[None, :-1], products[-1:, None]]])
            # Solve the dual of the master problem over all planes; its optimum is w = −Σ weight · plane.
            dual_weights = maximize_capped(gram, constants, C, dual_weights)
            target = -dual_weights @ planes
            dual = float(constants @ dual_weights - 0.5 * target @ target)
            step = target - best
            step_scores = features @ step
            length = _best_step(loss, C, best, best_scores, step, step_scores)
            cut_scores = best_scores + (length + step_ahead * (1 - length)) * step_scores
            best, best_scores = best + length * step, best_scores + length * step_scores
            objective = 0.5 * float(best @ best) + C * loss(best_scores)[0]
            solution = Solution(best, objective, objective - dual, round_)
            if stopping.update(best_scores.copy) or solution.missing(start) <= tolerance:
                return solution
    if not stopping.interrupted:
        warn_not_converged(rounds, solution.missing(start), tolerance)
    return solution


def _best_step(loss: Loss, C: float, start: F64, scores: F64, step: F64, step_scores: F64) -> float:
    """Return the step length with the least objective."""

    def slope(t: float) -> float:
        return float(step @ start + t * (step @ step) + C * (loss(scores + t * step_scores)[1] @ step_scores))

    first = slope(0.0)
    return line_search(slope, first, 1e-1, width=1e-2) if first < 0 else 0.0


def warn_not_converged(rounds: int, reached: float, tolerance: float) -> None:
    """Warn that the optimum was not reached."""
    from sklearn.exceptions import ConvergenceWarning

    warnings.warn(
        f"stopped after {rounds} rounds at precision {reached:.2g} instead of {tolerance:.2g}: "
        "increase max_iter, decrease C, or normalise features by query",
        ConvergenceWarning,
        stacklevel=2,
    )


def maximize_capped(gram: F64, linear: F64, cap: float, start: F64 | None = None) -> F64:
    """Return argmax linear·a − ½ aᵀ gram a over a ≥ 0, Σa ≤ cap, for a positive semi-definite gram matrix.

    Active set method of Wolfe (1976): with a slack variable the shares lie on a simplex. They move to the optimum of
    their face, dropping variables that become negative, until no variable outside the face can improve the objective.

    >>> maximize_capped(np.eye(2), np.array([3.0, 1.0]), 1.0).round(12).tolist()
    [1.0, 0.0]
    """
    size = len(linear) + 1
    matrix, vector = np.zeros((size, size)), np.zeros(size)
    matrix[1:, 1:], vector[1:] = cap * gram, linear
    shares = np.zeros(size)
    if start is not None:
        shares[1 : 1 + len(start)] = start / cap
    shares[0] = max(0.0, 1.0 - shares.sum())
    scale = max(1e-300, float(np.abs(vector).max()), float(np.abs(np.diag(matrix)).max()))
    face, best = shares > 0, 0
    for iteration in range(50 * size):
        shares, face = _to_optimum(matrix, vector, shares, face)
        if iteration and not face[best]:  # the expected gain was a rounding error
            break
        slopes = matrix @ shares - vector
        level = float(slopes[face] @ shares[face])
        slopes[face] = np.inf
        best = int(np.argmin(slopes))
        if slopes[best] >= level - 1e-13 * scale:
            break
        face[best] = True
    return cap * shares[1:]


def _to_optimum(matrix: F64, vector: F64, shares: F64, face: NDArray[np.bool_]) -> tuple[F64, NDArray[np.bool_]]:
    """Move to the optimum of the face, or of a smaller face that is reached first."""
    shares, face = shares.copy(), face.copy()
    while True:
        on = np.flatnonzero(face)
        target = _optimum_of(matrix[np.ix_(on, on)], vector[on])
        if (target >= 0).all():
            shares[:] = 0
            shares[on] = target / target.sum()
            return shares, face
        falling = target < 0
        steps = shares[on][falling] / (shares[on][falling] - target[falling])
        step = float(steps.min())
        shares[on] += step * (target - shares[on])
        leaving = on[falling][steps <= step]
        shares[leaving], face[leaving] = 0.0, False
        np.maximum(shares, 0.0, out=shares)


def _optimum_of(matrix: F64, vector: F64) -> F64:
    """Return argmin ½ zᵀ matrix z − vector·z with Σz = 1, slightly regularised."""
    size = len(vector)
    unit = float(np.abs(matrix).max()) or 1.0
    system = np.ones((size + 1, size + 1))
    system[:size, :size] = matrix / unit + 1e-13 * np.eye(size)  # planes may repeat each other
    system[size, size] = 0.0
    return np.linalg.solve(system, np.append(vector / unit, 1.0))[:size]


def center_features(data: Dataset, within: str) -> F64:
    """Return the features minus their means, over the query ("query") or over all documents ("all").

    >>> data = Dataset(np.array([[1.0], [3.0], [10.0]]), np.zeros(3, np.int32), np.array([0, 2, 3]), ("a", "b"))
    >>> center_features(data, "query").ravel().tolist(), center_features(data, "all").ravel().round(2).tolist()
    ([-1.0, 1.0, 0.0], [-3.67, -1.67, 5.33])
    """
    table = np.asarray(data.features, np.float64)
    if within == "all":
        over_all: F64 = table - table.mean(axis=0)
        return over_all
    sizes = np.diff(data.offsets)
    filled = sizes > 0
    sums = np.add.reduceat(table, data.offsets[:-1][filled], axis=0)
    centered: F64 = table - np.repeat(sums / sizes[filled, None], sizes[filled], axis=0)
    return centered


def feature_scales(table: F64) -> F64:
    """Return the root mean square of each column of a centred table; 1 for constant columns."""
    root_mean_square = np.sqrt((table**2).mean(axis=0))
    scales: F64 = np.where(
        root_mean_square > 1e-12 * max(1.0, float(np.abs(table).max(initial=0.0))), root_mean_square, 1.0
    )
    return scales


def check_standardize(name: str, standardise: bool | str) -> None:
    """Raise DataError unless the value of `standardize` is valid."""
    if standardise not in (True, False, "auto"):
        raise DataError(f"{name}: standardize must be True, False or auto, got {standardise!r}")


def should_standardize(standardise: bool | str, features: NDArray[np.floating[Any]]) -> bool:
    """Return whether to standardise; `auto`: unless all features are within [-1, 1], as in LETOR's normalisation."""
    if standardise == "auto":
        return bool(features.min(initial=0.0) < -1.0 or features.max(initial=0.0) > 1.0)
    return bool(standardise)


def inverse_deviations(data: Dataset) -> F64:
    """Return one over each feature's weighted deviation within queries; 0 for features that are constant within all.

    >>> table = np.array([[1.0, 7.0], [5.0, 7.0], [10.0, 9.0]])
    >>> data = Dataset(table, np.zeros(3, np.int32), np.array([0, 2, 3]), ("a", "b"))
    >>> inverse_deviations(data).round(4).tolist()
    [0.6124, 0.0]
    """
    squares = np.average(center_features(data, "query") ** 2, axis=0, weights=row_weights(data))
    deviation, largest = np.sqrt(squares), np.abs(data.features).max(axis=0, initial=0.0)
    varies = deviation > 1e-12 * largest  # and not by rounding alone
    return np.divide(1.0, deviation, out=np.zeros_like(deviation), where=varies)
