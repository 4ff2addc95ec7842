"""Ranking SVM: a linear ranker with a margin between any two documents of different labels, trained to the optimum.

Every sum over pairs is taken by order statistics in O(n log n), so the pairs themselves are never listed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, TypeAlias

import numpy as np
from numpy.typing import NDArray

from pippin.data.dataset import Dataset
from pippin.errors import ConventionError
from pippin.kernels.pairs import PairLoss, Pairs, grade
from pippin.rankers.base import register
from pippin.rankers.parts.convex import (
    Solution,
    cutting_planes,
    line_search,
    one_blas_thread,
    plain_watch,
    warn_unfinished,
    with_pairs,
)
from pippin.rankers.parts.linear import LinearRanker
from pippin.rankers.parts.parameters import above_zero, one_of, parameter
from pippin.rankers.parts.preferred import PreferredPairs, preferences_of
from pippin.rankers.parts.starts import start_of
from pippin.rankers.parts.watch import Watch
from pippin.rankers.parts.weights import query_weights

F64 = NDArray[np.float64]
AnyPairs: TypeAlias = Pairs | PreferredPairs

_DIRECT = 300  # features up to which the Hessian is formed and solved; above, conjugate gradients multiply by it
_BLOCK = 8192  # documents whose part of the Hessian is formed at a time


@register("ranksvm")
class RankSVM(LinearRanker):
    """Linear Ranking SVM.

    min over w of ½‖w‖² + C Σ c · ℓ(1 − w·(x_i − x_j)) over pairs of a query with label_i > label_j;
    ℓ(z) = max(0, z) (hinge) or max(0, z)² (squared).
    """

    source = "Herbrich et al. 2000, Joachims 2002; order statistics: Lee & Lin 2014; Newton: Chapelle & Keerthi 2010"
    grid: ClassVar[Mapping[str, Sequence[Any]]] = {"C": [10.0**k for k in range(-6, 5)]}
    quick_grid: ClassVar[Mapping[str, Sequence[Any]]] = {"C": (1e-4, 1e-2, 1.0)}
    milliseconds = 30
    takes_weights = True
    takes_preferences = True
    takes_start = True

    C: float = parameter(0.001, "how much a violated pair counts against small weights")
    loss: str = parameter("squared", "squared (Newton's method), or hinge (cutting planes; SVMlight's loss)")
    pairs: str = parameter(
        "equal", "equal: every pair counts 1 (SVMlight); query: every query counts 1, shared by its pairs"
    )
    tolerance: float = parameter(0.001, "squared: ‖gradient‖ / ‖gradient at 0‖; hinge: duality gap / gain over w = 0")
    rounds: int = parameter(1000, "Newton steps, or planes, at most")
    solver: str = parameter(
        "auto", "of a Newton step: direct, cg (conjugate gradients), or auto, by the number of features"
    )
    verbose: bool = parameter(False, "show progress")

    def _fit(self, train: Dataset, valid: Dataset | None) -> None:
        data, pairs = self._pairs(train)
        features = np.asarray(data.features, np.float64)
        watch = plain_watch(self.rounds, "ranksvm", self.verbose)
        with one_blas_thread():
            if self.loss == "squared":
                direct = self.solver == "direct" or (self.solver == "auto" and features.shape[1] <= _DIRECT)
                solution = newton(
                    features, pairs, self.C, self.tolerance, self.rounds, watch, direct=direct, start=start_of(data)
                )
            else:
                first = start_of(data)

                def hinge(scores: F64) -> tuple[float, F64]:
                    loss = pairs.loss(scores if first is None else first + scores, squared=False)
                    return loss.value, loss.gradient

                solution = cutting_planes(features, hinge, self.C, self.tolerance, self.rounds, watch)
        self.coef_, self.objective_, self.n_iter_ = solution.weights, solution.objective, solution.rounds

    def _pairs(self, train: Dataset) -> tuple[Dataset, AnyPairs]:
        """The pairs to learn from, and the documents that they are pairs of."""
        preferences = preferences_of(train)
        if preferences is not None:
            if self.pairs != "equal":
                raise ConventionError("ranksvm: preferred pairs have weights of their own; leave pairs at equal")
            return train, PreferredPairs.of(train, preferences)
        data = with_pairs(train)
        levels, counts = grade(data.labels, data.offsets)
        each, weights = np.ones_like(counts) if self.pairs == "equal" else 1.0 / counts, query_weights(data)
        return data, Pairs(levels, data.offsets, each if weights is None else weights * each)

    def _check(self) -> None:
        above_zero(self, "C", "tolerance", "rounds")
        one_of(self, loss=("squared", "hinge"), pairs=("equal", "query"), solver=("auto", "direct", "cg"))


def newton(
    features: F64, pairs: AnyPairs, C: float, tolerance: float, rounds: int, watch: Watch, *, direct: bool,
    start: F64 | None = None,
) -> Solution:  # fmt: skip
    """Newton's method with a line search for the squared hinge; it ends after finitely many steps near the optimum.

    `start`: scores that the weighted sum is added to; the price on weights is then one on the way from there.
    """
    weights, scores = np.zeros(features.shape[1]), np.zeros(len(features)) if start is None else start
    loss = pairs.loss(scores, squared=True)
    gradient = C * (loss.gradient @ features)
    steepest = size = float(np.linalg.norm(gradient))
    done = 0
    with watch:
        while size > tolerance * steepest and done < rounds:
            if direct:
                step = _solve(hessian(features, pairs, C, scores, loss), -gradient)
            else:
                step = conjugate_gradients(_multiplier(features, pairs, C, scores, loss), -gradient)
            loss, length, step_scores = _move(features, pairs, C, weights, scores, step, loss)
            weights, scores = weights + length * step, scores + length * step_scores
            gradient = weights + C * (loss.gradient @ features)
            size, last = float(np.linalg.norm(gradient)), size
            done += 1
            watch.after(scores.copy)
            if length == 0.0 or (size >= last and size <= 1e-10 * steepest):  # no digit is left to win
                break
    if size > tolerance * steepest and not watch.interrupted and done >= rounds:
        warn_unfinished(rounds, size / steepest, tolerance)
    return Solution(weights, 0.5 * float(weights @ weights) + C * loss.value, size, done)


def _move(
    features: F64, pairs: AnyPairs, C: float, weights: F64, scores: F64, step: F64, loss: PairLoss
) -> tuple[PairLoss, float, F64]:
    """Line search along a step: the loss where it ends, its length, and the scores of the step."""
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
    """I + C Xᵀ(A X), where A, the second derivative by the scores, is applied to blocks of queries."""
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
    """The step; where features are so large that the price on weights is lost in rounding, and alike, the least one."""
    try:
        return np.asarray(np.linalg.solve(matrix, target), np.float64)
    except np.linalg.LinAlgError:
        sizes = 1.0 / np.sqrt(np.diag(matrix))
        return np.asarray(sizes * np.linalg.lstsq(sizes[:, None] * matrix * sizes, sizes * target)[0], np.float64)


def _multiplier(features: F64, pairs: AnyPairs, C: float, scores: F64, loss: PairLoss) -> Callable[[F64], F64]:
    """v → Hessian · v, without forming it."""

    def multiply(vector: F64) -> F64:
        along = pairs.product(scores, loss.order, (features @ vector)[:, None])[:, 0]
        product: F64 = vector + C * (along @ features)
        return product

    return multiply


def conjugate_gradients(multiply: Callable[[F64], F64], target: F64, precision: float = 0.1) -> F64:
    """x with ‖multiply(x) − target‖ ≤ precision · ‖target‖ for a positive definite multiply."""
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
