"""Which queries are alike? A query as a point: the mean features of the documents that a reference feature puts first.

Geng et al. 2008 rank a query's documents by one reference (they take BM25) and average the features of the first T.
Coordinates are standardised over the training queries, so that the distance of two queries does not hang on one
feature's scale; a NULL counts nothing. Nothing of a query's labels is looked at, so that a new one has its point, too.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from pippin.data.dataset import Dataset
from pippin.errors import UnknownName
from pippin.evaluation.objective import Judge, Objective
from pippin.rankers.parts.spread import scales
from pippin.rankers.parts.states import count, direction, numbers, place

F64 = NDArray[np.float64]
I64 = NDArray[np.int64]
AUTO = "auto"


@dataclass(frozen=True, eq=False)
class QuerySpace:
    """How queries become points: the reference (a column and a sign), documents that count, mean and scale."""

    column: int
    sign: int
    top: int
    mean: F64
    scale: F64

    @classmethod
    def of(cls, data: Dataset, reference: str, top: int) -> Self:
        """The space of these queries; `auto` takes the feature that alone ranks them best by NDCG@10."""
        if reference == AUTO:
            column, sign = best_feature(data)
        elif reference in data.feature_names:
            column, sign = data.feature_names.index(reference), 1
        else:
            raise UnknownName("feature", reference, (AUTO, *data.feature_names))
        raw = averages(np.asarray(data.features, np.float64), data.offsets, column, sign, top)
        known = ~np.isnan(raw)
        sums = np.where(known, raw, 0.0).sum(axis=0)
        mean: F64 = sums / np.maximum(known.sum(axis=0), 1)
        return cls(column, sign, top, mean, scales(np.where(known, raw - mean, 0.0)))

    def points(self, features: F64, offsets: I64) -> F64:
        """[q, f] the point of each query; what a query does not know is as usual."""
        raw = averages(features, offsets, self.column, self.sign, self.top)
        placed: F64 = np.where(np.isnan(raw), 0.0, (raw - self.mean) / self.scale)
        return placed

    def state(self, names: tuple[str, ...]) -> dict[str, Any]:
        """As a model file keeps it."""
        return {"reference": names[self.column], "sign": self.sign, "top": self.top, "mean": self.mean.tolist(),
                "scale": self.scale.tolist()}  # fmt: skip

    @classmethod
    def restored(cls, state: dict[str, Any], names: tuple[str, ...]) -> Self:
        """Undo `state`; ValueError, KeyError or TypeError where it is none."""
        mean, scale = numbers(state["mean"]), numbers(state["scale"])
        if not len(mean) == len(scale) == len(names) or not (scale > 0).all() or count(state["top"]) < 1:
            raise ValueError("the points of queries do not fit the features")
        return cls(place(state["reference"], names), direction(state["sign"]), state["top"], mean, scale)


def best_feature(data: Dataset) -> tuple[int, int]:
    """The column, and the sign, that ranks the queries best by NDCG@10; NULL stands last."""
    least = np.nanmin(np.where(np.isnan(data.features), np.inf, data.features), axis=0, initial=0.0)
    table = np.where(np.isnan(data.features), least, data.features).astype(np.float64)
    filled = Dataset(table, data.labels, data.offsets, data.query_ids)
    judge = Judge(filled, "NDCG@10", "official")
    values = Objective(filled, judge.measure, judge.convention).features()
    counted = ~np.isnan(values)
    means = np.where(counted, values, 0.0).sum(axis=1) / np.maximum(counted.sum(axis=1), 1)
    best = int(means.argmax())
    return best // 2, 1 if best % 2 == 0 else -1


def averages(features: F64, offsets: I64, column: int, sign: int, top: int) -> F64:
    """[q, f] mean features of each query's first documents by one column; NaN where none of them has a value.

    >>> table = np.array([[1.0, 5.0], [3.0, 7.0], [2.0, 9.0]])
    >>> averages(table, np.array([0, 3]), 0, 1, 2).tolist()
    [[2.5, 8.0]]
    """
    found = np.full((len(offsets) - 1, features.shape[1]), np.nan)
    for query, (start, end) in enumerate(zip(offsets[:-1].tolist(), offsets[1:].tolist(), strict=True)):
        key = np.where(np.isnan(features[start:end, column]), np.inf, -sign * features[start:end, column])
        chosen = features[start:end][np.argsort(key, kind="stable")[:top]]
        known = ~np.isnan(chosen)
        counts = known.sum(axis=0)
        sums = np.where(known, chosen, 0.0).sum(axis=0)
        np.divide(sums, counts, out=found[query], where=counts > 0)
    return found


def distances(points: F64, others: F64) -> F64:
    """[p, o] squared distances, each summed by itself, so that a point's does not hang on how many others there are."""
    found = np.empty((len(points), len(others)))
    for i, point in enumerate(points):
        found[i] = ((others - point) ** 2).sum(axis=1)
    return found


def nearest(points: F64, others: F64, k: int) -> I64:
    """[p, k] the places of the k nearest others, nearest first, the earlier of two as near; all where there are fewer.

    >>> nearest(np.array([[0.0]]), np.array([[3.0], [-1.0], [1.0]]), 2).tolist()
    [[1, 2]]
    """
    order: I64 = np.argsort(distances(points, others), axis=1, kind="stable")[:, :k]
    return order
