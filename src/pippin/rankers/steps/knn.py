"""K nearest queries: is a ranker better that has learned from the queries like this one alone?"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from pippin.data.dataset import Dataset, check_offsets, rows_of
from pippin.rankers.base import Features, Ranker
from pippin.rankers.parts.parameters import at_least, one_of, parameter
from pippin.rankers.parts.query_space import nearest
from pippin.rankers.parts.states import array_of, numbers
from pippin.rankers.steps.base import register
from pippin.rankers.steps.by_query import ByQuery, near_part, one_each

F64 = NDArray[np.float64]
I64 = NDArray[np.int64]
FORMS = ("online", "offline-1", "offline-2")


@register("knn")
class KNN(ByQuery):
    """Learns for each query from its k nearest training queries.

    Online, a model is trained when a query comes, from its k nearest training queries; the model file holds the
    training set. Offline, a model is trained beforehand for each training query from its k nearest: a new query takes
    the one whose neighbours share most pairs of documents with its own neighbours (offline-1), or that of the nearest
    training query (offline-2).
    """

    source = "Geng, Liu, Qin, Arnold, Li & Shum 2008"
    grid: ClassVar = {"k": (30, 60, 120)}
    quick_grid: ClassVar = {"k": (60,)}
    milliseconds = 2000

    k: int = parameter(50, "queries that a model learns from, the nearest ones")
    form: str = parameter("offline-2", "when a model is trained, and which one a query takes: " + ", ".join(FORMS))

    def _check(self) -> None:
        super()._check()
        at_least(self, k=1)
        one_of(self, form=FORMS)

    def _learn(self, train: Dataset, points: F64, valid: Dataset | None, rest: Ranker) -> None:
        self.points_ = points
        self.pairs_ = pairs_of(train)
        self.valid_, self.valid_points_ = valid, None if valid is None else self._points(valid)
        self.train_: Dataset | None = train if self.form == "online" else None
        if self.form == "online":
            self.neighbours_ = np.empty((0, 0), np.int64)
            self.models_ = [rest.fresh().fit(train, eval_set=valid)]  # says what is trained, and its importance
            return
        self.neighbours_ = nearest(points, points, self.k)
        fitted: dict[tuple[int, ...], Ranker] = {}
        for point, near in zip(points, self.neighbours_, strict=True):
            key = tuple(sorted(near.tolist()))
            if key not in fitted:
                fitted[key] = self._fitted(rest, train, near, point)
        self.models_ = [fitted[tuple(sorted(near.tolist()))] for near in self.neighbours_]
        self.valid_ = self.valid_points_ = None

    def _fitted(self, rest: Ranker, train: Dataset, near: I64, point: F64) -> Ranker:
        stop = near_part(self.valid_, self.valid_points_, point, self.k)
        return rest.fresh().fit(train.select(np.sort(near)), eval_set=stop)

    def _shares(self, points: F64) -> F64:
        near = nearest(points, self.points_, self.k)
        if self.form == "offline-2":
            return one_each(near[:, 0], len(self.models_))
        chosen = [int(shared_pairs(own, self.neighbours_, self.pairs_).argmax()) for own in near]
        return one_each(chosen, len(self.models_))

    def scores(self, features: Features, offsets: I64 | None) -> F64:
        """Scores by the model of each query; online it is trained now."""
        if self.form != "online" or offsets is None or self.train_ is None:
            return super().scores(features, offsets)
        points, total = self.space_.points(features, offsets), np.zeros(len(features))
        fitted: dict[tuple[int, ...], Ranker] = {}
        for query, near in enumerate(nearest(points, self.points_, self.k)):
            rows = slice(int(offsets[query]), int(offsets[query + 1]))
            key = tuple(sorted(near.tolist()))
            if rows.stop == rows.start:
                continue
            if key not in fitted or self.valid_ is not None:  # a validation set has neighbours of its own
                fitted[key] = self._fitted(self.models_[0], self.train_, near, points[query])
            own = np.array([0, rows.stop - rows.start], np.int64)
            total[rows] = fitted[key].scores(np.ascontiguousarray(features[rows]), own)
        return total

    def _state(self) -> dict[str, Any]:
        held = {"points": self.points_, "pairs": self.pairs_.tolist(), "neighbours": self.neighbours_}
        for name, data in (("train", self.train_), ("valid", self.valid_)):
            if data is not None:
                held |= {f"{name}.features": np.asarray(data.features, np.float64), f"{name}.labels": data.labels,
                         f"{name}.offsets": data.offsets}  # fmt: skip
        return {**super()._state(), **{key: _plain(value) for key, value in held.items()}}

    def _restore(self, state: dict[str, Any]) -> None:
        super()._restore(state)
        self.pairs_ = numbers(state["pairs"])
        self.points_ = array_of(state["points"], np.float64, len(self.pairs_), len(self.feature_names_))
        self.train_, self.valid_ = (self._restored(state, name) for name in ("train", "valid"))
        self.valid_points_ = None if self.valid_ is None else self._points(self.valid_)
        rows = 0 if self.form == "online" else len(self.pairs_)
        width = min(self.k, len(self.pairs_)) if rows else 0
        self.neighbours_ = array_of(state["neighbours"], np.int64, rows, width)
        if not len(self.pairs_) or (rows and not 0 <= self.neighbours_.min() <= self.neighbours_.max() < rows):
            raise ValueError("the neighbours are none of the queries")
        if (self.form == "online") != (self.train_ is not None):
            raise ValueError("the training set is missing, or nobody asks for it")
        if self.train_ is not None and self.train_.queries != len(self.pairs_):
            raise ValueError("the training set has other queries")

    def _restored(self, state: dict[str, Any], name: str) -> Dataset | None:
        if f"{name}.labels" not in state:
            return None
        labels, offsets = (_ints(state[f"{name}.{part}"], kind) for part, kind in
                           (("labels", np.int32), ("offsets", np.int64)))  # fmt: skip
        table = state[f"{name}.features"]
        if not isinstance(table, np.ndarray) or table.dtype != np.float64 or np.isinf(table).any():
            raise ValueError("the training set is no table of numbers")
        if table.shape != (len(labels), len(self.feature_names_)) or (labels < 0).any():
            raise ValueError("the training set does not fit the features")
        check_offsets(offsets, len(labels), len(offsets) - 1)
        ids = tuple(map(str, range(len(offsets) - 1)))
        return Dataset(np.ascontiguousarray(table), labels, offsets, ids, None, self.feature_names_)

    def check_models(self) -> None:
        """As for all steps; offline, each training query has its model."""
        super().check_models()
        if len(self.models_) != (1 if self.form == "online" else len(self.pairs_)):
            raise ValueError("there are more or fewer models than queries")

    def words_of_model(self) -> str:
        """How many models there are, in a sentence."""
        name = self.feature_names_[self.space_.column]
        when = "a model when a query comes" if self.form == "online" else f"{len(self.models_)} models beforehand"
        return f"knn learns {when}, each from the {self.k} nearest of {len(self.pairs_)} queries by {name}."


def _plain(value: Any) -> Any:
    return np.ascontiguousarray(value) if isinstance(value, np.ndarray) else value


def _ints(value: Any, kind: Any) -> NDArray[Any]:
    if not isinstance(value, np.ndarray) or value.dtype != kind or value.ndim != 1 or not len(value):
        raise ValueError("labels or offsets are missing")
    return value


def pairs_of(data: Dataset) -> F64:
    """How many pairs of documents of different labels each query has."""
    found = np.zeros(data.queries)
    for query in range(data.queries):
        sizes = np.bincount(np.maximum(data.labels[rows_of(data.offsets, np.array([query]))], 0))
        found[query] = (sizes.sum() ** 2 - (sizes**2).sum()) / 2
    return found


def shared_pairs(own: I64, neighbours: I64, pairs: F64) -> F64:
    """How many pairs of documents each list of neighbours has in common with one's own."""
    weights = np.zeros(len(pairs))
    weights[own] = pairs[own]
    shared: F64 = weights[neighbours].sum(axis=1)
    return shared
