"""Ranking SVM: a linear ranker with a margin between documents of different labels.

Sums over pairs are computed by order statistics in O(n log n) (Lee & Lin 2014), without listing the pairs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, TypeAlias

import numpy as np
from numpy.typing import NDArray

from pippin.data.dataset import Dataset
from pippin.kernels.losses import PairLoss, Pairs, grade_labels
from pippin.rankers.base import EarlyStopping, register
from pippin.rankers.lambdas import PreferredPairs
from pippin.rankers.linear import (
    LinearRanker,
    Solution,
    cutting_planes,
    drop_constant_queries,
    line_search,
    one_blas_thread,
    progress_only,
    warn_not_converged,
)
from pippin.rankers.parameters import above_zero, one_of, parameter
from pippin.rankers.training_data import init_score, preferences_of, query_weights

F64 = NDArray[np.float64]
AnyPairs: TypeAlias = Pairs | PreferredPairs

_MAX_DIRECT_FEATURES = 300  # up to here the Hessian is formed; above, conjugate gradients use products with it
_BLOCK = 8192  # documents whose contribution to the Hessian is computed at a time


@register("ranksvm")
class RankSVM(LinearRanker):
    """Linear Ranking SVM, trained to the optimum.

    min over w of ½‖w‖² + C Σ c · ℓ(1 − w·(x_i − x_j)) over pairs of a query with label_i > label_j;
    ℓ(z) = max(0, z) (hinge) or max(0, z)² (squared).
    """

    source = "Herbrich et al. 2000, Joachims 2002; order statistics: Lee & Lin 2014; Newton: Chapelle & Keerthi 2010"
    grid: ClassVar[Mapping[str, Sequence[Any]]] = {
        "pair_weighting": ("query", "pair"), "C": [10.0**k for k in range(-6, 5)]
    }  # fmt: skip
    small_grid: ClassVar[Mapping[str, Sequence[Any]]] = {"C": (1e-2, 1e-1, 1.0)}
    cost_ms = 30
    supports_sample_weight = True
    supports_preferences = True
    supports_init_score = True

    C: float = parameter(0.1, "cost of violated pairs relative to the regularisation of the weights")
    loss: str = parameter("squared", "squared (Newton's method), or hinge (cutting planes; the loss of SVMlight)")
    pair_weighting: str = parameter(
        "query", '"query": every query has weight 1, divided among its pairs; "pair": every pair has weight 1'
    )
    tol: float = parameter(0.001, "squared: ‖gradient‖ / ‖gradient at 0‖; hinge: duality gap / gain over w = 0")
    max_iter: int = parameter(1000, "maximum number of Newton steps or cutting planes")
    solver: str = parameter(
        "auto", "solver of Newton steps: direct, cg (conjugate gradients), or auto (by the number of features)"
    )
    verbose: bool = parameter(False, "show progress")

    def _fit(self, train: Dataset, valid: Dataset | None) -> None:
        data, pairs = self._pairs(train)
        features = np.asarray(data.features, np.float64)
        progress = progress_only(self.max_iter, "ranksvm", self.verbose)
        with one_blas_thread():
            if self.loss == "squared":
                direct = self.solver == "direct" or (
                    self.solver == "auto" and features.shape[1] <= _MAX_DIRECT_FEATURES
                )
                solution = newton(
                    features, pairs, self.C, self.tol, self.max_iter, progress, direct=direct, start=init_score(data)
                )
            else:
                initial = init_score(data)

                def hinge(scores: F64) -> tuple[float, F64]:
                    loss = pairs.loss(scores if initial is None else initial + scores, squared=False)
                    return loss.value, loss.gradient

                solution = cutting_planes(features, hinge, self.C, self.tol, self.max_iter, progress)
        self.coef_, self.objective_, self.n_iter_ = solution.weights, solution.objective, solution.rounds

    def _pairs(self, train: Dataset) -> tuple[Dataset, AnyPairs]:
        """Return the training pairs and their documents."""
        preferences = preferences_of(train)
        if preferences is not None:
            return train, PreferredPairs.of(train, preferences, by_query=self.pair_weighting == "query")
        data = drop_constant_queries(train)
        levels, counts = grade_labels(data.labels, data.offsets)
        each, weights = np.ones_like(counts) if self.pair_weighting == "pair" else 1.0 / counts, query_weights(data)
        return data, Pairs(levels, data.offsets, each if weights is None else weights * each)

    def _check(self) -> None:
        above_zero(self, "C", "tol", "max_iter")
        one_of(self, loss=("squared", "hinge"), pair_weighting=("pair", "query"), solver=("auto", "direct", "cg"))


def newton(
    features: F64, pairs: AnyPairs, C: float, tolerance: float, rounds: int, progress: EarlyStopping, *, direct: bool,
    start: F64 | None = None,
) -> Solution:  # fmt: skip
    """Minimise the squared hinge by Newton's method with a line search (Chapelle & Keerthi 2010).

    `start` are initial scores, to which the linear model is added; only its weights are regularised.
    """
    weights, scores = np.zeros(features.shape[1]), np.zeros(len(features)) if start is None else start
    loss = pairs.loss(scores, squared=True)
    gradient = C * (loss.gradient @ features)
    initial_norm = gradient_norm = float(np.linalg.norm(gradient))
    steps = 0
    with progress:
        while gradient_norm > tolerance * initial_norm and steps < rounds:
            if direct:
                step = _solve(hessian(features, pairs, C, scores, loss), -gradient)
            else:
                step = conjugate_gradients(_multiplier(features, pairs, C, scores, loss), -gradient)
            loss, length, step_scores = _move(features, pairs, C, weights, scores, step, loss)
            weights, scores = weights + length * step, scores + length * step_scores
            gradient = weights + C * (loss.gradient @ features)
            gradient_norm, last_norm = float(np.linalg.norm(gradient)), gradient_norm
            steps += 1
            progress.update(scores.copy)
            if length == 0.0 or (
                gradient_norm >= last_norm and gradient_norm <= 1e-10 * initial_norm
            ):  # converged to rounding
                break
    if gradient_norm > tolerance * initial_norm and not progress.interrupted and steps >= rounds:
        warn_not_converged(rounds, gradient_norm / initial_norm, tolerance)
    return Solution(weights, 0.5 * float(weights @ weights) + C * loss.value, gradient_norm, steps)


def _move(
    features: F64, pairs: AnyPairs, C: float, weights: F64, scores: F64, step: F64, loss: PairLoss
) -> tuple[PairLoss, float, F64]:
    """Search along a step; return the loss at the new point, the length, and the scores of the step."""
    step_scores = features @ step
    linear, square = float(step @ weights), float(step @ step)
    losses: dict[float, PairLoss] = {}

    def slope(t: float) -> float:
        losses[t] = pairs.loss(scores + t * step_scores, squared=True)
        return linear + t * square + C * float(losses[t].gradient @ step_scores)

    first = linear + C * float(loss.gradient @ step_scores)
    if first >= 0:
        return loss, 0.0, step_scores
    length = line_search(slope, first, 0.05)
    return losses[length], length, step_scores


def hessian(features: F64, pairs: AnyPairs, C: float, scores: F64, loss: PairLoss) -> F64:
    """Return I + C Xᵀ(A X), where A, the second derivative by scores, is applied to blocks of queries."""
    width = features.shape[1]
    total = np.eye(width)
    offsets, first = pairs.offsets, 0
    while first < len(offsets) - 1:
        last = max(first + 1, int(np.searchsorted(offsets, offsets[first] + _BLOCK, side="right")) - 1)
        rows = slice(offsets[first], offsets[last])
        block = features[rows]
        total += C * (block.T @ pairs.part(first, last).product(scores[rows], loss.order[rows], block))
        first = last
    return (total + total.T) / 2


def _solve(matrix: F64, target: F64) -> F64:
    """Solve for a step; by least squares if the matrix is numerically singular (very large, collinear features)."""
    try:
        return np.asarray(np.linalg.solve(matrix, target), np.float64)
    except np.linalg.LinAlgError:
        sizes = 1.0 / np.sqrt(np.diag(matrix))
        return np.asarray(sizes * np.linalg.lstsq(sizes[:, None] * matrix * sizes, sizes * target)[0], np.float64)


def _multiplier(features: F64, pairs: AnyPairs, C: float, scores: F64, loss: PairLoss) -> Callable[[F64], F64]:
    """Return the function v → Hessian · v, without forming the Hessian."""

    def multiply(vector: F64) -> F64:
        along = pairs.product(scores, loss.order, (features @ vector)[:, None])[:, 0]
        product: F64 = vector + C * (along @ features)
        return product

    return multiply


def conjugate_gradients(multiply: Callable[[F64], F64], target: F64, precision: float = 0.1) -> F64:
    """Return x with ‖multiply(x) − target‖ ≤ precision · ‖target‖ for a positive definite operator."""
    solution, residual = np.zeros_like(target), target.copy()
    direction, square = residual.copy(), float(residual @ residual)
    goal = precision**2 * square
    for _ in range(2 * len(target)):
        if square <= goal:
            break
        product = multiply(direction)
        length = square / float(direction @ product)
        solution += length * direction
        residual -= length * product
        square, last = float(residual @ residual), square
        direction = residual + (square / last) * direction
    return solution
