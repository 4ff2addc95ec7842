"""What is each feature worth by itself, and which features say the same? Asked of rankings by one feature alone.

The value of a feature is the measure of its ranking, upwards or downwards, whichever is better; the similarity of two
is the share of a query's pairs of documents that both put strictly in the same order (Geng, Liu, Qin & Li 2007),
averaged over queries. All pairs of documents against all pairs of features are one product of matrices of signs, so
that the work is done by the fastest routine there is; NULL puts a pair in no order.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from pippin.data.dataset import Dataset
from pippin.evaluation.convention import Convention
from pippin.evaluation.objective import Objective, resolve
from pippin.kernels.checksum import xxh3

F64 = NDArray[np.float64]
_PAIRS = 1 << 15  # of documents that are compared at once; their count stays exact in float32
_RECENT: dict[tuple[object, ...], F64] = {}  # the last few answers: a grid asks the same again and again
_KEPT = 4


def values_alone(data: Dataset, measure: str, convention: str | Convention) -> tuple[F64, F64]:
    """The value of each feature alone in its better direction, and that direction, 1 or −1."""
    table = np.nan_to_num(np.nanmean(Objective(data, *resolve(measure, convention)).features(), axis=1))
    up, down = table[0::2], table[1::2]
    return np.maximum(up, down), np.where(down > up, -1.0, 1.0)


def varies(data: Dataset) -> NDArray[np.bool_]:
    """Whether each feature has different values among the documents of some query."""
    table = np.nan_to_num(np.asarray(data.features, np.float64))
    inside = data.qid()[1:] == data.qid()[:-1]
    changes: NDArray[np.bool_] = (table[1:][inside] != table[:-1][inside]).any(axis=0)
    return changes


def similarity(data: Dataset, signs: F64) -> F64:
    """[f, f]: the mean over queries of the share of pairs that two features put in the same order.

    >>> data = Dataset(np.array([[1.0, 5.0], [2.0, 7.0], [3.0, 6.0]]), np.zeros(3, np.int32), np.array([0, 3]), ("q",))
    >>> similarity(data, np.array([1.0, 1.0])).round(4).tolist(), similarity(data, np.array([1.0, -1.0]))[0, 1].round(4)
    ([[1.0, 0.6667], [0.6667, 1.0]], np.float64(0.3333))
    """
    table = np.ascontiguousarray(data.features, np.float64)
    key = (xxh3(table.tobytes()), xxh3(data.offsets.tobytes()), tuple(signs.tolist()))
    if key not in _RECENT:
        while len(_RECENT) >= _KEPT:
            del _RECENT[next(iter(_RECENT))]
        _RECENT[key] = _similarity(table * signs, data.offsets)
    return _RECENT[key]


def _similarity(table: F64, offsets: NDArray[np.int64]) -> F64:
    width = table.shape[1]
    total, queries = np.zeros((width, width)), 0
    for start, end in pairwise(offsets.tolist()):
        pairs = int(end - start) * int(end - start - 1) // 2
        if pairs:
            total += _same_order(table[start:end]) / pairs
            queries += 1
    return total / max(1, queries)


def _same_order(rows: F64) -> F64:
    """How many pairs of rows each two columns put strictly in the same order."""
    first, second = np.triu_indices(len(rows), 1)
    signed, either = np.zeros((2, rows.shape[1], rows.shape[1]))
    for at in range(0, len(first), _PAIRS):
        block = slice(at, at + _PAIRS)
        signs = np.nan_to_num(np.sign(rows[first[block]] - rows[second[block]])).astype(np.float32)
        apart = np.abs(signs)
        signed += signs.T @ signs
        either += apart.T @ apart
    return (signed + either) / 2
