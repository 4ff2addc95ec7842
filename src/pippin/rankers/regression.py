"""Least squares: predict the label itself and rank by the prediction. The pointwise baseline of LETOR."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from pippin.data.dataset import Dataset
from pippin.errors import DataError
from pippin.rankers.base import register
from pippin.rankers.parts.convex import one_blas_thread, with_pairs
from pippin.rankers.parts.linear import LinearRanker
from pippin.rankers.parts.parameters import at_least, parameter
from pippin.rankers.parts.weights import row_weights

_NAMED = ("label", "exp2", "square")


@register("regression")
class Regression(LinearRanker):
    """Least squares with an intercept.

    min over w, b of Σ (w·x + b − m(label))² + ridge ‖w‖²; documents of every query take part, as in LETOR.
    """

    source = "LETOR 3.0 (Qin, Liu, Xu & Li 2010), §4.2.1"
    # Up to shift and scale, which change no ranking, a mapping of three labels is one number: the middle label's worth.
    # The LETOR paper chose the mapping on validation and found that a penalty would have helped.
    grid: ClassVar[Mapping[str, Sequence[Any]]] = {
        "mapping": ["label", 0.0, 0.1, 0.2, 0.25, 1 / 3, 2 / 3, 0.75, 0.9, 1.0, "exp2"],
        "ridge": [1e-6, 1e-2, 1.0, 10.0, 100.0, 1000.0],
    }
    quick_grid: ClassVar[Mapping[str, Sequence[Any]]] = {"ridge": (1e-6, 1.0, 100.0)}
    milliseconds = 20
    takes_weights = True

    ridge: float = parameter(1e-06, "weight of the penalty; without one, the solution with the least norm")
    mapping: str | float = parameter(
        "label", "label, exp2 (2^label − 1), square, or 0 to 1: half the top label's part of its worth"
    )
    within_queries: bool = parameter(False, "subtract each query's means: explain only differences within queries")
    drop_constant: bool = parameter(False, "leave out queries whose documents all have one label")

    def _check(self) -> None:
        at_least(self, ridge=0)
        check_mapping(self.mapping)

    def _fit(self, train: Dataset, valid: Dataset | None) -> None:
        worth = map_labels(train.labels, self.mapping)
        if self.drop_constant:
            kept = with_pairs(train)
            if kept.queries == 0:
                raise DataError("every query of the training set has one label; with drop_constant nothing is left")
            train, worth = kept, map_labels(kept.labels, self.mapping, int(train.labels.max()))
        features, targets = np.array(train.features, np.float64), worth
        magnitudes = np.maximum(np.abs(features.min(axis=0)), np.abs(features.max(axis=0)))
        if self.within_queries:
            for column in (*features.T, targets := targets.copy()):
                _centre(column, train.offsets)
        weights = row_weights(train)
        mean = np.average(features, axis=0, weights=weights)
        features -= mean
        targets = targets - np.average(targets, weights=weights)
        varies = np.ptp(features, axis=0) > 1e-12 * magnitudes
        if weights is not None:
            features *= np.sqrt(weights)[:, None]
            targets *= np.sqrt(weights)
        with one_blas_thread():
            self.coef_ = least_squares(features, targets, self.ridge, varies)
            self.intercept_ = float(np.average(worth, weights=weights) - mean @ self.coef_)


def _centre(column: NDArray[np.float64], offsets: NDArray[np.int64]) -> None:
    """Subtract each query's mean."""
    sizes = np.diff(offsets)
    some = sizes > 0
    column -= np.repeat(np.add.reduceat(column, offsets[:-1][some]) / sizes[some], sizes[some])


def check_mapping(mapping: str | float) -> None:
    """Raise unless this is a name of a mapping or a number from 0 to 1."""
    if mapping not in _NAMED if isinstance(mapping, str) else not 0 <= mapping <= 1:
        raise DataError(f"mapping is {', '.join(_NAMED)} or a number from 0 to 1, not {mapping!r}")


def map_labels(labels: NDArray[np.int32], mapping: str | float, top: int | None = None) -> NDArray[np.float64]:
    """What each label counts as; a number is the worth of half the top label, with powers of the label in between.

    >>> map_labels(np.array([0, 1, 2], np.int32), 0.25).tolist()
    [0.0, 0.25, 1.0]
    """
    check_mapping(mapping)
    values: NDArray[np.float64] = labels.astype(np.float64)
    if mapping == "label":
        return values
    if mapping == "square":
        return values**2
    if mapping == "exp2":
        return np.exp2(values) - 1
    number = float(mapping)
    shares: NDArray[np.float64] = values / (top or int(labels.max()))
    if number == 0:  # only the top label counts
        return np.asarray(shares == 1, np.float64)
    power = -math.log2(number)
    shares[shares > 0] **= power
    return shares


def least_squares(
    features: NDArray[np.float64], targets: NDArray[np.float64], ridge: float, varies: NDArray[np.bool_]
) -> NDArray[np.float64]:
    """argmin ‖features w − targets‖² + ridge ‖w‖² through the normal equations, of unit diagonal for a good condition.

    Columns that do not vary, and directions in which nothing does (LETOR's tables have some), get no weight.
    """
    gram = features.T @ features
    sizes = np.sqrt(np.diag(gram) + ridge)
    scales = np.divide(1.0, sizes, out=np.zeros_like(sizes), where=varies & (sizes > 0))
    gram[np.diag_indices_from(gram)] += ridge
    values, vectors = np.linalg.eigh(scales[:, None] * gram * scales)
    kept = values > 1e-13 * max(float(values.max(initial=0.0)), 1e-300)
    inverse = np.divide(1.0, values, out=np.zeros_like(values), where=kept)
    weights: NDArray[np.float64] = scales * (vectors @ (inverse * (vectors.T @ (scales * (targets @ features)))))
    return weights
