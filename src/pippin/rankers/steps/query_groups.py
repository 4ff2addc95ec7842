"""Steps that train a model per group of queries: clusters, chosen local models, classes."""

from __future__ import annotations

import re
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from pippin.data.dataset import Dataset
from pippin.errors import DataError
from pippin.evaluation.convention import Convention
from pippin.evaluation.objective import Objective
from pippin.rankers.base import Ranker, read_array, read_number
from pippin.rankers.linear import drop_constant_queries
from pippin.rankers.parameters import above_zero, check_minima, one_of, parameter
from pippin.rankers.steps.base import register
from pippin.rankers.steps.query_dependent import QueryDependentStep, distances, nearest, one_hot

F64 = NDArray[np.float64]
I64 = NDArray[np.int64]
_ROUNDS, _STARTS = 100, 5
GATES = ("soft", "hard")


@register("clusters")
class Clusters(QueryDependentStep):
    """Trains a model for each cluster of training queries; a query weights them by distance.

    Clusters are found by k-means on the query points (the best of five starts). The gate is hard (the model of the
    nearest cluster) or soft: weights ∝ exp(−distance² / 2s²), s² the mean squared distance of training queries from
    their centre.
    """

    source = "Geng et al. 2008 (the clusters they compare with); Jacobs, Jordan, Nowlan & Hinton 1991 (the gate)"
    grid: ClassVar = {"n_clusters": (2, 3, 5)}
    small_grid: ClassVar = {"n_clusters": (3,)}
    n_fits_parameter = "n_clusters"

    n_clusters: int = parameter(3, "maximum number of clusters")
    gate: str = parameter("soft", "soft: weights by distance; hard: the model of the nearest cluster")
    min_cluster_size: int = parameter(10, "minimum queries per cluster; smaller clusters are merged")
    seed: int = parameter(1, "seed of the initial centres")

    def _check(self) -> None:
        super()._check()
        check_minima(self, n_clusters=1, min_cluster_size=1, seed=0)
        one_of(self, gate=GATES)

    def _learn(self, train: Dataset, points: F64, valid: Dataset | None, next_ranker: Ranker) -> None:
        self.centres_ = cluster_queries(points, self.n_clusters, self.min_cluster_size, self.seed)
        from_centres = distances(points, self.centres_)
        cluster = from_centres.argmin(axis=1)
        self.width_ = max(float(from_centres.min(axis=1).mean()), 1e-12)
        valid_cluster = None if valid is None else distances(self._points(valid), self.centres_).argmin(axis=1)
        self.estimators_ = []
        for i in range(len(self.centres_)):
            valid_part = (
                None if valid is None or valid_cluster is None else valid.select(np.flatnonzero(valid_cluster == i))
            )
            train_part = train.select(np.flatnonzero(cluster == i))
            self.estimators_.append(
                next_ranker.clone().fit(
                    train_part, eval_set=valid_part if valid_part is not None and valid_part.queries else valid
                )
            )

    def _shares(self, points: F64) -> F64:
        squared_distances = distances(points, self.centres_)
        if self.gate == "hard":
            return one_hot(squared_distances.argmin(axis=1), len(self.estimators_))
        weights = np.exp(-(squared_distances - squared_distances.min(axis=1, keepdims=True)) / (2 * self.width_))
        shares: F64 = weights / weights.sum(axis=1, keepdims=True)
        return shares

    def _state(self) -> dict[str, Any]:
        return {**super()._state(), "centres": self.centres_, "width": self.width_}

    def _restore(self, state: dict[str, Any]) -> None:
        super()._restore(state)
        self.width_ = read_number(state["width"])
        centres = state["centres"]
        self.centres_ = read_array(centres, np.float64, len(centres), len(self.feature_names_))
        if not self.width_ > 0:
            raise ValueError("the width of the clusters must be above 0")

    def check_models(self) -> None:
        """Raise ValueError unless every cluster has its model."""
        super().check_models()
        if len(self.estimators_) != len(self.centres_):
            raise ValueError("the number of models differs from the clusters")

    def describe(self) -> str:
        """Return a sentence about the clusters."""
        name = self.feature_names_[self.space_.column]
        return (
            f"{self.name} has {len(self.centres_)} models, for clusters of queries by their first documents of {name}."
        )


def cluster_queries(points: F64, k: int, least: int, seed: int) -> F64:
    """Return the centres of k-means, the best of five starts; small clusters are dissolved."""
    generator = np.random.default_rng(seed)
    best, lowest = points[:1], np.inf
    for _ in range(_STARTS):
        centres = run_lloyd(points, init_centres(points, k, generator))
        total = float(distances(points, centres).min(axis=1).sum())
        if total < lowest:
            best, lowest = centres, total
    while len(best) > 1:
        sizes = np.bincount(distances(points, best).argmin(axis=1), minlength=len(best))
        if sizes.min() >= least:
            break
        best = run_lloyd(points, np.delete(best, int(sizes.argmin()), axis=0))
    return np.ascontiguousarray(best)


def init_centres(points: F64, k: int, generator: np.random.Generator) -> F64:
    """Return initial centres by k-means++: points sampled by their squared distance from earlier centres."""
    indices = [int(generator.integers(len(points)))]
    while len(indices) < k:
        squared_distances = distances(points, points[indices]).min(axis=1)
        if squared_distances.sum() <= 0:
            break
        indices.append(int(generator.choice(len(points), p=squared_distances / squared_distances.sum())))
    centres: F64 = points[indices]
    return centres


def run_lloyd(points: F64, centres: F64) -> F64:
    """Run Lloyd's algorithm until it converges; centres without points are removed.

    >>> run_lloyd(np.array([[0.0], [2.0], [10.0]]), np.array([[0.0], [9.0]])).ravel().tolist()
    [1.0, 10.0]
    """
    for _ in range(_ROUNDS):
        cluster = distances(points, centres).argmin(axis=1)
        new_centres = np.array([points[cluster == i].mean(axis=0) for i in range(len(centres)) if (cluster == i).any()])
        if new_centres.shape == centres.shape and np.array_equal(new_centres, centres):
            break
        centres = new_centres
    return centres


@register("choose")
class Choose(QueryDependentStep):
    """A query uses the model that was best on its k nearest validation queries.

    There is one model of all training queries and one per cluster. For a new query, the measures of the models on its
    k nearest validation queries are averaged; the model of all queries wins ties.
    """

    source = "Peng, Macdonald & Ounis 2010"
    grid: ClassVar = {"n_neighbors": (10, 30)}
    small_grid: ClassVar = {"n_neighbors": (20,)}
    n_fits_parameter = "n_clusters"

    n_neighbors: int = parameter(20, "nearest validation queries that select the model")
    n_clusters: int = parameter(3, "maximum number of clusters of training queries")
    min_cluster_size: int = parameter(10, "minimum queries per cluster; smaller clusters are merged")
    measure: str = parameter("NDCG@10", "measure of the models")
    convention: str | Convention = parameter("official", "convention of the measure")
    seed: int = parameter(1, "seed of the initial centres")

    def _check(self) -> None:
        super()._check()
        check_minima(self, n_neighbors=1, n_clusters=1, min_cluster_size=1, seed=0)

    def _learn(self, train: Dataset, points: F64, valid: Dataset | None, next_ranker: Ranker) -> None:
        judged_data = None if valid is None else drop_constant_queries(valid)
        if judged_data is None or not judged_data.queries:
            raise DataError(f"{self.name} needs a validation set with relevant documents: pass one")
        cluster = distances(points, cluster_queries(points, self.n_clusters, self.min_cluster_size, self.seed)).argmin(
            axis=1
        )
        parts = [train, *(train.select(np.flatnonzero(cluster == i)) for i in range(int(cluster.max()) + 1))]
        self.estimators_ = [next_ranker.clone().fit(part, eval_set=valid) for part in parts]
        judge = Objective(judged_data, self.measure, self.convention)
        values = [judge.values(model.scores(np.asarray(judged_data.features, np.float64), judged_data.offsets))
                  for model in self.estimators_]  # fmt: skip
        self.values_ = np.nan_to_num(np.ascontiguousarray(np.array(values).T))
        self.points_ = self._points(judged_data)

    def _shares(self, points: F64) -> F64:
        near = nearest(points, self.points_, self.n_neighbors)
        return one_hot(self.values_[near].mean(axis=1).argmax(axis=1), len(self.estimators_))

    def _state(self) -> dict[str, Any]:
        return {**super()._state(), "points": self.points_, "values": self.values_}

    def _restore(self, state: dict[str, Any]) -> None:
        super()._restore(state)
        values = state["values"]
        self.values_ = read_array(values, np.float64, *values.shape[:2])
        self.points_ = read_array(state["points"], np.float64, len(values), len(self.feature_names_))
        if not self.values_.size:
            raise ValueError("the validation values are missing")

    def check_models(self) -> None:
        """Raise ValueError unless every model has its values."""
        super().check_models()
        if len(self.estimators_) != self.values_.shape[1]:
            raise ValueError("the number of models differs from the values")

    def describe(self) -> str:
        """Return a sentence with the validation measures of the models."""
        means = ", ".join(f"{value:.4f}" for value in self.values_.mean(axis=0))
        return f"choose has {len(self.estimators_)} models with {self.measure} {means} on {len(self.values_)} queries."


_NEWTON_STEPS = 50


@register("classes")
class Classes(QueryDependentStep):
    """Trains a model for each class of training queries, named by their ids (TD1, HP7), and a classifier of queries.

    The classifier is a multinomial logistic regression on the query points; it does not use the ids of new queries.
    The gate is hard (the model of the most probable class) or soft (models weighted by probability). With few queries
    per class, a model of all queries can be added.
    """

    source = "Kang & Kim 2003 (query types); Cox 1958 (logistic regression)"
    grid: ClassVar = {"gate": GATES, "shared_weight": (0.0, 0.5)}
    small_grid: ClassVar = {"gate": ("soft",), "shared_weight": (0.0, 0.5)}

    gate: str = parameter("soft", "soft: weights by probability; hard: the model of the most probable class")
    lambda_l2: float = parameter(10.0, "L2 regularisation of the classifier")
    shared_weight: float = parameter(0.0, "weight of a model of all queries, at least 0 and below 1")

    def _check(self) -> None:
        super()._check()
        one_of(self, gate=GATES)
        above_zero(self, "lambda_l2")
        if not 0 <= self.shared_weight < 1:
            raise DataError(f"{self.name}: shared_weight must be at least 0 and below 1, got {self.shared_weight}")

    def _learn(self, train: Dataset, points: F64, valid: Dataset | None, next_ranker: Ranker) -> None:
        tasks = [task_of(query) for query in train.query_ids]
        self.classes_ = sorted(set(tasks))
        if len(self.classes_) < 2 or "" in self.classes_:
            raise DataError(
                f"{self.name} needs query ids with at least two letter prefixes, such as TD1 and HP7: "
                f"{train.name} has ids like {train.query_ids[0]!r}"
            )
        class_index = np.array([self.classes_.index(task) for task in tasks])
        self.weights_, self.shifts_ = fit_logistic_regression(points, class_index, len(self.classes_), self.lambda_l2)
        valid_tasks = None if valid is None else np.array([task_of(query) for query in valid.query_ids])
        self.estimators_ = []
        for i, task in enumerate(self.classes_):
            valid_part = (
                None
                if valid is None or valid_tasks is None
                else drop_constant_queries(valid.select(np.flatnonzero(valid_tasks == task)))
            )
            train_part = train.select(np.flatnonzero(class_index == i))
            self.estimators_.append(
                next_ranker.clone().fit(
                    train_part, eval_set=valid_part if valid_part is not None and valid_part.queries else valid
                )
            )
        if self.shared_weight:
            self.estimators_.append(next_ranker.clone().fit(train, eval_set=valid))

    def chances(self, points: F64) -> F64:
        """Return the class probabilities [query, class] at each point."""
        logits = (points[:, :, None] * self.weights_).sum(axis=1)  # row by row, unlike a product of matrices
        return softmax(logits + self.shifts_)

    def classify(self, data: Dataset) -> list[str]:
        """Return the most probable class of each query."""
        return [self.classes_[i] for i in self.chances(self._points(data)).argmax(axis=1)]

    def _shares(self, points: F64) -> F64:
        probabilities = self.chances(points)
        if self.gate == "hard":
            probabilities = one_hot(probabilities.argmax(axis=1), len(self.classes_))
        if not self.shared_weight:
            return probabilities
        return np.concatenate(
            ((1 - self.shared_weight) * probabilities, np.full((len(probabilities), 1), self.shared_weight)), axis=1
        )

    def _state(self) -> dict[str, Any]:
        return {**super()._state(), "classes": self.classes_, "weights": self.weights_, "shifts": self.shifts_}

    def _restore(self, state: dict[str, Any]) -> None:
        super()._restore(state)
        self.classes_ = [str(name) for name in state["classes"]]
        self.weights_ = read_array(state["weights"], np.float64, len(self.feature_names_), len(self.classes_))
        self.shifts_ = read_array(state["shifts"], np.float64, len(self.classes_))

    def check_models(self) -> None:
        """Raise ValueError unless every class has its model."""
        super().check_models()
        if len(self.estimators_) != len(self.classes_) + bool(self.shared_weight):
            raise ValueError("the number of models differs from the classes")

    def describe(self) -> str:
        """Return a sentence about the classes."""
        return f"classes has a model for each of {', '.join(self.classes_)}, classified by the query's features."


def task_of(query: str) -> str:
    """Return the letters at the start of a query id.

    >>> task_of("TD12"), task_of("12")
    ('TD', '')
    """
    match = re.match(r"[^\W\d_]*", query)
    return match[0] if match else ""


def fit_logistic_regression(points: F64, class_index: I64, classes: int, penalty: float) -> tuple[F64, F64]:
    """Return weights [feature, class] and intercepts [class] of multinomial logistic regression.

    min −Σ ln p(class | x) + ½ penalty ‖w‖² by Newton's method with step halving; intercepts are regularised by 1e-6.
    """
    table = np.concatenate((points, np.ones((len(points), 1))), axis=1)
    ridge = np.repeat(np.append(np.full(points.shape[1], penalty), 1e-6), classes)  # of w[f, c], row by row
    targets = np.eye(classes)[class_index]
    w = np.zeros(len(ridge))
    cost, probabilities = _logistic_loss(table, targets, w, ridge)
    for _ in range(_NEWTON_STEPS):
        gradient = (table.T @ (probabilities - targets)).ravel() + ridge * w
        blocks = np.einsum("nc,cd->ncd", probabilities, np.eye(classes)) - np.einsum(
            "nc,nd->ncd", probabilities, probabilities
        )
        hessian = np.einsum("nf,ncd,ng->fcgd", table, blocks, table, optimize=True).reshape(len(w), len(w))
        step = np.linalg.solve(hessian + np.diag(ridge), gradient)
        size = 1.0
        while (proposal := _logistic_loss(table, targets, w - size * step, ridge))[0] > cost and size > 1e-10:
            size /= 2
        decrease, (cost, probabilities), w = cost - proposal[0], proposal, w - size * step
        if decrease <= 1e-10 * max(1.0, cost):
            break
    coefficients = w.reshape(-1, classes)
    return np.ascontiguousarray(coefficients[:-1]), np.ascontiguousarray(coefficients[-1])


def _logistic_loss(table: F64, targets: F64, w: F64, ridge: F64) -> tuple[float, F64]:
    """Return the loss at weights, and the probabilities."""
    probabilities = softmax(table @ w.reshape(table.shape[1], -1))
    return float(-np.log((probabilities * targets).sum(axis=1)).sum() + 0.5 * (ridge * w * w).sum()), probabilities


def softmax(logits: F64) -> F64:
    """Return the softmax of each row, bounded away from 0 so that logarithms exist."""
    weights = np.exp(np.maximum(logits - logits.max(axis=1, keepdims=True), -500.0))
    shares: F64 = weights / weights.sum(axis=1, keepdims=True)
    return shares
