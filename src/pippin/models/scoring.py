"""Score models in the precision of their scoring rules: a reference scorer, and a fast scorer with the same bits.

`score_reference` rounds every number where the engine rounds it: features first, then thresholds and values, then each
sum. `make_scorer` uses kernels that compare float64 values. That gives the same bits because an engine's comparison is
monotone in the feature value: `double_thresholds` computes the largest float64 that the engine sends to the left.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pippin.kernels import scoring as kernels
from pippin.kernels.scoring import Forest, Missing, linear_scores
from pippin.models.model import (
    F64,
    ZERO_THRESHOLD,
    LinearModel,
    Model,
    NeuralNetwork,
    ScoringRules,
    Tree,
    TreeEnsemble,
    make_leaf,
)

Scorer = Callable[[F64], F64]
_BLOCK = 1 << 14  # documents scored at a time
_UNIT = 2.0**-52  # twice the unit roundoff of float64


def score_reference(model: Model, features: NDArray[np.floating[Any]]) -> F64:
    """Return a score per document; NaN is a missing value."""
    scores = np.empty(len(features))
    with np.errstate(all="ignore"):
        for start in range(0, len(features), _BLOCK):
            block = prepare_features(model, features[start : start + _BLOCK])
            scores[start : start + _BLOCK] = _score_block(model, block)
    return scores


def prepare_features(model: Model, features: NDArray[np.floating[Any]]) -> F64:
    """Return the features as the model sees them: rounded, missing values replaced if they are 0, normalised."""
    precision = model.scoring.features
    table = round_to(np.asarray(features, np.float64), precision)
    if model.scoring.missing == "zero":
        table = np.where(np.isnan(table), 0.0, table)
    for column, normaliser in enumerate(model.normalisers):
        if normaliser is not None:
            shift, scale = (round_to(np.array(value), precision) for value in (normaliser.shift, normaliser.scale))
            table[:, column] = round_to(round_to(table[:, column] - shift, precision) / scale, precision)
    return table


def round_to(values: F64, precision: str) -> F64:
    """Return a float64 copy, rounded to a precision."""
    if precision == "float64":
        return values.copy()
    with np.errstate(over="ignore"):
        return values.astype(np.float32).astype(np.float64)


def _score_block(model: Model, table: F64) -> F64:
    if isinstance(model, TreeEnsemble):
        return _score_trees(model, table)
    if isinstance(model, LinearModel):
        return _score_linear(model, table)
    if isinstance(model, NeuralNetwork):
        return _score_network(model, table)
    raise TypeError(f"{type(model).__name__} is not a model that can be scored")


def _score_trees(model: TreeEnsemble, table: F64) -> F64:
    rules = model.scoring
    total = np.zeros(len(table))
    for bag in model.bags:
        sums = np.full(len(table), round_to(np.array(model.start), rules.sums))
        for tree, leaves in zip(bag, _reach_leaves(bag, table, rules), strict=True):
            sums = round_to(sums + round_to(tree.value, rules.values)[leaves], rules.sums)
        total = round_to(total + sums, rules.totals)
    return _scale_total(model, total)


def _scale_total(model: TreeEnsemble, total: F64) -> F64:
    """Return the score from the sum over the bags."""
    precision = model.scoring.totals
    total = round_to(total * model.scale, precision) if model.scale != 1 else total
    total = round_to(total / model.divisor, precision) if model.divisor != 1 else total
    return round_to(total + model.base, precision) if model.base else total


def reach_leaves(model: TreeEnsemble, features: NDArray[np.floating[Any]]) -> Iterator[NDArray[np.int64]]:
    """Yield for each tree the leaf that each document reaches."""
    table = prepare_features(model, features)
    for bag in model.bags:
        yield from _reach_leaves(bag, table, model.scoring)


def _reach_leaves(trees: Sequence[Tree], table: F64, rules: ScoringRules) -> Iterator[NDArray[np.int64]]:
    rows = np.arange(len(table))
    for tree in trees:
        if not len(tree):
            yield np.zeros(len(table), np.int64)
            continue
        thresholds = effective_thresholds(tree.threshold, rules)
        position = np.zeros(len(table), np.int64)
        while (is_inner := position >= 0).any():
            row, node = rows[is_inner], position[is_inner]
            is_left = _goes_left(tree, node, table[row, tree.feature[node]], thresholds[node], rules)
            position[is_inner] = np.where(is_left, tree.left[node], tree.right[node])
        yield -1 - position


def effective_thresholds(thresholds: F64, rules: ScoringRules) -> F64:
    """Return the thresholds that the engine compares with, given those of its file."""
    rounded = round_to(thresholds, rules.thresholds)
    if not rules.slack:
        return rounded
    return round_to(rounded + round_to(np.array(rules.slack), rules.thresholds), rules.thresholds)


def _goes_left(
    tree: Tree, node: NDArray[np.int64], values: F64, thresholds: F64, rules: ScoringRules
) -> NDArray[np.bool_]:
    is_left = values <= thresholds if rules.operator == "<=" else values < thresholds
    for number, bounds in tree.intervals.items():
        is_here = node == number
        is_left[is_here] = np.searchsorted(bounds, values[is_here], side="right") % 2 == 1
    missing = np.isnan(values)
    if tree.zero_missing is not None:
        missing |= tree.zero_missing[node] & (np.abs(values) <= ZERO_THRESHOLD)
    return np.where(missing, tree.missing_left[node] & (rules.missing != "right"), is_left)


def _score_linear(model: LinearModel, table: F64) -> F64:
    rules = model.scoring
    total = np.full(len(table), round_to(np.array(model.start), rules.sums))
    columns, weights = _linear_terms(model)
    for column, weight in zip(columns, weights, strict=True):
        total = round_to(total + round_to(table[:, column] * weight, rules.sums), rules.sums)
    return _add_bias(model, total)


def _linear_terms(model: LinearModel) -> tuple[NDArray[np.int32], F64]:
    """Return the columns and the rounded weights of a linear model, in the order of the sum."""
    terms = model.terms or tuple((i, float(model.weights[i])) for i in model.used_features())
    weights = np.array([weight for _, weight in terms], np.float64)
    return np.array([column for column, _ in terms], np.int32), round_to(weights, model.scoring.values)


def _add_bias(model: LinearModel, total: F64) -> F64:
    if not model.bias:
        return total
    return round_to(total + round_to(np.array(model.bias), model.scoring.values), model.scoring.sums)


def _score_network(model: NeuralNetwork, table: F64) -> F64:
    rules = model.scoring
    units = round_to((table - model.mean) * model.factor, rules.sums)
    for layer in model.layers:
        matrix, bias = round_to(layer.matrix, rules.values), round_to(layer.bias, rules.values)
        if rules.sums == "float64":
            units = activate(units @ matrix + bias, layer.activation)
            continue
        total = np.tile(bias, (len(units), 1))
        for column in range(matrix.shape[0]):  # engines add products in a plain loop
            total = round_to(total + round_to(units[:, column, None] * matrix[column], rules.sums), rules.sums)
        units = round_to(activate(total, layer.activation), rules.sums)
    return units[:, 0]


def rounding_bound(model: Model, features: NDArray[np.floating[Any]]) -> float:
    """Return how far the float64 sums of an engine that adds in another order can differ from the reference scorer's.

    Sums that are rounded to float32 have no bound here: the reference scorer adds them in the engine's order. A sum of
    n terms has an error of at most (n − 1)·u·Σ|term| in any order (Higham 2002, section 4.2); two orders, twice that.
    """
    if model.scoring.sums == "float32":
        return 0.0
    table = np.abs(np.nan_to_num(prepare_features(model, features)))
    if isinstance(model, TreeEnsemble):
        trees = model.flat()
        return float(len(trees) * _UNIT * sum(np.abs(tree.value).max() for tree in trees))
    if isinstance(model, LinearModel):
        _, weights = _linear_terms(model)
        largest = (table[:, _linear_terms(model)[0]] @ np.abs(weights)).max(initial=0.0) + abs(model.bias)
        return float((len(weights) + 1) * _UNIT * largest)
    if not isinstance(model, NeuralNetwork):
        return 0.0
    # Errors grow through a layer by its weights; the slope of every activation is at most 1.
    size = (table + np.abs(model.mean)) * np.abs(model.factor)
    error = 3 * _UNIT * size
    for layer in model.layers:
        matrix = np.abs(layer.matrix)
        size = size @ matrix + np.abs(layer.bias)
        error = error @ matrix + (len(matrix) + 3) * _UNIT * size
    return float(error.max(initial=0.0))


def activate(values: F64, activation: str) -> F64:
    """Return the output of units.

    >>> activate(np.array([-1.0, 2.0]), "leakyrelu").tolist()
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


def make_scorer(model: Model) -> Scorer:
    """Return a function from a float64 feature table to scores, with the bits of `score_reference`."""
    with np.errstate(all="ignore"):
        if isinstance(model, TreeEnsemble) and not _needs_reference(model):
            score_table = _tree_scorer(model)
        elif isinstance(model, LinearModel):
            score_table = _linear_scorer(model)
        else:
            return lambda table: score_reference(model, table)

    def score(table: F64) -> F64:
        with np.errstate(all="ignore"):
            prepared = prepare_features(model, table) if any(model.normalisers) else table
            return score_table(np.ascontiguousarray(prepared))

    return score


def double_thresholds(thresholds: F64, rules: ScoringRules) -> F64:
    """Return the largest float64 values that an engine sends to the left, given the thresholds of its file.

    >>> double_thresholds(np.array([0.5]), ScoringRules(operator="<")).tolist()
    [0.49999999999999994]
    """
    compared = effective_thresholds(thresholds, rules)
    if rules.features == "float64":
        return compared if rules.operator == "<=" else np.asarray(np.nextafter(compared, -np.inf), np.float64)
    with np.errstate(over="ignore"):
        single = compared.astype(np.float32)
    is_beyond = single > compared if rules.operator == "<=" else single >= compared
    largest = np.where(is_beyond, np.nextafter(single, np.float32(-np.inf)), single).astype(np.float64)
    # Nothing is below a threshold of -inf.
    return np.where(is_beyond & (single == -np.inf), -np.inf, largest_double_rounding_to(largest))


def largest_double_rounding_to(singles: F64) -> F64:
    """Return the largest float64 that rounds to each float32 (or below it); midpoints round to even.

    >>> largest_double_rounding_to(np.array([1.0])) == 1 + 2.0**-24
    array([ True])
    """
    single = singles.astype(np.float32)
    with np.errstate(over="ignore"):
        above = np.nextafter(single, np.float32(np.inf)).astype(np.float64)
    low, high = (np.clip(side, -(2.0**128), 2.0**128) for side in (singles, above))  # as if float32 went on
    middle: F64 = low / 2 + high / 2
    is_odd = (single.view(np.int32) & 1).astype(bool)
    return np.where(singles == np.inf, np.inf, np.where(is_odd, np.nextafter(middle, -np.inf), middle))


def _has_zero_missing(model: TreeEnsemble) -> bool:
    return any(tree.zero_missing is not None for tree in model.trees())


def _needs_reference(model: TreeEnsemble) -> bool:
    """Return whether the kernel cannot score the trees."""
    has_categories = any(tree.intervals for tree in model.trees())
    return has_categories or (model.scoring.features != "float64" and _has_zero_missing(model))


def _tree_scorer(model: TreeEnsemble) -> Scorer:
    rules = model.scoring
    zero = ZERO_THRESHOLD if _has_zero_missing(model) else 0.0
    bags = [_pack_trees(bag, rules, model.start) for bag in model.bags]
    groups = [bags] if rules.totals == "float64" else [[bag] for bag in bags]
    forests = [Forest(group, max(1, len(model.names)), zero, rules.sums == "float32") for group in groups]

    def score_table(table: F64) -> F64:
        if len(forests) == 1:
            return _scale_total(model, forests[0].scores(table))
        total = np.zeros(len(table))
        for forest in forests:
            total = round_to(total + forest.scores(table), rules.totals)
        return _scale_total(model, total)

    return score_table


def _pack_trees(bag: Sequence[Tree], rules: ScoringRules, start: float) -> kernels.Trees:
    """Return the trees of a bag in the layout of the kernel; a first tree of one leaf holds the start value."""
    trees = [make_leaf(start), *bag]

    def concatenate(name: str, dtype: type[np.generic]) -> NDArray[Any]:
        return np.concatenate([np.empty(0, dtype), *(getattr(tree, name) for tree in trees)])

    values = round_to(concatenate("value", np.float64), rules.values)
    values[0] = round_to(np.array(start), rules.sums)
    left = concatenate("missing_left", np.bool_) & (rules.missing != "right")
    zero_missing = (np.zeros(len(tree), bool) if tree.zero_missing is None else tree.zero_missing for tree in trees)
    missing = np.where(left, Missing.NAN_LEFT, Missing.NAN_RIGHT) if rules.missing != "zero" else Missing.AS_ZERO
    missing = np.where(
        np.concatenate([np.empty(0, bool), *zero_missing]),
        np.where(left, Missing.ZERO_LEFT, Missing.ZERO_RIGHT), missing,
    ).astype(np.uint8)  # fmt: skip
    return kernels.Trees(
        np.array([len(tree.value) for tree in trees], np.int64), concatenate("feature", np.int32),
        double_thresholds(concatenate("threshold", np.float64), rules), missing, concatenate("left", np.int32),
        concatenate("right", np.int32), values,
    )  # fmt: skip


def _linear_scorer(model: LinearModel) -> Scorer:
    rules = model.scoring
    columns, weights = _linear_terms(model)
    start = float(round_to(np.array(model.start), rules.sums))

    def score_table(table: F64) -> F64:
        total = linear_scores(
            table, columns, weights, start, single_features=rules.features == "float32",
            single_sums=rules.sums == "float32", missing_is_zero=rules.missing == "zero",
        )  # fmt: skip
        return _add_bias(model, total)

    return score_table
