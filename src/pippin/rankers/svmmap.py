"""SVM-MAP: a structural SVM for mean average precision."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from pippin.data.dataset import Dataset
from pippin.errors import DataError
from pippin.kernels.optimisers import frank_wolfe_pass, most_violated
from pippin.rankers.base import EarlyStopping, register
from pippin.rankers.linear import (
    LinearRanker,
    Solution,
    check_standardize,
    cutting_planes,
    drop_constant_queries,
    inverse_deviations,
    one_blas_thread,
    progress_only,
    should_standardize,
    warn_not_converged,
)
from pippin.rankers.parameters import above_zero, check_minima, one_of, parameter
from pippin.rankers.training_data import query_weights

F64 = NDArray[np.float64]


@register("svmmap")
class SVMMAP(LinearRanker):
    """Structural SVM for mean average precision.

    min over w of ½‖w‖² + C · mean over queries of max over rankings y of (1 − AP(y)) − w·(Ψ* − Ψ(y)), where Ψ(y) is the
    mean of ±(x_i − x_j) over relevant i and other j, + if y ranks i above j (Yue et al. 2007, section 3).
    """

    source = "Yue, Finley, Radlinski & Joachims 2007; block-coordinate Frank-Wolfe: Lacoste-Julien et al. 2013"
    grid: ClassVar[Mapping[str, Sequence[Any]]] = {"C": [10.0**k for k in range(-3, 5)]}
    small_grid: ClassVar[Mapping[str, Sequence[Any]]] = {"C": (10.0, 1000.0)}
    cost_ms = 170
    supports_sample_weight = True

    C: float = parameter(10.0, "cost of the mean hinge relative to the regularisation of the weights")
    solver: str = parameter(
        "cutting-planes", "cutting-planes (one slack), or frank-wolfe (block-coordinate; slow for large C)"
    )
    relevance_threshold: int = parameter(1, "minimum label of relevant documents")
    standardize: bool | str = parameter(
        "auto", "divide features by their deviation within queries; auto: unless all are within [-1, 1]"
    )
    tol: float = parameter(0.001, "duality gap relative to the possible gain over w = 0")
    max_iter: int = parameter(1000, "maximum number of passes over the queries or cutting planes")
    seed: int = parameter(0, "seed of the order of queries in frank-wolfe")
    verbose: bool = parameter(False, "show progress")

    def _check(self) -> None:
        above_zero(self, "C", "tol", "max_iter")
        one_of(self, solver=("frank-wolfe", "cutting-planes"))
        check_minima(self, seed=0)
        check_standardize(self.name, self.standardize)

    def _fit(self, train: Dataset, valid: Dataset | None) -> None:
        if not (train.labels >= self.relevance_threshold).any():
            raise DataError(
                f"no document of the training set reaches the relevance threshold {self.relevance_threshold}"
            )
        data = drop_constant_queries(train, self.relevance_threshold)
        features = np.asarray(data.features, np.float64)
        is_scaled = data.queries > 0 and should_standardize(self.standardize, features)
        factors = inverse_deviations(data) if is_scaled else np.ones(features.shape[1])
        features = features * factors if is_scaled else features
        weights = query_weights(data)
        if weights is not None and self.solver == "frank-wolfe":
            raise DataError(f"{self.name}: the solver frank-wolfe does not support sample_weight; use cutting-planes")
        hinge = MeanHinge((data.labels >= self.relevance_threshold).astype(np.uint8), data.offsets, weights)
        progress = progress_only(self.max_iter, "svmmap", self.verbose)
        with one_blas_thread():
            if data.queries == 0:
                solution = Solution(np.zeros(features.shape[1]), 0.0, 0.0, 0)
            elif self.solver == "frank-wolfe":
                solution = frank_wolfe(features, hinge, self.C, self.tol, self.max_iter, self.seed, progress)
            else:
                solution = cutting_planes(features, hinge, self.C, self.tol, self.max_iter, progress)
        self.coef_ = solution.weights * factors
        self.objective_, self.n_iter_ = solution.objective, solution.rounds


class MeanHinge:
    """The mean over queries of max over rankings y of Δ(y) − w·(Ψ* − Ψ(y)), as a function of the scores."""

    def __init__(self, relevant: NDArray[np.uint8], offsets: NDArray[np.int64], weights: F64 | None = None) -> None:
        self.relevant, self.offsets = relevant, offsets
        self.queries, self.weights = len(offsets) - 1, weights

    def __call__(self, scores: F64) -> tuple[float, F64]:
        """Return the value and its gradient by score."""
        losses, coefficients = most_violated(self.relevant, self.offsets, scores)
        if self.weights is None:
            return float(losses.sum() - coefficients @ scores) / self.queries, -coefficients / self.queries
        total, rows = float(self.weights.sum()), np.repeat(self.weights, np.diff(self.offsets)) * coefficients
        return float(self.weights @ losses - rows @ scores) / total, -rows / total


def frank_wolfe(
    features: F64, hinge: MeanHinge, C: float, tolerance: float, rounds: int, seed: int, progress: EarlyStopping
) -> Solution:
    """Run block-coordinate Frank-Wolfe on the dual (Lacoste-Julien et al. 2013, Algorithm 3) until the gap is small.

    The objective ½‖w‖² + C · mean hinge is bounded below by the dual, C Σ losses − ½‖w‖².
    """
    queries, width = hinge.queries, features.shape[1]
    weights, blocks, losses = np.zeros(width), np.zeros((queries, width)), np.zeros(queries)
    random = np.random.Generator(np.random.Philox(seed))
    start = C * hinge(np.zeros(len(features)))[0]
    solution = Solution(weights, start, start, 0)
    with progress:
        for done in range(1, rounds + 1):
            order = random.permutation(queries).astype(np.int64)
            frank_wolfe_pass(hinge.relevant, hinge.offsets, features, order, 1.0 / C, weights, blocks, losses)
            value, _ = hinge(features @ weights)
            norm = float(weights @ weights)
            gap = norm + C * (value - float(losses.sum()))
            solution = Solution(weights.copy(), norm / 2 + C * value, gap, done)
            if progress.update(weights.copy) or solution.missing(start) <= tolerance:
                return solution
    if not progress.interrupted:
        warn_not_converged(rounds, solution.missing(start), tolerance)
    return solution
