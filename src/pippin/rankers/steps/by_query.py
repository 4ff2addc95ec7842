"""What steps share whose ranker depends on the query: several models, and how much each counts for a query."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pippin.data.dataset import Dataset, rows_of
from pippin.errors import DataError
from pippin.rankers.base import Features, Ranker
from pippin.rankers.parts.convex import with_pairs
from pippin.rankers.parts.parameters import at_least, parameter
from pippin.rankers.parts.query_space import AUTO, QuerySpace, nearest
from pippin.rankers.steps.base import Step

F64 = NDArray[np.float64]
I64 = NDArray[np.int64]


class ByQuery(Step):
    """A step that trains several models and weighs them by the query's point (`parts.query_space`)."""

    takes_null = True
    takes_weights = False
    whole_queries = True

    top: int = parameter(10, "documents, first by the reference, whose mean features say what a query is like")
    reference: str = parameter(AUTO, "the feature that says which documents are first; auto: the best one alone")

    @classmethod
    def first_parameter(cls) -> str | None:
        """The first of a step's own parameters, before those that all of these steps have."""
        return next(key for key in cls.parameters if key not in ByQuery.parameters)

    def _check(self) -> None:
        at_least(self, top=1)

    def _fit(self, train: Dataset, valid: Dataset | None, rest: Ranker) -> None:
        telling = with_pairs(train)
        if not telling.queries:
            raise DataError(f"no query of {train.name} has documents of different labels; there is nothing to learn")
        self.space_ = QuerySpace.of(telling, self.reference, self.top)
        self._learn(telling, self._points(telling), None if valid is None or not valid.queries else valid, rest)

    def _points(self, data: Dataset) -> F64:
        return self.space_.points(np.asarray(data.features, np.float64), data.offsets)

    def _learn(self, train: Dataset, points: F64, valid: Dataset | None, rest: Ranker) -> None:
        """Train the models."""
        raise NotImplementedError

    def _shares(self, points: F64) -> F64:
        """[q, m] how much each model counts for a query; 0 where it does not."""
        raise NotImplementedError

    def _state(self) -> dict[str, Any]:
        return {"space": self.space_.state(self.feature_names_)}

    def _restore(self, state: dict[str, Any]) -> None:
        self.space_ = QuerySpace.restored(state["space"], self.feature_names_)

    def scores(self, features: Features, offsets: I64 | None) -> F64:
        """Each query's documents by its own models; several are averaged at one spread within the query."""
        if offsets is None:
            raise together(self.name)
        shares, sizes = self._shares(self.space_.points(features, offsets)), np.diff(offsets)
        mixed = (shares > 0).sum(axis=1) > 1
        total = np.zeros(len(features))
        for model, share in zip(self.models_, shares.T, strict=True):
            asked = np.flatnonzero((share > 0) & (sizes > 0))
            if not len(asked):
                continue
            rows, own = rows_of(offsets, asked), np.concatenate(([0], np.cumsum(sizes[asked]))).astype(np.int64)
            found = model.scores(np.ascontiguousarray(features[rows]), own)
            total[rows] += np.where(
                np.repeat(mixed[asked], sizes[asked]),
                np.repeat(share[asked], sizes[asked]) * at_one_spread(found, own), found,
            )  # fmt: skip
        return total

    def _no_form(self) -> str:
        return "which model counts depends on the query's other documents"


def at_one_spread(scores: F64, offsets: I64) -> F64:
    """Scores less the mean of their query, divided by their deviation within it; 0 where all are alike.

    >>> at_one_spread(np.array([1.0, 3.0, 5.0]), np.array([0, 2, 3])).tolist()
    [-1.0, 1.0, 0.0]
    """
    sizes = np.diff(offsets)
    mean = np.repeat(np.add.reduceat(scores, offsets[:-1]) / sizes, sizes)
    apart: F64 = scores - mean
    deviation = np.repeat(np.sqrt(np.add.reduceat(apart**2, offsets[:-1]) / sizes), sizes)
    alike = deviation <= 1e-12 * (1.0 + np.abs(mean))
    return np.where(alike, 0.0, apart / np.where(alike, 1.0, deviation))


def one_each(chosen: I64 | Sequence[int], models: int) -> F64:
    """[q, m] 1 for the model that a query has chosen."""
    shares = np.zeros((len(chosen), models))
    shares[np.arange(len(chosen)), chosen] = 1.0
    return shares


def near_part(valid: Dataset | None, points: F64 | None, point: F64, k: int) -> Dataset | None:
    """The validation queries nearest to a point, which stop the training of its model."""
    if valid is None or points is None:
        return None
    return valid.select(np.sort(nearest(point[None], points, k)[0]))


def together(name: str) -> DataError:
    """What is said where nobody tells the queries of documents."""
    return DataError(f"{name} scores a query's documents together; give a Dataset, or qid= or group= with X")
