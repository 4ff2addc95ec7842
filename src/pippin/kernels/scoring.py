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
    """Where a node sends documents whose value is missing."""

    AS_ZERO = 0  # NaN is treated as 0
    NAN_LEFT = 1
    NAN_RIGHT = 2
    ZERO_LEFT = 3  # NaN and zeros go left
    ZERO_RIGHT = 4


@dataclass(frozen=True, eq=False)
class Trees:
    """The trees of an ensemble in flat arrays; documents with x <= threshold go left.

    Each tree begins with its root. A tree of n leaves has n - 1 nodes. A child c >= 0 is a later node of the same tree;
    c < 0 is the leaf -1 - c.
    """

    leaves: I64  # of each tree
    features: I32  # this and what follows, by node
    thresholds: F64
    missing: U8  # values of Missing
    left: I32
    right: I32
    values: F64  # by leaf


class Forest:
    """Ensembles of trees, prepared for scoring.

    `zero` is what counts as zero: a value of at most this size is treated as 0. With `single`, the sum of an ensemble
    is rounded to float32 after each tree. Raises ValueError if the arrays are not trees over `features` features.

    >>> leaf, column, nan =(np.array([n], t) for n, t in ((-1, np.int32), (0, np.int32), (Missing.NAN_LEFT, np.uint8)))
    >>> stump = Trees(np.array([2]), column, np.array([0.5]), nan, leaf, leaf - 1, np.array([3.0, 4.0]))
    >>> Forest([stump], 1).scores(np.array([[0.5], [0.6], [np.nan]]))
    array([3., 4., 3.])
    """

    def __init__(self, ensembles: Sequence[Trees], features: int, zero: float = 0.0, single: bool = False) -> None:
        def concatenate(name: str, dtype: type[np.generic]) -> NDArray[Any]:
            return np.concatenate([np.empty(0, dtype), *(getattr(trees, name) for trees in ensembles)])

        self.trees = sum(len(trees.leaves) for trees in ensembles)
        self._packed = native.Forest(
            concatenate("leaves", np.int64), np.array([len(trees.leaves) for trees in ensembles], np.int64),
            concatenate("features", np.int32), concatenate("left", np.int32), concatenate("right", np.int32),
            concatenate("thresholds", np.float64), concatenate("missing", np.uint8), concatenate("values", np.float64),
            features, zero, single,
        )  # fmt: skip

    def scores(self, table: F64, instructions: str = "") -> F64:
        """Return for each row the sum over the ensembles of the sum of their trees' values, each in order.

        `instructions` ("plain", "avx2", "avx512") default to the processor's best; ValueError if it does not support
        them. All give the same bits.
        """
        scores = np.empty(len(table), np.float64)
        workers = threads_for(len(table) * self.trees, "trees")
        self._packed.scores(table, scores, workers, instructions)
        return scores


def read_numbers(text: str, count: int, integers: bool = False, infinite: bool = False) -> F64:
    """Parse exactly `count` numbers separated by single spaces; raise ValueError for any other text.

    >>> read_numbers("1 -2.5e3", 2)
    array([ 1.0e+00, -2.5e+03])
    """
    values = np.empty(count, np.float64)
    native.read_numbers(text, integers, infinite, values)
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
    """Return start + Σ weight · value of each row, summed in the order of `columns`, which may repeat.

    `single_features` rounds values to float32 first, `single_sums` each product and each sum.

    >>> linear_scores(np.array([[1.0, 2.0]]), np.array([1, 0, 1], np.int32), np.array([1.0, 10.0, 100.0]), 0.5)
    array([212.5])
    """
    scores = np.empty(len(table), np.float64)
    native.linear_scores(table, columns, weights, start, single_features, single_sums, missing_is_zero, scores)
    return scores
