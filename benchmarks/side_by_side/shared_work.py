"""Settings that Pippin and its peers share: grid points and the evaluation of trained models."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

GRID = {"num_leaves": (4, 10, 31), "min_data_in_leaf": (5, 20, 50)}
GRID_TREES = 100


def mean_ndcg(scores: NDArray[np.float64], labels: NDArray[np.int32], offsets: NDArray[np.int64]) -> float:
    """NDCG@10 with gains 2^label - 1 by its definition; queries without a gain do not count.

    >>> mean_ndcg(np.array([1.0, 2.0]), np.array([0, 1]), np.array([0, 2]))
    1.0
    """
    discounts = 1 / np.log2(np.arange(2, 12))
    values = []
    for begin, end in zip(offsets[:-1].tolist(), offsets[1:].tolist(), strict=True):
        gains = np.exp2(labels[begin:end]) - 1
        ranked, ideal = gains[np.argsort(-scores[begin:end], kind="stable")][:10], np.sort(gains)[::-1][:10]
        if ideal[0] > 0:
            values.append(float(ranked @ discounts[: len(ranked)]) / float(ideal @ discounts[: len(ideal)]))
    return float(np.mean(values))
