"""Coordinate ascent on a measure: line searches along single weights, natively."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from pippin.kernels import native, threads
from pippin.kernels.objective import NativeObjective

F64 = NDArray[np.float64]
I32 = NDArray[np.int32]
I64 = NDArray[np.int64]


def rescore(objective: NativeObjective, active: I64, columns: F64, weights: F64) -> tuple[F64, F64]:
    """Scores [start, document] of weights [start, feature], and each start's sum of the measure over active queries.

    `columns` is [feature, document].
    """
    scores, totals = np.empty((len(weights), columns.shape[1]), np.float64), np.empty(len(weights), np.float64)
    native.rescore(objective.handle, active, columns, weights, scores, totals, threads())
    return scores, totals


def ascend(
    objective: NativeObjective,
    active: I64,
    columns: F64,
    features: I32,
    weights: F64,
    scores: F64,
    *,
    steps: int,
    exact: bool,
    nonneg: bool,
) -> F64:
    """Search along features [start, k] in turn, changing weights and scores in place; each start's sum afterwards."""
    totals = np.empty(len(weights), np.float64)
    native.ascend(objective.handle, active, columns, features, weights, scores, totals, steps, exact, nonneg, threads())
    return totals
