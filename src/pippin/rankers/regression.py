"""Linear regression on the label, the pointwise baseline of LETOR."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from pippin.data.dataset import Dataset
from pippin.errors import DataError
from pippin.rankers.base import register
from pippin.rankers.linear import LinearRanker, drop_constant_queries, one_blas_thread
from pippin.rankers.parameters import check_minima, parameter
from pippin.rankers.training_data import row_weights

_NAMED = ("label", "exp2", "square")


@register("regression")
class Regression(LinearRanker):
    """Least squares on the label, with an intercept.

    min over w, b of Σ (w·x + b − m(label))² + lambda_l2 ‖w‖² over the documents of all queries, as in LETOR.
    """

    source = "LETOR 3.0 (Qin, Liu, Xu & Li 2010), §4.2.1"
    # Up to shift and scale, which do not change rankings, a mapping of three labels is one number: the gain of the
    # middle label. The LETOR paper selected the mapping on validation and recommends regularisation.
    grid: ClassVar[Mapping[str, Sequence[Any]]] = {
        "label_gain": ["label", 0.0, 0.1, 0.2, 0.25, 1 / 3, 2 / 3, 0.75, 0.9, 1.0, "exp2"],
        "lambda_l2": [1e-6, 1e-2, 1.0, 10.0, 100.0, 1000.0],
    }
    small_grid: ClassVar[Mapping[str, Sequence[Any]]] = {"lambda_l2": (1e-6, 1.0, 100.0)}
    cost_ms = 20
    supports_sample_weight = True

    lambda_l2: float = parameter(1e-06, "L2 regularisation; 0: the solution with minimum norm")
    label_gain: str | float = parameter(
        "label", "m: label, exp2 (2^label − 1), square, or the relative gain (0 to 1) of half the top label"
    )
    within_queries: bool = parameter(False, "subtract the means of each query: fit differences within queries only")
    drop_constant_queries: bool = parameter(False, "ignore queries whose documents all have the same label")

    def _check(self) -> None:
        check_minima(self, lambda_l2=0)
        check_mapping(self.label_gain)

    def _fit(self, train: Dataset, valid: Dataset | None) -> None:
        values = map_labels(train.labels, self.label_gain)
        if self.drop_constant_queries:
            informative = drop_constant_queries(train)
            if informative.queries == 0:
                raise DataError("drop_constant_queries leaves no query: every query has only one label")
            train, values = informative, map_labels(informative.labels, self.label_gain, int(train.labels.max()))
        features, targets = np.array(train.features, np.float64), values
        magnitudes = np.maximum(np.abs(features.min(axis=0)), np.abs(features.max(axis=0)))
        if self.within_queries:
            for column in (*features.T, targets := targets.copy()):
                _subtract_query_means(column, train.offsets)
        weights = row_weights(train)
        mean = np.average(features, axis=0, weights=weights)
        features -= mean
        targets = targets - np.average(targets, weights=weights)
        varies = np.ptp(features, axis=0) > 1e-12 * magnitudes
        if weights is not None:
            features *= np.sqrt(weights)[:, None]
            targets *= np.sqrt(weights)
        with one_blas_thread():
            self.coef_ = least_squares(features, targets, self.lambda_l2, varies)
            self.intercept_ = float(np.average(values, weights=weights) - mean @ self.coef_)


def _subtract_query_means(column: NDArray[np.float64], offsets: NDArray[np.int64]) -> None:
    """Subtract the mean of each query in place."""
    sizes = np.diff(offsets)
    is_filled = sizes > 0
    column -= np.repeat(np.add.reduceat(column, offsets[:-1][is_filled]) / sizes[is_filled], sizes[is_filled])


def check_mapping(mapping: str | float) -> None:
    """Raise DataError unless this is the name of a mapping or a number from 0 to 1."""
    if mapping not in _NAMED if isinstance(mapping, str) else not 0 <= mapping <= 1:
        raise DataError(f"label_gain must be {', '.join(_NAMED)} or a number from 0 to 1, got {mapping!r}")


def map_labels(labels: NDArray[np.int32], mapping: str | float, top: int | None = None) -> NDArray[np.float64]:
    """Return the gain of each label; a number is the gain of half the top label, with a power law in between.

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
    """Return argmin ‖features w − targets‖² + ridge ‖w‖² by normal equations scaled to unit diagonal.

    Constant columns, and directions without variance, get weight 0.
    """
    gram = features.T @ features
    sizes = np.sqrt(np.diag(gram) + ridge)
    scales = np.divide(1.0, sizes, out=np.zeros_like(sizes), where=varies & (sizes > 0))
    gram[np.diag_indices_from(gram)] += ridge
    values, vectors = np.linalg.eigh(scales[:, None] * gram * scales)
    is_kept = values > 1e-13 * max(float(values.max(initial=0.0)), 1e-300)
    inverse = np.divide(1.0, values, out=np.zeros_like(values), where=is_kept)
    weights: NDArray[np.float64] = scales * (vectors @ (inverse * (vectors.T @ (scales * (targets @ features)))))
    return weights
