"""Score documents with tree ensembles and linear models."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pippin.kernels import native, threads_for

F64 = NDArray[np.float64]
I32 = NDArray[np.int32]
I64 = NDArray[np.int64]
U8 = NDArray[np.uint8]


class Missing(IntEnum):
    """Where documents go whose value is missing at a node."""

    AS_ZERO = 0  # NaN is treated as 0
    NAN_LEFT = 1
    NAN_RIGHT = 2
    ZERO_LEFT = 3  # NaN and zeros go left
    ZERO_RIGHT = 4


@dataclass(frozen=True, eq=False)
class Trees:
    """The trees of an ensemble one after the other, each from its root on; documents with x <= threshold go left.

    A tree of n leaves has n - 1 nodes. A child c from 0 on is a node of the same tree, which comes after its parent;
    below 0 it is the leaf -1 - c.
    """

    leaves: I64  # of each tree
    features: I32  # this and what follows, by node
    thresholds: F64
    missing: U8  # values of Missing
    left: I32
    right: I32
    values: F64  # by leaf


class Forest:
    """Ensembles of trees, arranged for scoring; ValueError where they are no trees over so many features.

    `zero` is what counts as zero: a value of at most this size is treated as 0. With `single`, the sum of an ensemble
    is rounded to float32 after each tree.

    >>> leaf, column, way = (np.array([n], t) for n, t in ((-1, np.int32), (0, np.int32), (Missing.NAN_LEFT, np.uint8)))
    >>> stump = Trees(np.array([2]), column, np.array([0.5]), way, leaf, leaf - 1, np.array([3.0, 4.0]))
    >>> Forest([stump], 1).scores(np.array([[0.5], [0.6], [np.nan]]))
    array([3., 4., 3.])
    """

    def __init__(self, ensembles: Sequence[Trees], features: int, zero: float = 0.0, single: bool = False) -> None:
        def joined(name: str, dtype: type[np.generic]) -> NDArray[Any]:
            return np.concatenate([np.empty(0, dtype), *(getattr(trees, name) for trees in ensembles)])

        self.trees = sum(len(trees.leaves) for trees in ensembles)
        self._packed = native.Forest(
            joined("leaves", np.int64), np.array([len(trees.leaves) for trees in ensembles], np.int64),
            joined("features", np.int32), joined("left", np.int32), joined("right", np.int32),
            joined("thresholds", np.float64), joined("missing", np.uint8), joined("values", np.float64), features, zero,
            single,
        )  # fmt: skip

    def scores(self, table: F64, instructions: str = "") -> F64:
        """For each row the sum, over the ensembles, of the sum of their trees' values, each in order.

        `instructions` ("plain", "avx2", "avx512") are the processor's best where nothing is said; ValueError where it
        has them not. The scores are the same bits with all of them.
        """
        scores = np.empty(len(table), np.float64)
        workers = threads_for(len(table) * self.trees, "trees")
        self._packed.scores(table, scores, workers, instructions)
        return scores


def read_numbers(text: str, count: int, whole: bool = False, infinite: bool = False) -> F64:
    """So many numbers with one space between them; ValueError where the text is something else.

    >>> read_numbers("1 -2.5e3", 2)
    array([ 1.0e+00, -2.5e+03])
    """
    values = np.empty(count, np.float64)
    native.read_numbers(text, whole, infinite, values)
    return values


def linear_scores(
    table: F64,
    columns: NDArray[np.int32],
    weights: F64,
    start: float = 0.0,
    *,
    single_features: bool = False,
    single_sums: bool = False,
    missing_is_zero: bool = False,
) -> F64:
    """start + Σ weight · value of each row, in the order of the columns, which may come again.

    `single_features` rounds values to float32 first, `single_sums` each product and each sum.

    >>> linear_scores(np.array([[1.0, 2.0]]), np.array([1, 0, 1], np.int32), np.array([1.0, 10.0, 100.0]), 0.5)
    array([212.5])
    """
    scores = np.empty(len(table), np.float64)
    native.linear_scores(table, columns, weights, start, single_features, single_sums, missing_is_zero, scores)
    return scores
