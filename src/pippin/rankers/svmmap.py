"""SVM-MAP: a structural SVM whose margin is the loss in average precision of the whole ranking."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from pippin.data.dataset import Dataset
from pippin.errors import DataError
from pippin.kernels.svmmap import frank_wolfe_pass, most_violated
from pippin.rankers.base import register
from pippin.rankers.parts.convex import (
    Solution,
    cutting_planes,
    one_blas_thread,
    plain_watch,
    warn_unfinished,
    with_pairs,
)
from pippin.rankers.parts.linear import LinearRanker
from pippin.rankers.parts.parameters import above_zero, at_least, one_of, parameter
from pippin.rankers.parts.spread import check_standardise, factors_within, standardises
from pippin.rankers.parts.watch import Watch
from pippin.rankers.parts.weights import query_weights

F64 = NDArray[np.float64]


@register("svmmap")
class SVMMAP(LinearRanker):
    """Structural SVM for mean average precision.

    min over w of ½‖w‖² + C · mean over queries of max over rankings y of (1 − AP(y)) − w·(Ψ* − Ψ(y)), where Ψ(y) is the
    mean of ±(x_i − x_j) over relevant i and other j, + where y puts i above j.
    """

    source = "Yue, Finley, Radlinski & Joachims 2007; block-coordinate Frank-Wolfe: Lacoste-Julien et al. 2013"
    grid: ClassVar[Mapping[str, Sequence[Any]]] = {"C": [10.0**k for k in range(-3, 5)]}
    quick_grid: ClassVar[Mapping[str, Sequence[Any]]] = {"C": (10.0, 1000.0)}
    milliseconds = 170
    takes_weights = True

    C: float = parameter(10.0, "how much the mean hinge counts against small weights")
    solver: str = parameter(
        "cutting-planes", "cutting-planes (one slack), or frank-wolfe (block-coordinate; slow to end for a large C)"
    )
    relevant_at: int = parameter(1, "a document with this label or more is relevant")
    standardise: bool | str = parameter(
        "auto", "features divided by their deviation within queries; auto: unless all are within [-1, 1]"
    )
    tolerance: float = parameter(0.001, "duality gap, as a part of what can be gained over w = 0")
    rounds: int = parameter(1000, "passes over the queries, or planes, at most")
    seed: int = parameter(0, "of the order in which frank-wolfe visits the queries")
    verbose: bool = parameter(False, "show progress")

    def _check(self) -> None:
        above_zero(self, "C", "tolerance", "rounds")
        one_of(self, solver=("frank-wolfe", "cutting-planes"))
        at_least(self, seed=0)
        check_standardise(self.name, self.standardise)

    def _fit(self, train: Dataset, valid: Dataset | None) -> None:
        if not (train.labels >= self.relevant_at).any():
            raise DataError(f"no document of the training set has a label of {self.relevant_at} or more")
        data = with_pairs(train, self.relevant_at)
        features = np.asarray(data.features, np.float64)
        wanted = data.queries > 0 and standardises(self.standardise, features)
        factors = factors_within(data) if wanted else np.ones(features.shape[1])
        features = features * factors if wanted else features
        weights = query_weights(data)
        if weights is not None and self.solver == "frank-wolfe":
            raise DataError(f"{self.name}: frank-wolfe has no meaning for weights of queries; cutting-planes has")
        hinge = MeanHinge((data.labels >= self.relevant_at).astype(np.uint8), data.offsets, weights)
        watch = plain_watch(self.rounds, "svmmap", self.verbose)
        with one_blas_thread():
            if data.queries == 0:
                solution = Solution(np.zeros(features.shape[1]), 0.0, 0.0, 0)
            elif self.solver == "frank-wolfe":
                solution = frank_wolfe(features, hinge, self.C, self.tolerance, self.rounds, self.seed, watch)
            else:
                solution = cutting_planes(features, hinge, self.C, self.tolerance, self.rounds, watch)
        self.coef_ = solution.weights * factors
        self.objective_, self.n_iter_ = solution.objective, solution.rounds


class MeanHinge:
    """The mean over queries of max over rankings y of Δ(y) − w·(Ψ* − Ψ(y)), as a function of the scores."""

    def __init__(self, relevant: NDArray[np.uint8], offsets: NDArray[np.int64], weights: F64 | None = None) -> None:
        self.relevant, self.offsets = relevant, offsets
        self.queries, self.weights = len(offsets) - 1, weights

    def __call__(self, scores: F64) -> tuple[float, F64]:
        """Its value, and its derivative by each score."""
        losses, coefficients = most_violated(self.relevant, self.offsets, scores)
        if self.weights is None:
            return float(losses.sum() - coefficients @ scores) / self.queries, -coefficients / self.queries
        whole, rows = float(self.weights.sum()), np.repeat(self.weights, np.diff(self.offsets)) * coefficients
        return float(self.weights @ losses - rows @ scores) / whole, -rows / whole


def frank_wolfe(
    features: F64, hinge: MeanHinge, C: float, tolerance: float, rounds: int, seed: int, watch: Watch
) -> Solution:
    """Block-coordinate Frank-Wolfe on the dual, queries in a new order each pass, until the duality gap is small.

    The objective ½‖w‖² + C · mean hinge is never below the dual, C Σ losses − ½‖w‖².
    """
    queries, width = hinge.queries, features.shape[1]
    weights, blocks, losses = np.zeros(width), np.zeros((queries, width)), np.zeros(queries)
    random = np.random.Generator(np.random.Philox(seed))
    start = C * hinge(np.zeros(len(features)))[0]
    solution = Solution(weights, start, start, 0)
    with watch:
        for done in range(1, rounds + 1):
            order = random.permutation(queries).astype(np.int64)
            frank_wolfe_pass(hinge.relevant, hinge.offsets, features, order, 1.0 / C, weights, blocks, losses)
            value, _ = hinge(features @ weights)
            norm = float(weights @ weights)
            gap = norm + C * (value - float(losses.sum()))
            solution = Solution(weights.copy(), norm / 2 + C * value, gap, done)
            if watch.after(weights.copy) or solution.missing(start) <= tolerance:
                return solution
    if not watch.interrupted:
        warn_unfinished(rounds, solution.missing(start), tolerance)
    return solution
