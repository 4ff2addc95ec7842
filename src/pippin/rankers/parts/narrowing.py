"""A data set with some of its features, and what a fitted ranker finds each of them worth."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pippin.data.dataset import Dataset
from pippin.errors import DataError
from pippin.rankers.base import Ranker
from pippin.rankers.parts.linear import LinearRanker
from pippin.rankers.parts.spread import centred, scales
from pippin.rankers.parts.weights import query_weights

F64 = NDArray[np.float64]


def narrowed(data: Dataset, columns: Sequence[int] | NDArray[np.int64]) -> Dataset:
    """The data with these features; weights of queries stay with them."""
    chosen = np.asarray(columns, np.int64)
    names = tuple(data.feature_names[i] for i in chosen)
    return replace(data, features=np.ascontiguousarray(data.features[:, chosen]), feature_names=names, lines=None)


def fitted(ranker: Ranker, train: Dataset, valid: Dataset | None) -> Ranker:
    """A copy of a ranker, fitted; weights of queries come with the training set."""
    return ranker.fresh().fit(train, eval_set=valid, sample_weight=query_weights(train))


def worth(model: Ranker, data: Dataset, who: str) -> F64:
    """The importance of each feature in a model; weights count times their feature's spread within a query."""
    if isinstance(model, LinearRanker):
        within: F64 = np.abs(model.coef_) * scales(centred(data, "query"))
        return within
    try:
        return np.array(list(model.importance().values()))
    except DataError:
        raise DataError(
            f"{who} asks how much features count, which {model.name} does not tell; try ranker=ranksvm"
        ) from None


def helper(name: str, rest: Any, shared: dict[str, Any]) -> Ranker:
    """The ranker that a selection is made with: the rest of the chain ("rest"), or one that is written."""
    if name == "rest":
        ranker: Ranker = rest.fresh()
        return ranker
    from pippin.rankers import ranker as find
    from pippin.rankers.written import settings

    cls = find(name)
    return cls(**{key: value for key, value in {**shared, **settings(name)}.items() if key in cls.parameters})
