"""A small concave quadratic under a cap: the master problem of the cutting plane methods."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

F64 = NDArray[np.float64]


def maximise_capped(gram: F64, linear: F64, cap: float, start: F64 | None = None) -> F64:
    """argmax linear·a − ½ aᵀ gram a over a ≥ 0, Σa ≤ cap, for a positive semi-definite gram.

    Active set after Wolfe (1976): the share that is not used is one more, free, variable, so that the shares lie on the
    simplex; they move to the optimum of the face they are on, leaving what becomes negative, until no other can gain.

    >>> maximise_capped(np.eye(2), np.array([3.0, 1.0]), 1.0).round(12).tolist()
    [1.0, 0.0]
    """
    size = len(linear) + 1
    matrix, vector = np.zeros((size, size)), np.zeros(size)
    matrix[1:, 1:], vector[1:] = cap * gram, linear
    shares = np.zeros(size)
    if start is not None:
        shares[1 : 1 + len(start)] = start / cap
    shares[0] = max(0.0, 1.0 - shares.sum())
    scale = max(1e-300, float(np.abs(vector).max()), float(np.abs(np.diag(matrix)).max()))
    face, best = shares > 0, 0
    for turn in range(50 * size):
        shares, face = _to_optimum(matrix, vector, shares, face)
        if turn and not face[best]:  # the gain it promised was a rounding error
            break
        slopes = matrix @ shares - vector
        level = float(slopes[face] @ shares[face])
        slopes[face] = np.inf
        best = int(np.argmin(slopes))
        if slopes[best] >= level - 1e-13 * scale:
            break
        face[best] = True
    return cap * shares[1:]


def _to_optimum(matrix: F64, vector: F64, shares: F64, face: NDArray[np.bool_]) -> tuple[F64, NDArray[np.bool_]]:
    """Move to the optimum of the face, or of the smaller one that is met on the way."""
    shares, face = shares.copy(), face.copy()
    while True:
        on = np.flatnonzero(face)
        target = _optimum_of(matrix[np.ix_(on, on)], vector[on])
        if (target >= 0).all():
            shares[:] = 0
            shares[on] = target / target.sum()
            return shares, face
        falling = target < 0
        steps = shares[on][falling] / (shares[on][falling] - target[falling])
        step = float(steps.min())
        shares[on] += step * (target - shares[on])
        leaving = on[falling][steps <= step]
        shares[leaving], face[leaving] = 0.0, False
        np.maximum(shares, 0.0, out=shares)


def _optimum_of(matrix: F64, vector: F64) -> F64:
    """argmin ½ zᵀ matrix z − vector·z with Σz = 1; of several, the one with the least change by rounding."""
    size = len(vector)
    unit = float(np.abs(matrix).max()) or 1.0
    system = np.ones((size + 1, size + 1))
    system[:size, :size] = matrix / unit + 1e-13 * np.eye(size)  # planes may repeat each other
    system[size, size] = 0.0
    return np.linalg.solve(system, np.append(vector / unit, 1.0))[:size]
