"""How features vary: their values less the mean of the query or of all, and the size of what is left."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from pippin.data.dataset import Dataset
from pippin.errors import DataError
from pippin.rankers.parts.weights import row_weights

F64 = NDArray[np.float64]


def centred(data: Dataset, within: str) -> F64:
    """The features less their means, over the query ("query") or over all documents ("all").

    >>> data = Dataset(np.array([[1.0], [3.0], [10.0]]), np.zeros(3, np.int32), np.array([0, 2, 3]), ("a", "b"))
    >>> centred(data, "query").ravel().tolist(), centred(data, "all").ravel().round(2).tolist()
    ([-1.0, 1.0, 0.0], [-3.67, -1.67, 5.33])
    """
    table = np.asarray(data.features, np.float64)
    if within == "all":
        over_all: F64 = table - table.mean(axis=0)
        return over_all
    sizes = np.diff(data.offsets)
    filled = sizes > 0
    sums = np.add.reduceat(table, data.offsets[:-1][filled], axis=0)
    apart: F64 = table - np.repeat(sums / sizes[filled, None], sizes[filled], axis=0)
    return apart


def scales(table: F64) -> F64:
    """The root mean square of each column of a centred table; 1 where a feature does not vary."""
    found = np.sqrt((table**2).mean(axis=0))
    usual: F64 = np.where(found > 1e-12 * max(1.0, float(np.abs(table).max(initial=0.0))), found, 1.0)
    return usual


def check_standardise(name: str, standardise: bool | str) -> None:
    """Raise unless this is one of the three that `standardise` may be."""
    if standardise not in (True, False, "auto"):
        raise DataError(f"{name}: standardise is True, False or auto, not {standardise!r}")


def standardises(standardise: bool | str, features: NDArray[np.floating[Any]]) -> bool:
    """`auto`: unless all of them are within [-1, 1], as LETOR's query-level normalisation leaves them."""
    if standardise == "auto":
        return bool(features.min(initial=0.0) < -1.0 or features.max(initial=0.0) > 1.0)
    return bool(standardise)


def factors_within(data: Dataset) -> F64:
    """One over each feature's deviation within queries, by the weights of queries; 0 where it does not vary in any.

    >>> table = np.array([[1.0, 7.0], [5.0, 7.0], [10.0, 9.0]])
    >>> data = Dataset(table, np.zeros(3, np.int32), np.array([0, 2, 3]), ("a", "b"))
    >>> factors_within(data).round(4).tolist()
    [0.6124, 0.0]
    """
    squares = np.average(centred(data, "query") ** 2, axis=0, weights=row_weights(data))
    deviation, largest = np.sqrt(squares), np.abs(data.features).max(axis=0, initial=0.0)
    varies = deviation > 1e-12 * largest  # and not by rounding alone
    return np.divide(1.0, deviation, out=np.zeros_like(deviation), where=varies)
