"""Dependent ranking: documents of a query that are alike, or point to each other, share their scores.

A plain ranker scores each document by itself. `Relational` wraps one and spreads its scores along the relations of the
query's documents, as relevance propagation does (Shakery and Zhai 2003; Qin et al. 2005):

    x = (1 − w) · s + w · W x

with s the plain scores and W the relations, each row divided by its sum. A document without relations keeps its score.
The weight w is chosen on the validation set; w = 0 gives the plain ranking back.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from pippin.data.dataset import Dataset
from pippin.errors import DataError
from pippin.evaluation.convention import Convention
from pippin.evaluation.objective import Judge
from pippin.extras import need
from pippin.rankers.base import Ranker

if TYPE_CHECKING:
    import scipy.sparse

F64 = NDArray[np.float64]
_TOLERANCE, _ROUNDS = 1e-10, 2000
WEIGHTS = (0.0, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)


@dataclass(frozen=True, eq=False)
class Relations:
    """How strongly documents of one data set are related: rows[i] to columns[i] by weights[i], within queries only."""

    data: Dataset
    rows: NDArray[np.int64]
    columns: NDArray[np.int64]
    weights: NDArray[np.float64]

    def __post_init__(self) -> None:
        if not len(self.rows) == len(self.columns) == len(self.weights):
            raise DataError("relations need as many rows as columns and weights")
        if not (np.isfinite(self.weights).all() and (self.weights >= 0).all()):
            raise DataError("a relation's weight is a number from 0")
        named = np.concatenate((self.rows, self.columns))
        if len(named) and (named.min() < 0 or named.max() >= len(self.data)):
            raise DataError(f"a relation names a document beyond the {len(self.data):,} of {self.data.name}")
        query = self.data.qid()
        if (query[self.rows] != query[self.columns]).any():
            raise DataError("documents of different queries are related; relations stay within a query")

    def matrix(self) -> scipy.sparse.csr_array:
        """W: each row sums to 1; a document related to nobody is related to itself."""
        need("spreading scores along relations", "scipy")
        import scipy.sparse

        count = len(self.data)
        apart = self.rows != self.columns
        related = scipy.sparse.csr_array(
            (self.weights[apart], (self.rows[apart], self.columns[apart])), shape=(count, count), dtype=np.float64
        )
        sums = np.asarray(related.sum(axis=1)).ravel()
        alone = sums == 0
        scale = scipy.sparse.diags_array(1 / np.where(alone, 1, sums))
        return scipy.sparse.csr_array(scale @ related + scipy.sparse.diags_array(alone.astype(np.float64)))


def spread(scores: F64, relations: Relations, weight: float) -> F64:
    """The fixed point x = (1 − w) s + w W x.

    >>> data = Dataset(np.zeros((3, 1)), np.zeros(3, np.int32), np.array([0, 3]), ("q",))
    >>> pair = Relations(data, np.array([0, 1]), np.array([1, 0]), np.array([1.0, 1.0]))
    >>> spread(np.array([1.0, 0.0, 0.5]), pair, 0.5).round(6).tolist()
    [0.666667, 0.333333, 0.5]
    """
    if not 0 <= weight < 1:
        raise DataError(f"the weight of relations is a number from 0 to below 1, not {weight:g}")
    if weight == 0:
        return scores
    matrix = relations.matrix()
    start = (1 - weight) * scores
    spread_scores: F64 = scores
    for _ in range(_ROUNDS):
        last, spread_scores = spread_scores, start + weight * (matrix @ spread_scores)
        change = float(np.abs(spread_scores - last).max(initial=0.0))
        if change <= _TOLERANCE * max(1.0, float(np.abs(scores).max(initial=0.0))):
            return spread_scores
    raise DataError(
        f"scores do not settle along these relations: after {_ROUNDS} rounds they still move by {change:.3g}"
    )


class Relational:
    """Any ranker, with its scores spread along relations.

    `weights` are tried on the validation set; the first best by `measure` under `convention` is `weight_`, the tried
    ones with their values are `candidates_`.
    """

    def __init__(
        self,
        ranker: Ranker,
        weights: Sequence[float] = WEIGHTS,
        measure: str = "NDCG@10",
        convention: str | Convention = "official",
    ) -> None:
        self.ranker, self.weights, self.measure, self.convention = ranker, weights, measure, convention

    def fit(self, train: Dataset, *, eval_set: Dataset, relations: Relations) -> Self:
        """Fit the ranker on `train`, then choose the weight on `eval_set`, whose documents `relations` relates."""
        self.ranker_: Ranker = self.ranker.fresh()
        self.ranker_.fit(train, eval_set=eval_set)
        return self.choose(eval_set, relations)

    def choose(self, data: Dataset, relations: Relations) -> Self:
        """Choose the weight on `data`; the ranker stays as it was fitted."""
        judge, scores = Judge(data, self.measure, self.convention), self.ranker_.predict(data)
        self.candidates_ = [(weight, judge.mean(spread(scores, relations, weight))) for weight in self.weights]
        self.weight_ = max(self.candidates_, key=lambda tried: tried[1])[0]
        self.ranker_.relation_weight_ = self.weight_  # so that its model file tells
        return self

    @classmethod
    def around(cls, ranker: Ranker) -> Self:
        """The wrapper of a fitted or loaded ranker, with the weight that was chosen with it, if one was."""
        wrapper = cls(ranker)
        wrapper.ranker_ = ranker
        if (weight := ranker.relation_weight_) is not None:
            wrapper.weight_ = weight
        return wrapper

    def predict(self, data: Any, relations: Relations) -> F64:
        """A score per document, after spreading."""
        if not hasattr(self, "weight_"):
            raise DataError(f"this {self.ranker_.name} was trained without relations; train it with some to use them")
        return spread(self.ranker_.predict(data), relations, self.weight_)
