"""Which of several rankings, and how much of each? Asked of scores that were given to queries nobody had learned from.

A blend is a weighted sum of scores, each divided by its usual spread within a query. What is added to all scores of a
query changes no ranking, so that this is averaging scores that are normalised by query, but for one thing: the spread
is one number for all queries. The blend therefore scores a document by its features alone, as its parts do.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from pippin.data.dataset import Dataset
from pippin.evaluation.evaluate import aggregate
from pippin.evaluation.objective import Judge
from pippin.rankers.selection import standard_error

F64 = NDArray[np.float64]
Taken = NDArray[np.bool_]  # which queries may be looked at
_FAINT = 0.01  # share of the weights below which a part is not worth its time


def spread(scores: F64, offsets: NDArray[np.int64]) -> float:
    """The root of the mean variance of scores within a query; 1 where they are all the same.

    >>> spread(np.array([1.0, 3.0, 5.0, 5.0]), np.array([0, 2, 4]))
    0.7071067811865476
    """
    sizes = np.diff(offsets)
    filled = sizes > 1
    starts, full = offsets[:-1][filled], sizes[filled]
    if not len(starts):
        return 1.0
    inside = np.repeat(filled, sizes)
    places = np.concatenate(([0], np.cumsum(full)))[:-1]
    kept = scores[inside]
    apart = kept - np.repeat(np.add.reduceat(kept, places) / full, full)
    found = float(np.sqrt((np.add.reduceat(apart**2, places) / full).mean()))
    return found if found > 0 else 1.0


class Blender:
    """Rankings of one data set to blend: normalised scores [ranking, document], and what each is worth by query."""

    def __init__(self, data: Dataset, scores: Sequence[F64], judge: Judge) -> None:
        self.data, self.judge = data, judge
        self.spreads = np.array([spread(given, data.offsets) for given in scores])
        self.scores = np.array(scores) / self.spreads[:, None]
        self.alone = np.array([judge.values(given) for given in self.scores])

    def values(self, weights: F64) -> F64:
        """The measure of a blend, by query."""
        return self.judge.values(np.ascontiguousarray(weights @ self.scores))

    def order(self, taken: Taken) -> NDArray[np.int64]:
        """The rankings from the best on, by the queries that may be looked at."""
        return np.argsort([-aggregate(values[taken], "mean") for values in self.alone], kind="stable")

    def best(self, taken: Taken, count: int = 1) -> F64:
        """The mean of the best few."""
        weights = np.zeros(len(self.scores))
        weights[self.order(taken)[:count]] = 1.0
        return _shared(weights)

    def stacked(self, taken: Taken) -> F64:
        """Weights that RankSVM learns of the scores (Wolpert 1992); none below 0, which would be chance."""
        from pippin.rankers.ranksvm import RankSVM

        columns = np.ascontiguousarray(self.scores.T)
        table = Dataset(columns, self.data.labels, self.data.offsets, self.data.query_ids, self.data.document_ids)
        weights = np.maximum(RankSVM().fit(table.select(np.flatnonzero(taken))).coef_, 0.0)
        return _shared(weights) if weights.sum() > 0 else self.best(taken)


def _shared(weights: F64) -> F64:
    shares: F64 = weights / weights.sum()
    return shares


# Ways to blend, the usual one first: it leads on nearly every set, and a few queries cannot tell it from the others.
WAYS: Mapping[str, Callable[[Blender, Taken], F64]] = {
    "weighed by RankSVM": Blender.stacked,
    "the mean of the best six": lambda blender, taken: blender.best(taken, 6),
    "the best alone": Blender.best,
}


def surest(values: Mapping[str, F64]) -> str:
    """The first way, or the best of those that are ahead of it by more than the standard error of the difference.

    >>> surest({"a": np.array([0.5, 0.5, 0.5]), "b": np.array([0.4, 0.5, 0.8]), "c": np.array([0.6, 0.6, 0.7])})
    'c'
    """
    usual, *others = values
    ahead = {way: values[way] - values[usual] for way in others}
    sure = [way for way, gain in ahead.items() if aggregate(gain, "mean") > standard_error(gain)]
    return max(sure, key=lambda way: aggregate(ahead[way], "mean"), default=usual)


def nested(blender: Blender, parts: Sequence[NDArray[np.int64]], way: str) -> F64:
    """What a way is worth, by query: weights are found without the part that they are judged on."""
    found = np.full(blender.data.queries, np.nan)
    for part in parts:
        taken = np.ones(blender.data.queries, bool)
        taken[part] = False
        found[part] = blender.values(WAYS[way](blender, taken))[part]
    return found


def strong(weights: F64) -> F64:
    """The weights without those that hardly count; they sum to 1."""
    return _shared(np.where(weights >= _FAINT * weights.sum(), weights, 0.0))
