"""Steps with query-dependent models; kNN trains a model from the nearest training queries."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from pippin.data.dataset import Dataset, check_offsets, rows_of_queries
from pippin.errors import DataError, UnknownName
from pippin.evaluation.objective import Objective
from pippin.rankers.base import Features, Ranker, feature_index, read_array, read_count, read_numbers, read_sign
from pippin.rankers.linear import drop_constant_queries, feature_scales
from pippin.rankers.parameters import check_minima, one_of, parameter
from pippin.rankers.steps.base import Step, register

F64 = NDArray[np.float64]
I64 = NDArray[np.int64]
AUTO = "auto"


@dataclass(frozen=True, eq=False)
class QuerySpace:
    """Maps queries to points: the standardised mean features of their first documents by a reference feature."""

    column: int
    sign: int
    top: int
    mean: F64
    scale: F64

    @classmethod
    def of(cls, data: Dataset, reference: str, top: int) -> Self:
        """Return the space of these queries; `auto` uses the best single feature by NDCG@10."""
        if reference == AUTO:
            column, sign = best_feature(data)
        elif reference in data.feature_names:
            column, sign = data.feature_names.index(reference), 1
        else:
            raise UnknownName("feature", reference, (AUTO, *data.feature_names))
        raw = mean_top_features(np.asarray(data.features, np.float64), data.offsets, column, sign, top)
        is_known = ~np.isnan(raw)
        sums = np.where(is_known, raw, 0.0).sum(axis=0)
        mean: F64 = sums / np.maximum(is_known.sum(axis=0), 1)
        return cls(column, sign, top, mean, feature_scales(np.where(is_known, raw - mean, 0.0)))

    def points(self, features: F64, offsets: I64) -> F64:
        """Return the points [query, feature]; missing features are 0, the mean."""
        raw = mean_top_features(features, offsets, self.column, self.sign, self.top)
        points: F64 = np.where(np.isnan(raw), 0.0, (raw - self.mean) / self.scale)
        return points

    def state(self, names: tuple[str, ...]) -> dict[str, Any]:
        """Return the state for a model file."""
        return {"reference": names[self.column], "sign": self.sign, "top": self.top, "mean": self.mean.tolist(),
                "scale": self.scale.tolist()}  # fmt: skip

    @classmethod
    def from_state(cls, state: dict[str, Any], names: tuple[str, ...]) -> Self:
        """Undo `state`; ValueError, KeyError or TypeError if it is invalid."""
        mean, scale = read_numbers(state["mean"]), read_numbers(state["scale"])
        if not len(mean) == len(scale) == len(names) or not (scale > 0).all() or read_count(state["top"]) < 1:
            raise ValueError("the query space does not fit the features")
        return cls(feature_index(state["reference"], names), read_sign(state["sign"]), state["top"], mean, scale)


def best_feature(data: Dataset) -> tuple[int, int]:
    """Return the column and the sign of the best single feature by NDCG@10; NULL ranks last."""
    minimum = np.nanmin(np.where(np.isnan(data.features), np.inf, data.features), axis=0, initial=0.0)
    table = np.where(np.isnan(data.features), minimum, data.features).astype(np.float64)
    filled = Dataset(table, data.labels, data.offsets, data.query_ids)
    judge = Objective(filled, "NDCG@10", "official")
    values = Objective(filled, judge.measure, judge.convention).features()
    is_number = ~np.isnan(values)
    means = np.where(is_number, values, 0.0).sum(axis=1) / np.maximum(is_number.sum(axis=1), 1)
    best = int(means.argmax())
    return best // 2, 1 if best % 2 == 0 else -1


def mean_top_features(features: F64, offsets: I64, column: int, sign: int, top: int) -> F64:
    """Return the mean features [query, feature] of each query's first documents by one column; NaN without values.

    >>> table = np.array([[1.0, 5.0], [3.0, 7.0], [2.0, 9.0]])
    >>> mean_top_features(table, np.array([0, 3]), 0, 1, 2).tolist()
    [[2.5, 8.0]]
    """
    result = np.full((len(offsets) - 1, features.shape[1]), np.nan)
    for query, (start, end) in enumerate(zip(offsets[:-1].tolist(), offsets[1:].tolist(), strict=True)):
        sort_key = np.where(np.isnan(features[start:end, column]), np.inf, -sign * features[start:end, column])
        top_rows = features[start:end][np.argsort(sort_key, kind="stable")[:top]]
        is_known = ~np.isnan(top_rows)
        counts = is_known.sum(axis=0)
        sums = np.where(is_known, top_rows, 0.0).sum(axis=0)
        np.divide(sums, counts, out=result[query], where=counts > 0)
    return result


def distances(points: F64, targets: F64) -> F64:
    """Return squared distances [point, target], each summed separately for reproducible bits."""
    result = np.empty((len(points), len(targets)))
    for i, point in enumerate(points):
        result[i] = ((targets - point) ** 2).sum(axis=1)
    return result


def nearest(points: F64, targets: F64, k: int) -> I64:
    """Return the positions [point, k] of the k nearest targets, nearest first, ties by position.

    >>> nearest(np.array([[0.0]]), np.array([[3.0], [-1.0], [1.0]]), 2).tolist()
    [[1, 2]]
    """
    order: I64 = np.argsort(distances(points, targets), axis=1, kind="stable")[:, :k]
    return order


class QueryDependentStep(Step):
    """A step that trains several models and weights them by the point of a query (see `QuerySpace`)."""

    allow_nan = True
    supports_sample_weight = False
    needs_query_groups = True

    top_documents: int = parameter(
        10, "first documents by the reference feature, whose mean features represent a query"
    )
    reference_feature: str = parameter(
        AUTO, "feature that ranks the documents of a query; auto: the best single feature"
    )

    @classmethod
    def first_parameter(cls) -> str | None:
        """Return the first parameter that is not shared by all of these steps."""
        return next(key for key in cls.parameters if key not in QueryDependentStep.parameters)

    def _check(self) -> None:
        check_minima(self, top_documents=1)

    def _fit(self, train: Dataset, valid: Dataset | None, next_ranker: Ranker) -> None:
        informative = drop_constant_queries(train)
        if not informative.queries:
            raise DataError(f"no query of {train.name} has documents with different labels: nothing to learn")
        self.space_ = QuerySpace.of(informative, self.reference_feature, self.top_documents)
        self._learn(
            informative, self._points(informative), None if valid is None or not valid.queries else valid, next_ranker
        )

    def _points(self, data: Dataset) -> F64:
        return self.space_.points(np.asarray(data.features, np.float64), data.offsets)

    def _learn(self, train: Dataset, points: F64, valid: Dataset | None, next_ranker: Ranker) -> None:
        """Train the models."""
        raise NotImplementedError

    def _shares(self, points: F64) -> F64:
        """Return the weight of each model for each query, [query, model]."""
        raise NotImplementedError

    def _state(self) -> dict[str, Any]:
        return {"space": self.space_.state(self.feature_names_)}

    def _restore(self, state: dict[str, Any]) -> None:
        self.space_ = QuerySpace.from_state(state["space"], self.feature_names_)

    def scores(self, features: Features, offsets: I64 | None) -> F64:
        """Return the scores by each query's models; several are standardised within the query and averaged."""
        if offsets is None:
            raise missing_queries_error(self.name)
        shares, sizes = self._shares(self.space_.points(features, offsets)), np.diff(offsets)
        has_several = (shares > 0).sum(axis=1) > 1
        total = np.zeros(len(features))
        for model, share in zip(self.estimators_, shares.T, strict=True):
            queries = np.flatnonzero((share > 0) & (sizes > 0))
            if not len(queries):
                continue
            rows, group_offsets = (
                rows_of_queries(offsets, queries),
                np.concatenate(([0], np.cumsum(sizes[queries]))).astype(np.int64),
            )
            group_scores = model.scores(np.ascontiguousarray(features[rows]), group_offsets)
            weights = np.repeat(share[queries], sizes[queries])
            total[rows] += np.where(
                np.repeat(has_several[queries], sizes[queries]),
                weights * standardize_scores(group_scores, group_offsets),
                group_scores,
            )
        return total

    def _no_model_reason(self) -> str:
        return "the model depends on the other documents of the query"


def standardize_scores(scores: F64, offsets: I64) -> F64:
    """Return scores with mean 0 and deviation 1 within each query; 0 for constant scores.

    >>> standardize_scores(np.array([1.0, 3.0, 5.0]), np.array([0, 2, 3])).tolist()
    [-1.0, 1.0, 0.0]
    """
    sizes = np.diff(offsets)
    mean = np.repeat(np.add.reduceat(scores, offsets[:-1]) / sizes, sizes)
    centered: F64 = scores - mean
    deviation = np.repeat(np.sqrt(np.add.reduceat(centered**2, offsets[:-1]) / sizes), sizes)
    is_constant = deviation <= 1e-12 * (1.0 + np.abs(mean))
    return np.where(is_constant, 0.0, centered / np.where(is_constant, 1.0, deviation))


def one_hot(indices: I64 | Sequence[int], models: int) -> F64:
    """Return the one-hot matrix [query, model] of model indices."""
    shares = np.zeros((len(indices), models))
    shares[np.arange(len(indices)), indices] = 1.0
    return shares


def nearest_queries(valid: Dataset | None, points: F64 | None, point: F64, k: int) -> Dataset | None:
    """Return the validation queries nearest to a point, for early stopping of its model."""
    if valid is None or points is None:
        return None
    return valid.select(np.sort(nearest(point[None], points, k)[0]))


def missing_queries_error(name: str) -> DataError:
    """Return the error for documents without query boundaries."""
    return DataError(f"{name} scores a query's documents together: pass a Dataset, or qid= or group= with X")


FORMS = ("online", "offline-1", "offline-2")


@register("knn")
class KNN(QueryDependentStep):
    """Trains models from the k nearest training queries of a query.

    online: a model is trained at prediction time from the query's k nearest training queries; the model file contains
    the training set. Offline, a model is trained for each training query and its k nearest: a new query uses the one
    whose neighbours share most pairs of documents with its own neighbours (offline-1), or the one of the nearest
    training query (offline-2) (Geng et al. 2008, section 3).
    """

    source = "Geng, Liu, Qin, Arnold, Li & Shum 2008"
    grid: ClassVar = {"n_neighbors": (30, 60, 120)}
    small_grid: ClassVar = {"n_neighbors": (60,)}
    cost_ms = 2000

    n_neighbors: int = parameter(50, "nearest training queries per model")
    form: str = parameter("offline-2", "when models are trained and how a query selects one: " + ", ".join(FORMS))

    def _check(self) -> None:
        super()._check()
        check_minima(self, n_neighbors=1)
        one_of(self, form=FORMS)

    def _learn(self, train: Dataset, points: F64, valid: Dataset | None, next_ranker: Ranker) -> None:
        self.points_ = points
        self.pairs_ = count_pairs(train)
        self.valid_, self.valid_points_ = valid, None if valid is None else self._points(valid)
        self.train_: Dataset | None = train if self.form == "online" else None
        if self.form == "online":
            self.neighbours_ = np.empty((0, 0), np.int64)
            self.estimators_ = [
                next_ranker.clone().fit(train, eval_set=valid)
            ]  # template for the models, and their importance
            return
        self.neighbours_ = nearest(points, points, self.n_neighbors)
        fitted_models: dict[tuple[int, ...], Ranker] = {}
        for point, neighbours in zip(points, self.neighbours_, strict=True):
            key = tuple(sorted(neighbours.tolist()))
            if key not in fitted_models:
                fitted_models[key] = self._fit_neighbours(next_ranker, train, neighbours, point)
        self.estimators_ = [fitted_models[tuple(sorted(neighbours.tolist()))] for neighbours in self.neighbours_]
        self.valid_ = self.valid_points_ = None

    def _fit_neighbours(self, next_ranker: Ranker, train: Dataset, near: I64, point: F64) -> Ranker:
        stop = nearest_queries(self.valid_, self.valid_points_, point, self.n_neighbors)
        return next_ranker.clone().fit(train.select(np.sort(near)), eval_set=stop)

    def _shares(self, points: F64) -> F64:
        neighbours = nearest(points, self.points_, self.n_neighbors)
        if self.form == "offline-2":
            return one_hot(neighbours[:, 0], len(self.estimators_))
        model_indices = [int(shared_pairs(row, self.neighbours_, self.pairs_).argmax()) for row in neighbours]
        return one_hot(model_indices, len(self.estimators_))

    def scores(self, features: Features, offsets: I64 | None) -> F64:
        """Return the scores by the model of each query; online, models are trained now."""
        if self.form != "online" or offsets is None or self.train_ is None:
            return super().scores(features, offsets)
        points, total = self.space_.points(features, offsets), np.zeros(len(features))
        fitted_models: dict[tuple[int, ...], Ranker] = {}
        for query, neighbours in enumerate(nearest(points, self.points_, self.n_neighbors)):
            rows = slice(int(offsets[query]), int(offsets[query + 1]))
            key = tuple(sorted(neighbours.tolist()))
            if rows.stop == rows.start:
                continue
            if key not in fitted_models or self.valid_ is not None:  # validation neighbours differ by query
                fitted_models[key] = self._fit_neighbours(self.estimators_[0], self.train_, neighbours, points[query])
            query_offsets = np.array([0, rows.stop - rows.start], np.int64)
            total[rows] = fitted_models[key].scores(np.ascontiguousarray(features[rows]), query_offsets)
        return total

    def _state(self) -> dict[str, Any]:
        values = {"points": self.points_, "pairs": self.pairs_.tolist(), "neighbours": self.neighbours_}
        for split, data in (("train", self.train_), ("valid", self.valid_)):
            if data is not None:
                values |= {f"{split}.features": np.asarray(data.features, np.float64), f"{split}.labels": data.labels,
                         f"{split}.offsets": data.offsets}  # fmt: skip
        return {**super()._state(), **{key: _contiguous(value) for key, value in values.items()}}

    def _restore(self, state: dict[str, Any]) -> None:
        super()._restore(state)
        self.pairs_ = read_numbers(state["pairs"])
        self.points_ = read_array(state["points"], np.float64, len(self.pairs_), len(self.feature_names_))
        self.train_, self.valid_ = (self._restore_dataset(state, name) for name in ("train", "valid"))
        self.valid_points_ = None if self.valid_ is None else self._points(self.valid_)
        rows = 0 if self.form == "online" else len(self.pairs_)
        width = min(self.n_neighbors, len(self.pairs_)) if rows else 0
        self.neighbours_ = read_array(state["neighbours"], np.int64, rows, width)
        if not len(self.pairs_) or (rows and not 0 <= self.neighbours_.min() <= self.neighbours_.max() < rows):
            raise ValueError("the neighbours have unknown queries")
        if (self.form == "online") != (self.train_ is not None):
            raise ValueError("the training set is missing or superfluous")
        if self.train_ is not None and self.train_.queries != len(self.pairs_):
            raise ValueError("the training set has another number of queries")

    def _restore_dataset(self, state: dict[str, Any], split: str) -> Dataset | None:
        if f"{split}.labels" not in state:
            return None
        labels, offsets = (_check_integers(state[f"{split}.{part}"], kind) for part, kind in
                           (("labels", np.int32), ("offsets", np.int64)))  # fmt: skip
        table = state[f"{split}.features"]
        if not isinstance(table, np.ndarray) or table.dtype != np.float64 or np.isinf(table).any():
            raise ValueError("the features of the training set are invalid")
        if table.shape != (len(labels), len(self.feature_names_)) or (labels < 0).any():
            raise ValueError("the training set does not fit the features")
        check_offsets(offsets, len(labels), len(offsets) - 1)
        ids = tuple(map(str, range(len(offsets) - 1)))
        return Dataset(np.ascontiguousarray(table), labels, offsets, ids, None, self.feature_names_)

    def check_models(self) -> None:
        """Raise ValueError unless every training query has its model."""
        super().check_models()
        if len(self.estimators_) != (1 if self.form == "online" else len(self.pairs_)):
            raise ValueError("the number of models differs from the queries")

    def describe(self) -> str:
        """Return a sentence about the models."""
        name = self.feature_names_[self.space_.column]
        when = (
            "a model per query at prediction time"
            if self.form == "online"
            else f"{len(self.estimators_)} models in training"
        )
        return f"knn learns {when}, each from the {self.n_neighbors} nearest of {len(self.pairs_)} queries by {name}."


def _contiguous(value: Any) -> Any:
    return np.ascontiguousarray(value) if isinstance(value, np.ndarray) else value


def _check_integers(value: Any, kind: Any) -> NDArray[Any]:
    if not isinstance(value, np.ndarray) or value.dtype != kind or value.ndim != 1 or not len(value):
        raise ValueError("labels or offsets are missing")
    return value


def count_pairs(data: Dataset) -> F64:
    """Return the number of pairs with different labels of each query."""
    result = np.zeros(data.queries)
    for query in range(data.queries):
        sizes = np.bincount(np.maximum(data.labels[rows_of_queries(data.offsets, np.array([query]))], 0))
        result[query] = (sizes.sum() ** 2 - (sizes**2).sum()) / 2
    return result


def shared_pairs(query_neighbours: I64, neighbours: I64, pairs: F64) -> F64:
    """Return the number of document pairs that each list of neighbours shares with the query's neighbours."""
    weights = np.zeros(len(pairs))
    weights[query_neighbours] = pairs[query_neighbours]
    shared: F64 = weights[neighbours].sum(axis=1)
    return shared
