"""Classes of queries: where training queries are of known tasks, a new query's task is guessed and its model taken."""

from __future__ import annotations

import re
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from pippin.data.dataset import Dataset
from pippin.errors import DataError
from pippin.rankers.base import Ranker
from pippin.rankers.parts.convex import with_pairs
from pippin.rankers.parts.parameters import above_zero, one_of, parameter
from pippin.rankers.parts.states import array_of
from pippin.rankers.steps.base import register
from pippin.rankers.steps.by_query import ByQuery, one_each
from pippin.rankers.steps.clusters import GATES

F64 = NDArray[np.float64]
I64 = NDArray[np.int64]
_ROUNDS = 50


@register("classes")
class Classes(ByQuery):
    """A model for each task that the ids of training queries name (TD1, HP7), and a classifier of queries.

    The classifier is a multinomial logistic regression on the queries' points. It sees features alone: the id of a new
    query is not looked at. The gate is hard (the likeliest class's model alone) or soft (models weighed by the chances
    of their classes). Where classes have few queries or are hard to tell, a model of all queries may count beside them.
    """

    source = "Kang & Kim 2003 (query types); Cox 1958 (logistic regression)"
    grid: ClassVar = {"gate": GATES, "shared": (0.0, 0.5)}
    quick_grid: ClassVar = {"gate": ("soft",), "shared": (0.0, 0.5)}

    gate: str = parameter("soft", "how models are weighed: soft, or hard (the likeliest class alone)")
    penalty: float = parameter(10.0, "of the classifier's weights, which holds them small")
    shared: float = parameter(0.0, "how much a model of all queries counts beside those of the classes, from 0 to 1")

    def _check(self) -> None:
        super()._check()
        one_of(self, gate=GATES)
        above_zero(self, "penalty")
        if not 0 <= self.shared < 1:
            raise DataError(f"{self.name}: shared is at least 0 and below 1, not {self.shared}")

    def _learn(self, train: Dataset, points: F64, valid: Dataset | None, rest: Ranker) -> None:
        tasks = [task_of(query) for query in train.query_ids]
        self.classes_ = sorted(set(tasks))
        if len(self.classes_) < 2 or "" in self.classes_:
            raise DataError(
                f"{self.name} wants training queries whose ids begin with their tasks, as TD1 and HP7 do, of two tasks "
                f"at least; {train.name} has {train.query_ids[0]!r} and others of the same kind"
            )
        own = np.array([self.classes_.index(task) for task in tasks])
        self.weights_, self.shifts_ = logistic(points, own, len(self.classes_), self.penalty)
        near = None if valid is None else np.array([task_of(query) for query in valid.query_ids])
        self.models_ = []
        for i, task in enumerate(self.classes_):
            stop = None if valid is None or near is None else with_pairs(valid.select(np.flatnonzero(near == task)))
            part = train.select(np.flatnonzero(own == i))
            self.models_.append(rest.fresh().fit(part, eval_set=stop if stop is not None and stop.queries else valid))
        if self.shared:
            self.models_.append(rest.fresh().fit(train, eval_set=valid))

    def chances(self, points: F64) -> F64:
        """[q, c] how likely a query at each point is of each class."""
        logits = (points[:, :, None] * self.weights_).sum(axis=1)  # row by row, unlike a product of matrices
        return softmax(logits + self.shifts_)

    def classified(self, data: Dataset) -> list[str]:
        """The likeliest class of each query."""
        return [self.classes_[i] for i in self.chances(self._points(data)).argmax(axis=1)]

    def _shares(self, points: F64) -> F64:
        likely = self.chances(points)
        if self.gate == "hard":
            likely = one_each(likely.argmax(axis=1), len(self.classes_))
        if not self.shared:
            return likely
        return np.concatenate(((1 - self.shared) * likely, np.full((len(likely), 1), self.shared)), axis=1)

    def _state(self) -> dict[str, Any]:
        return {**super()._state(), "classes": self.classes_, "weights": self.weights_, "shifts": self.shifts_}

    def _restore(self, state: dict[str, Any]) -> None:
        super()._restore(state)
        self.classes_ = [str(name) for name in state["classes"]]
        self.weights_ = array_of(state["weights"], np.float64, len(self.feature_names_), len(self.classes_))
        self.shifts_ = array_of(state["shifts"], np.float64, len(self.classes_))

    def check_models(self) -> None:
        """As for all steps; each class has its model."""
        super().check_models()
        if len(self.models_) != len(self.classes_) + bool(self.shared):
            raise ValueError("there are more or fewer models than classes")

    def words_of_model(self) -> str:
        """Which classes there are, in a sentence."""
        return f"classes tells {', '.join(self.classes_)} apart by the query's features, and has a model for each."


def task_of(query: str) -> str:
    """The letters that a query's id begins with.

    >>> task_of("TD12"), task_of("12")
    ('TD', '')
    """
    found = re.match(r"[^\W\d_]*", query)
    return found[0] if found else ""


def logistic(points: F64, own: I64, classes: int, penalty: float) -> tuple[F64, F64]:
    """Weights [f, c] and shifts [c] of multinomial logistic regression: chances are the softmax of x·w + shift.

    min −Σ ln p(own | x) + ½ penalty ‖w‖², by Newton's steps, each halved until the cost falls; shifts are free, but
    for a millionth.
    """
    table = np.concatenate((points, np.ones((len(points), 1))), axis=1)
    ridge = np.repeat(np.append(np.full(points.shape[1], penalty), 1e-6), classes)  # of w[f, c], row by row
    wanted = np.eye(classes)[own]
    w = np.zeros(len(ridge))
    cost, likely = _cost(table, wanted, w, ridge)
    for _ in range(_ROUNDS):
        slope = (table.T @ (likely - wanted)).ravel() + ridge * w
        parts = np.einsum("nc,cd->ncd", likely, np.eye(classes)) - np.einsum("nc,nd->ncd", likely, likely)
        bend = np.einsum("nf,ncd,ng->fcgd", table, parts, table, optimize=True).reshape(len(w), len(w))
        step = np.linalg.solve(bend + np.diag(ridge), slope)
        size = 1.0
        while (tried := _cost(table, wanted, w - size * step, ridge))[0] > cost and size > 1e-10:
            size /= 2
        fell, (cost, likely), w = cost - tried[0], tried, w - size * step
        if fell <= 1e-10 * max(1.0, cost):
            break
    made = w.reshape(-1, classes)
    return np.ascontiguousarray(made[:-1]), np.ascontiguousarray(made[-1])


def _cost(table: F64, wanted: F64, w: F64, ridge: F64) -> tuple[float, F64]:
    """The cost of weights, and the chances that they give."""
    likely = softmax(table @ w.reshape(table.shape[1], -1))
    return float(-np.log((likely * wanted).sum(axis=1)).sum() + 0.5 * (ridge * w * w).sum()), likely


def softmax(logits: F64) -> F64:
    """Rows of chances; none is 0, so that each has a logarithm."""
    weights = np.exp(np.maximum(logits - logits.max(axis=1, keepdims=True), -500.0))
    shares: F64 = weights / weights.sum(axis=1, keepdims=True)
    return shares
