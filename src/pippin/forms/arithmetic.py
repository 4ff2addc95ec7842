"""What does a form score, in the precision that its convention states? Slow and plain: the truth for engines.

Every number is rounded where the engine rounds it: features first, then thresholds and values, then each sum. `native`
gives the same bits, fast.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pippin.forms.form import F64, ZERO, Form, Layer, Linear, Network, Scoring, Tree, Trees

_BLOCK = 1 << 14  # documents at a time


def score(form: Form, features: NDArray[np.floating[Any]]) -> F64:
    """A score per document; NaN is NULL."""
    found = np.empty(len(features))
    with np.errstate(all="ignore"):
        for at in range(0, len(features), _BLOCK):
            found[at : at + _BLOCK] = _score(form, seen(form, features[at : at + _BLOCK]))
    return found


def seen(form: Form, features: NDArray[np.floating[Any]]) -> F64:
    """The features as the model sees them: rounded, NULL as 0 where that is the rule, normalised."""
    table = rounded(np.asarray(features, np.float64), form.scoring.features)
    if form.scoring.missing == "zero":
        table = np.where(np.isnan(table), 0.0, table)
    for column, one in enumerate(form.normalisers):
        if one is not None:
            kind = form.scoring.features
            shift, scale = (rounded(np.array(value), kind) for value in (one.shift, one.scale))
            table[:, column] = rounded(rounded(table[:, column] - shift, kind) / scale, kind)
    return table


def rounded(values: F64, precision: str) -> F64:
    """Doubles that have the values of a precision; always a copy."""
    if precision == "float64":
        return values.copy()
    return values.astype(np.float32).astype(np.float64)


def _score(form: Form, table: F64) -> F64:
    if isinstance(form, Trees):
        return _trees(form, table)
    if isinstance(form, Linear):
        return _linear(form, table)
    if isinstance(form, Network):
        return _network(form, table)
    raise TypeError(f"{type(form).__name__} is no form that can be scored")


def _trees(form: Trees, table: F64) -> F64:
    kinds = form.scoring
    total = np.zeros(len(table))
    for bag in form.bags:
        sums = np.full(len(table), rounded(np.array(form.start), kinds.sums))
        for one, leaves in zip(bag, _leaves(bag, table, kinds), strict=True):
            sums = rounded(sums + rounded(one.value, kinds.values)[leaves], kinds.sums)
        total = rounded(total + sums, kinds.totals)
    return finished(form, total)


def finished(form: Trees, total: F64) -> F64:
    """The score, given the sum over the bags."""
    kinds = form.scoring
    total = rounded(total * form.scale, kinds.totals) if form.scale != 1 else total
    total = rounded(total / form.divisor, kinds.totals) if form.divisor != 1 else total
    return rounded(total + form.base, kinds.totals) if form.base else total


def leaves(form: Trees, features: NDArray[np.floating[Any]]) -> Iterator[NDArray[np.int64]]:
    """Tree after tree, the leaf that each document reaches."""
    table = seen(form, features)
    for bag in form.bags:
        yield from _leaves(bag, table, form.scoring)


def _leaves(trees: tuple[Tree, ...], table: F64, scoring: Scoring) -> Iterator[NDArray[np.int64]]:
    rows = np.arange(len(table))
    for one in trees:
        if not len(one):
            yield np.zeros(len(table), np.int64)
            continue
        thresholds = asked(one.threshold, scoring)
        at = np.zeros(len(table), np.int64)
        while (inside := at >= 0).any():
            place, node = rows[inside], at[inside]
            goes_left = decided(one, node, table[place, one.feature[node]], thresholds[node], scoring.operator)
            at[inside] = np.where(goes_left, one.left[node], one.right[node])
        yield -1 - at


def asked(thresholds: F64, scoring: Scoring) -> F64:
    """What the engine compares with, given what stands in its file."""
    found = rounded(thresholds, scoring.thresholds)
    return rounded(found + rounded(np.array(scoring.slack), scoring.thresholds), scoring.thresholds) \
        if scoring.slack else found  # fmt: skip


def decided(one: Tree, node: NDArray[np.int64], values: F64, thresholds: F64, operator: str) -> NDArray[np.bool_]:
    """Whether each value goes to the left at its node."""
    goes_left = values <= thresholds if operator == "<=" else values < thresholds
    missing = np.isnan(values)
    if one.zero_missing is not None:
        missing |= one.zero_missing[node] & (np.abs(values) <= ZERO)
    return np.where(missing, one.missing_left[node], goes_left)


def _linear(form: Linear, table: F64) -> F64:
    kinds = form.scoring
    total = np.full(len(table), rounded(np.array(form.start), kinds.sums))
    terms = form.terms or tuple((i, float(form.weights[i])) for i in form.used())
    weights = rounded(np.array([weight for _, weight in terms]), kinds.values)
    for (column, _), weight in zip(terms, weights, strict=True):
        product = rounded(table[:, column] * weight, kinds.sums)
        total = rounded(total + product, kinds.sums)
    return rounded(total + rounded(np.array(form.bias), kinds.values), kinds.sums) if form.bias else total


def _network(form: Network, table: F64) -> F64:
    kinds = form.scoring
    hidden = rounded((table - form.mean) * form.factor, kinds.sums)
    for layer in form.layers:
        hidden = _layer(layer, hidden, kinds)
    return hidden[:, 0]


def _layer(layer: Layer, inputs: F64, kinds: Scoring) -> F64:
    matrix, bias = rounded(layer.matrix, kinds.values), rounded(layer.bias, kinds.values)
    if kinds.sums == "float64":
        return activated(inputs @ matrix + bias, layer.activation)
    total = np.tile(bias, (len(inputs), 1))
    for column in range(matrix.shape[0]):  # as a plain loop adds them up
        total = rounded(total + rounded(inputs[:, column, None] * matrix[column], kinds.sums), kinds.sums)
    return rounded(activated(total, layer.activation), kinds.sums)


def activated(values: F64, activation: str) -> F64:
    """What a unit gives.

    >>> activated(np.array([-1.0, 2.0]), "leakyrelu").tolist()
    [-0.01, 2.0]
    """
    if activation == "tanh":
        return np.tanh(values)
    if activation == "sigmoid":
        return np.asarray(1 / (1 + np.exp(-values)), np.float64)
    if activation == "relu":
        return np.maximum(values, 0.0)
    if activation == "leakyrelu":
        return np.where(values < 0, 0.01 * values, values)
    if activation == "elu":
        return np.where(values < 0, np.expm1(values), values)
    return values
