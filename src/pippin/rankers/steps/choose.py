"""Choosing among models by the query: which of several did best on the validation queries like this one?"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from pippin.data.dataset import Dataset
from pippin.errors import DataError
from pippin.evaluation.convention import Convention
from pippin.evaluation.objective import Judge
from pippin.rankers.base import Ranker
from pippin.rankers.parts.convex import with_pairs
from pippin.rankers.parts.parameters import at_least, parameter
from pippin.rankers.parts.query_space import distances, nearest
from pippin.rankers.parts.states import array_of
from pippin.rankers.steps.base import register
from pippin.rankers.steps.by_query import ByQuery, one_each
from pippin.rankers.steps.clusters import clustered

F64 = NDArray[np.float64]


@register("choose")
class Choose(ByQuery):
    """A query takes the model that did best on the k validation queries nearest to it.

    The models are one of all training queries and one of each cluster of them. Their values on validation are kept;
    for a new query those of its k nearest validation queries are averaged, and the model of all wins ties.
    """

    source = "Peng, Macdonald & Ounis 2010"
    grid: ClassVar = {"k": (10, 30)}
    quick_grid: ClassVar = {"k": (20,)}
    repeats = "clusters"

    k: int = parameter(20, "validation queries that are asked, the nearest ones")
    clusters: int = parameter(3, "clusters of training queries with a model each, beside the model of all")
    least: int = parameter(10, "queries of a cluster; those of a smaller one join the next")
    measure: str = parameter("NDCG@10", "what models are judged by")
    convention: str | Convention = parameter("official", "under which convention")
    seed: int = parameter(1, "of the first centres")

    def _check(self) -> None:
        super()._check()
        at_least(self, k=1, clusters=1, least=1, seed=0)

    def _learn(self, train: Dataset, points: F64, valid: Dataset | None, rest: Ranker) -> None:
        judged = None if valid is None else with_pairs(valid)
        if judged is None or not judged.queries:
            raise DataError(f"{self.name} judges its models on a validation set, with relevant documents; give one")
        own = distances(points, clustered(points, self.clusters, self.least, self.seed)).argmin(axis=1)
        parts = [train, *(train.select(np.flatnonzero(own == i)) for i in range(int(own.max()) + 1))]
        self.models_ = [rest.fresh().fit(part, eval_set=valid) for part in parts]
        judge = Judge(judged, self.measure, self.convention)
        values = [judge.values(model.scores(np.asarray(judged.features, np.float64), judged.offsets))
                  for model in self.models_]  # fmt: skip
        self.values_ = np.nan_to_num(np.ascontiguousarray(np.array(values).T))
        self.points_ = self._points(judged)

    def _shares(self, points: F64) -> F64:
        near = nearest(points, self.points_, self.k)
        return one_each(self.values_[near].mean(axis=1).argmax(axis=1), len(self.models_))

    def _state(self) -> dict[str, Any]:
        return {**super()._state(), "points": self.points_, "values": self.values_}

    def _restore(self, state: dict[str, Any]) -> None:
        super()._restore(state)
        values = state["values"]
        self.values_ = array_of(values, np.float64, *values.shape[:2])
        self.points_ = array_of(state["points"], np.float64, len(values), len(self.feature_names_))
        if not self.values_.size:
            raise ValueError("no validation query is kept")

    def check_models(self) -> None:
        """As for all steps; each model has its values."""
        super().check_models()
        if len(self.models_) != self.values_.shape[1]:
            raise ValueError("there are more or fewer models than values")

    def words_of_model(self) -> str:
        """What the models are worth on validation, in a sentence."""
        shown = ", ".join(f"{value:.4f}" for value in self.values_.mean(axis=0))
        return f"choose has {len(self.models_)} models with {self.measure} {shown} on {len(self.values_)} queries."
