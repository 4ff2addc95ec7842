"""Relational ranking: scores are propagated between similar or linked documents of a query.

`Relational` wraps a ranker and propagates its scores along relations of the query's documents (relevance propagation,
Shakery and Zhai 2003; Qin et al. 2005):

    x = (1 − w) · s + w · W x

with s the scores of the ranker and W the relations with normalised rows. A document without relations keeps its score.
The validation set selects the weight w; w = 0 is the original ranking.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from pippin.data.buffers import open_buffer
from pippin.data.dataset import Dataset
from pippin.errors import DataError
from pippin.evaluation.convention import Convention
from pippin.evaluation.objective import Objective
from pippin.models.model import Model
from pippin.rankers.base import SCORES_DOCUMENTS_TOGETHER, Ranker

if TYPE_CHECKING:
    import scipy.sparse

F64 = NDArray[np.float64]
_TOLERANCE, _ROUNDS = 1e-10, 2000  # propagation stops at this change of a score, or after this many rounds
WEIGHTS = (0.0, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)  # candidates for the share of related scores


@dataclass(frozen=True, eq=False)
class Relations:
    """Weighted relations between documents of the same query: rows[i] to columns[i] with weights[i]."""

    data: Dataset
    rows: NDArray[np.int64]
    columns: NDArray[np.int64]
    weights: NDArray[np.float64]

    def __post_init__(self) -> None:
        if not len(self.rows) == len(self.columns) == len(self.weights):
            raise DataError("rows, columns and weights of relations must have the same length")
        if not (np.isfinite(self.weights).all() and (self.weights >= 0).all()):
            raise DataError("weights of relations must be finite and 0 or more")
        named_rows = np.concatenate((self.rows, self.columns))
        if len(named_rows) and (named_rows.min() < 0 or named_rows.max() >= len(self.data)):
            raise DataError(f"a relation has an unknown document: {self.data.name} has {len(self.data):,} documents")
        query = self.data.qid()
        if (query[self.rows] != query[self.columns]).any():
            raise DataError("relations must be between documents of the same query")

    def matrix(self) -> scipy.sparse.csr_array:
        """Return W: each row sums to 1; documents without relations are related to themselves."""
        import scipy.sparse

        count = len(self.data)
        is_pair = self.rows != self.columns
        related = scipy.sparse.csr_array(
            (self.weights[is_pair], (self.rows[is_pair], self.columns[is_pair])), shape=(count, count), dtype=np.float64
        )
        sums = np.asarray(related.sum(axis=1)).ravel()
        is_unrelated = sums == 0
        scale = scipy.sparse.diags_array(1 / np.where(is_unrelated, 1, sums))
        return scipy.sparse.csr_array(scale @ related + scipy.sparse.diags_array(is_unrelated.astype(np.float64)))


def read_similarity(path: str | os.PathLike[str]) -> dict[str, F64]:
    """Read similarity matrices by query id; missing pairs are 0."""
    buffer = open_buffer(path)
    rows: dict[str, list[tuple[int, list[str]]]] = {}
    for number, line in enumerate(buffer.data.tobytes().decode("utf-8", "replace").splitlines(), 1):
        fields = line.split()
        if not fields or line.startswith("#"):
            continue
        if len(fields) < 2 or not fields[0].startswith("qid:") or not fields[1].startswith("qdid:"):
            raise DataError("expected qid:<query> qdid:<document> at the start of the line", buffer.name, number)
        query = rows.setdefault(fields[0][4:], [])
        if fields[1][5:] != str(len(query) + 1):
            expected = f"document {len(query) + 1} of query {fields[0][4:]}"
            raise DataError(f"expected {expected}, got qdid {fields[1][5:]!r}", buffer.name, number)
        query.append((number, fields[2:]))
    return {query: _matrix(lines, buffer.name) for query, lines in rows.items()}


def _matrix(lines: list[tuple[int, list[str]]], file: str) -> F64:
    matrix = np.zeros((len(lines), len(lines)))
    for row, (number, entries) in enumerate(lines):
        for entry in entries:
            column, _, value = entry.partition(":")
            try:
                other_row, similarity = int(column), float(value)
            except ValueError:
                raise DataError(f"expected <document>:<similarity>, got {entry!r}", file, number) from None
            if not (1 <= other_row <= len(lines) and np.isfinite(similarity)):
                raise DataError(f"{entry!r} has an unknown document: this query has {len(lines)}", file, number)
            matrix[row, other_row - 1] = similarity
    return matrix


TOP = 10  # relations kept per document; the many small similarities of long lists add noise


def nearest_relations(data: Dataset, path: str | os.PathLike[str], *, top: int = TOP) -> Relations:
    """Return the relations in a similarity file, which numbers the documents of each query as the data set does."""
    matrices = read_similarity(path)
    rows, columns, weights = [], [], []
    for query, first, last in zip(data.query_ids, data.offsets[:-1].tolist(), data.offsets[1:].tolist(), strict=True):
        if query not in matrices:
            raise DataError(f"the query {query} of {data.name} is not in this file", path)
        matrix = matrices[query].copy()
        if len(matrix) != last - first:
            raise DataError(f"query {query} has {len(matrix)} documents here and {last - first} in {data.name}", path)
        np.fill_diagonal(matrix, 0.0)
        near = np.argsort(-matrix, axis=1, kind="stable")[:, :top]
        rows_of_query = np.repeat(np.arange(len(matrix)), near.shape[1])
        strength = matrix[rows_of_query, near.ravel()]
        rows.append(first + rows_of_query[strength > 0])
        columns.append(first + near.ravel()[strength > 0])
        weights.append(strength[strength > 0])
    none = np.empty(0, np.int64)
    return Relations(
        data, np.concatenate([*rows, none]), np.concatenate([*columns, none]), np.concatenate([*weights, np.empty(0)])
    )


def as_relations(relations: Relations | str | os.PathLike[str], data: Dataset) -> Relations:
    """Return relations, reading a similarity file for the documents of `data` if necessary."""
    return relations if isinstance(relations, Relations) else nearest_relations(data, relations)


def propagate_scores(scores: F64, relations: Relations, weight: float) -> F64:
    """Return the fixed point x = (1 − w) s + w W x.

    >>> data = Dataset(np.zeros((3, 1)), np.zeros(3, np.int32), np.array([0, 3]), ("q",))
    >>> pair = Relations(data, np.array([0, 1]), np.array([1, 0]), np.array([1.0, 1.0]))
    >>> propagate_scores(np.array([1.0, 0.0, 0.5]), pair, 0.5).round(6).tolist()
    [0.666667, 0.333333, 0.5]
    """
    if not 0 <= weight < 1:
        raise DataError(f"the weight of relations must be at least 0 and below 1, got {weight:g}")
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
    raise DataError(f"propagation does not converge: scores still change by {change:.3g} after {_ROUNDS} rounds")


class Relational:
    """A ranker whose scores are propagated along relations.

    The validation set selects `weight_` from `weights` by `measure` under `convention`; `candidates_` has all weights
    with their values.
    """

    def __init__(
        self,
        ranker: Ranker,
        weights: Sequence[float] = WEIGHTS,
        measure: str = "NDCG@10",
        convention: str | Convention = "official",
    ) -> None:
        self.ranker, self.weights, self.measure, self.convention = ranker, weights, measure, convention

    def to_model(self) -> Model:
        """Raise DataError, because engines do not score the documents of a query together."""
        raise DataError(SCORES_DOCUMENTS_TOGETHER)

    def fit(self, train: Dataset, *, eval_set: Dataset, relations: Relations) -> Self:
        """Fit the ranker on `train`, then select the weight on `eval_set` with its relations.

        Parameters
        ----------
        train : Dataset
            Training set.
        eval_set : Dataset
            Validation set.
        relations : Relations
            Relations between documents of the validation set.
        """
        self.ranker_: Ranker = self.ranker.clone()
        self.ranker_.fit(train, eval_set=eval_set)
        return self.choose(eval_set, relations)

    def choose(self, data: Dataset, relations: Relations) -> Self:
        """Select the weight on `data` without fitting the ranker.

        Parameters
        ----------
        data : Dataset
            Data set with labels.
        relations : Relations
            Relations between its documents.
        """
        judge, scores = Objective(data, self.measure, self.convention), self.ranker_.predict(data)
        self.candidates_ = [
            (weight, judge.mean(propagate_scores(scores, relations, weight))) for weight in self.weights
        ]
        self.weight_ = max(self.candidates_, key=lambda candidate: candidate[1])[0]
        self.ranker_.relation_weight_ = self.weight_  # saved with the ranker
        return self

    @classmethod
    def around(cls, ranker: Ranker) -> Self:
        """Return the wrapper of a fitted or loaded ranker with its weight, if it has one.

        Parameters
        ----------
        ranker : Ranker
            Fitted or loaded ranker.
        """
        wrapper = cls(ranker)
        wrapper.ranker_ = ranker
        if (weight := ranker.relation_weight_) is not None:
            wrapper.weight_ = weight
        return wrapper

    def predict(self, data: Any, relations: Relations) -> F64:
        """Return the propagated score of each document.

        Parameters
        ----------
        data : Dataset, path or array-like
            Documents to score.
        relations : Relations
            Relations between these documents.
        """
        if not hasattr(self, "weight_"):
            raise DataError(f"this {self.ranker_.name} was trained without relations: train it with relations first")
        return propagate_scores(self.ranker_.predict(data), relations, self.weight_)
