"""Features cut by thresholds into codes of one byte, and training rows in the order that pairs of labels want.

A stump "feature f above threshold t" is then "code above t": searching all stumps is one histogram per feature. A
feature with NULLs has two columns, one where NULL lies below every threshold and one where it lies above, so that
nothing after this file has to know of NULL.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pippin.data.dataset import Dataset, rows_of
from pippin.errors import DataError
from pippin.kernels.boosting import Levels
from pippin.rankers.parts.weights import query_weights

U8 = NDArray[np.uint8]
F64 = NDArray[np.float64]
MOST = 255  # thresholds that one byte can tell apart


@dataclass(frozen=True, eq=False)
class Bins:
    """Thresholds of each feature, and the columns that searching goes through."""

    thresholds: tuple[F64, ...]  # by feature, ascending
    feature: NDArray[np.int64]  # of each column
    null_above: NDArray[np.bool_]  # whether NULL lies above every threshold of the column
    counts: NDArray[np.int32]  # thresholds of each column

    def codes(self, features: NDArray[np.floating[Any]], rows: NDArray[np.int64] | None = None) -> U8:
        """[column, row]: how many thresholds lie below the value."""
        height = len(features) if rows is None else len(rows)
        codes = np.empty((len(self.feature), height), np.uint8)
        for column, (f, above) in enumerate(zip(self.feature, self.null_above, strict=True)):
            values = features[:, f] if rows is None else features[rows, f]
            codes[column] = np.searchsorted(self.thresholds[f], values, side="left")
            missing = np.isnan(values)
            if missing.any():
                codes[column, missing] = MOST if above else 0
        return codes


def cut(features: NDArray[np.floating[Any]], rows: NDArray[np.int64], most: int, spacing: str) -> Bins:
    """Thresholds from training rows: `most` per feature, equally spaced from the least value on, or at quantiles."""
    if not 1 <= most <= MOST:
        raise DataError(f"the number of thresholds is between 1 and {MOST}, not {most}")
    thresholds, feature, null_above = [], [], []
    for f in range(features.shape[1]):
        column = features[rows, f].astype(np.float64)
        known = column[~np.isnan(column)]
        thresholds.append(_thresholds(known, most, spacing))
        null_above.append(False)
        feature.append(f)
        if len(known) < len(column) and len(known):
            null_above.append(True)
            feature.append(f)
    counts = [len(thresholds[f]) for f in feature]
    return Bins(tuple(thresholds), np.array(feature), np.array(null_above, bool), np.array(counts, np.int32))


def _thresholds(known: F64, most: int, spacing: str) -> F64:
    """Ascending thresholds, each below at least one value."""
    if not len(known):
        return np.empty(0)
    low, high = float(known.min()), float(known.max())
    if low == high:
        # A constant has no threshold inside; below it, it still tells apart what is NULL.
        return np.array([low - 1.0])
    if spacing == "equal":
        thresholds = low + (high - low) * np.arange(most) / (most + 1)
    else:
        values = np.unique(known)
        thresholds = (
            values[:-1] if len(values) - 1 <= most else np.quantile(known, np.arange(most) / most, method="lower")
        )
    return np.unique(thresholds[thresholds < high])


@dataclass(frozen=True, eq=False)
class Paired:
    """The training rows that have pairs: queries with two labels or more, rows of a query from the highest label on."""

    rows: NDArray[np.int64]  # of the data set
    levels: Levels
    least: float  # what a pair of a query of weight 1 weighs at least


def pair(data: Dataset, weight: str) -> Paired:
    """Order rows for pairs. A pair weighs 1 / all pairs ("pairs") or 1 / (queries * pairs of its query) ("queries").

    The weight of a query counts as so many queries.
    """
    lengths = np.diff(data.offsets)
    query = np.repeat(np.arange(data.queries), lengths)
    order = np.lexsort((-data.labels.astype(np.int64), query))
    labels, query = data.labels[order], query[order]
    first = np.ones(len(labels), bool)
    first[1:] = (labels[1:] != labels[:-1]) | (query[1:] != query[:-1])
    blocks = np.bincount(query[np.flatnonzero(first)], minlength=data.queries)
    kept = np.flatnonzero(blocks > 1)
    if not len(kept):
        raise DataError(
            "in every query of the training set all labels are of one class; there is no pair to learn from"
        )
    rows = rows_of(data.offsets, kept)
    starts = np.flatnonzero(first[rows])
    cuts = np.append(starts, len(rows)).astype(np.int64)
    queries = np.concatenate(([0], np.cumsum(blocks[kept]))).astype(np.int64)
    sizes = np.diff(cuts).astype(np.float64)
    squares = np.add.reduceat(sizes**2, queries[:-1])
    pairs = (lengths[kept].astype(np.float64) ** 2 - squares) / 2
    given = query_weights(data)
    if given is None:
        weights = np.full(len(kept), 1.0 / pairs.sum()) if weight == "pairs" else 1.0 / (len(kept) * pairs)
        return Paired(order[rows], Levels(cuts, queries, weights), float(weights.min()))
    given = given[kept]
    each = np.full(len(kept), 1.0 / (given @ pairs)) if weight == "pairs" else 1.0 / (given.sum() * pairs)
    return Paired(order[rows], Levels(cuts, queries, given * each), float(each.min()))
