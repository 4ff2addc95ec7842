"""How much each query counts in training.

Weights travel with the queries they belong to: a selection of weighted queries is weighted. A ranker asks for them by
`query_weights` or `row_weights`, and gets None where nobody gave any.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pippin.data.dataset import Dataset
from pippin.errors import DataError

F64 = NDArray[np.float64]


class Weighted(Dataset, eq=False):
    """A data set whose queries count more or less."""

    weights: F64 = field(default_factory=lambda: np.empty(0))  # one per query, each above 0

    def select(self, queries: Sequence[int] | NDArray[np.int64] | slice) -> Weighted:
        """The data set of these queries (by position), in this order, with their weights."""
        chosen = np.arange(self.queries)[queries]
        return _with(super().select(chosen), self.weights[chosen])


def _with(data: Dataset, weights: F64) -> Weighted:
    return Weighted(**{one.name: getattr(data, one.name) for one in fields(Dataset)}, weights=weights)


def weighted(data: Dataset, sample_weight: Any) -> Dataset:
    """The queries with their weights, given by query or by document; a query that weighs 0 is left out.

    >>> data = Dataset(np.zeros((3, 1)), np.zeros(3, np.int32), np.array([0, 2, 3]), ("a", "b"))
    >>> query_weights(weighted(data, [2, 2, 5])).tolist(), weighted(data, [0, 1]).query_ids
    ([2.0, 5.0], ('b',))
    """
    try:
        given = np.asarray(sample_weight, np.float64)
    except (TypeError, ValueError):
        raise DataError("sample_weight holds something that is no number") from None
    if given.shape not in ((len(data),), (data.queries,)):
        raise DataError(
            f"sample_weight has the shape {given.shape}; a weight for each of the {data.queries:,} queries is needed, "
            f"or one for each of the {len(data):,} documents, the same within a query"
        )
    if not np.isfinite(given).all() or (given < 0).any():
        raise DataError("sample_weight holds a number below 0, or one that is not finite")
    if given.shape == (len(data),):
        given = _by_query(data, given)
    kept = np.flatnonzero(given)
    if not len(kept):
        raise DataError("every query weighs 0; there is nothing to learn from")
    return _with(data, given) if len(kept) == data.queries else _with(data.select(kept), given[kept])


def _by_query(data: Dataset, rows: F64) -> F64:
    """Weights of rows as weights of queries; they must not differ within one."""
    sizes = np.diff(data.offsets)
    by_query = np.zeros(data.queries)
    by_query[sizes > 0] = rows[data.offsets[:-1][sizes > 0]]
    other = np.flatnonzero(np.repeat(by_query, sizes) != rows)
    if len(other):
        query = data.query_ids[int(np.searchsorted(data.offsets, other[0], side="right")) - 1]
        raise DataError(f"sample_weight differs among the documents of query {query}; rankers weigh whole queries")
    return by_query


def query_weights(data: Dataset) -> F64 | None:
    """The weight of each query; None: all count alike."""
    return data.weights if isinstance(data, Weighted) else None


def row_weights(data: Dataset) -> F64 | None:
    """The weight of each document, which is its query's."""
    weights = query_weights(data)
    return None if weights is None else np.repeat(weights, np.diff(data.offsets))


def total_weight(data: Dataset) -> float:
    """The weight of all queries together: their number, where all count alike."""
    weights = query_weights(data)
    return float(data.queries) if weights is None else float(weights.sum())


def weighted_mean(values: F64, weights: F64) -> float:
    """The mean of the values that are numbers (a query without one does not count); NaN of none."""
    counted = ~np.isnan(values)
    whole = float(weights[counted].sum())
    return float(values[counted] @ weights[counted]) / whole if whole > 0 else np.nan
