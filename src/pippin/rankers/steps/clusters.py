"""Clusters of queries: a model for each kind of query, found without anybody saying what kinds there are."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from pippin.data.dataset import Dataset
from pippin.rankers.base import Ranker
from pippin.rankers.parts.parameters import at_least, one_of, parameter
from pippin.rankers.parts.query_space import distances
from pippin.rankers.parts.states import array_of, number
from pippin.rankers.steps.base import register
from pippin.rankers.steps.by_query import ByQuery, one_each

F64 = NDArray[np.float64]
I64 = NDArray[np.int64]
_ROUNDS, _STARTS = 100, 5
GATES = ("soft", "hard")


@register("clusters")
class Clusters(ByQuery):
    """A model for each cluster of training queries, weighed by how near a query is to each.

    k-means of the queries' points (the best of five starts). The gate is hard (the nearest cluster's model alone) or
    soft: shares ∝ exp(−distance² / 2s²), s² the mean squared distance of training queries from their own centre.
    """

    source = "Geng et al. 2008 (the clusters they compare with); Jacobs, Jordan, Nowlan & Hinton 1991 (the gate)"
    grid: ClassVar = {"k": (2, 3, 5)}
    quick_grid: ClassVar = {"k": (3,)}
    repeats = "k"

    k: int = parameter(3, "clusters at most")
    gate: str = parameter("soft", "how models are weighed: soft, or hard (the nearest cluster alone)")
    least: int = parameter(10, "queries of a cluster; those of a smaller one join the next")
    seed: int = parameter(1, "of the first centres")

    def _check(self) -> None:
        super()._check()
        at_least(self, k=1, least=1, seed=0)
        one_of(self, gate=GATES)

    def _learn(self, train: Dataset, points: F64, valid: Dataset | None, rest: Ranker) -> None:
        self.centres_ = clustered(points, self.k, self.least, self.seed)
        from_centres = distances(points, self.centres_)
        own = from_centres.argmin(axis=1)
        self.width_ = max(float(from_centres.min(axis=1).mean()), 1e-12)
        near = None if valid is None else distances(self._points(valid), self.centres_).argmin(axis=1)
        self.models_ = []
        for cluster in range(len(self.centres_)):
            stop = None if valid is None or near is None else valid.select(np.flatnonzero(near == cluster))
            part = train.select(np.flatnonzero(own == cluster))
            self.models_.append(rest.fresh().fit(part, eval_set=stop if stop is not None and stop.queries else valid))

    def _shares(self, points: F64) -> F64:
        apart = distances(points, self.centres_)
        if self.gate == "hard":
            return one_each(apart.argmin(axis=1), len(self.models_))
        weights = np.exp(-(apart - apart.min(axis=1, keepdims=True)) / (2 * self.width_))
        shares: F64 = weights / weights.sum(axis=1, keepdims=True)
        return shares

    def _state(self) -> dict[str, Any]:
        return {**super()._state(), "centres": self.centres_, "width": self.width_}

    def _restore(self, state: dict[str, Any]) -> None:
        super()._restore(state)
        self.width_ = number(state["width"])
        given = state["centres"]
        self.centres_ = array_of(given, np.float64, len(given), len(self.feature_names_))
        if not self.width_ > 0:
            raise ValueError("clusters have a width above 0")

    def check_models(self) -> None:
        """As for all steps; each cluster has its model."""
        super().check_models()
        if len(self.models_) != len(self.centres_):
            raise ValueError("there are more or fewer models than clusters")

    def words_of_model(self) -> str:
        """How many clusters there are, in a sentence."""
        name = self.feature_names_[self.space_.column]
        return f"{self.name} has {len(self.centres_)} models for queries alike by their first documents of {name}."


def clustered(points: F64, k: int, least: int, seed: int) -> F64:
    """The centres of k-means, the best of five starts by the sum of squared distances; small clusters dissolved."""
    generator = np.random.default_rng(seed)
    best, lowest = points[:1], np.inf
    for _ in range(_STARTS):
        centres = settled(points, first_centres(points, k, generator))
        total = float(distances(points, centres).min(axis=1).sum())
        if total < lowest:
            best, lowest = centres, total
    while len(best) > 1:
        sizes = np.bincount(distances(points, best).argmin(axis=1), minlength=len(best))
        if sizes.min() >= least:
            break
        best = settled(points, np.delete(best, int(sizes.argmin()), axis=0))
    return np.ascontiguousarray(best)


def first_centres(points: F64, k: int, generator: np.random.Generator) -> F64:
    """k-means++: each next centre is a point, drawn with its squared distance from those before."""
    chosen = [int(generator.integers(len(points)))]
    while len(chosen) < k:
        apart = distances(points, points[chosen]).min(axis=1)
        if apart.sum() <= 0:
            break
        chosen.append(int(generator.choice(len(points), p=apart / apart.sum())))
    centres: F64 = points[chosen]
    return centres


def settled(points: F64, centres: F64) -> F64:
    """Lloyd's rounds until nothing moves; a centre that has lost its points goes.

    >>> settled(np.array([[0.0], [2.0], [10.0]]), np.array([[0.0], [9.0]])).ravel().tolist()
    [1.0, 10.0]
    """
    for _ in range(_ROUNDS):
        own = distances(points, centres).argmin(axis=1)
        moved = np.array([points[own == i].mean(axis=0) for i in range(len(centres)) if (own == i).any()])
        if moved.shape == centres.shape and np.array_equal(moved, centres):
            break
        centres = moved
    return centres
