"""Read scikit-learn estimators: linear models, trees, forests, both kinds of gradient boosting, MLPs, and scalers.

Trees compare float32 features with float64 thresholds, `x <= t` goes left; everything else is float64. Histogram-based
gradient boosting compares float64 features; its trees are not public, so their fields are checked.
"""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any

import numpy as np

from pippin.errors import DataError
from pippin.models.importers import default_feature_names, require_known, validate_features, warn_of_raw_scores
from pippin.models.model import (
    Layer,
    LinearModel,
    Model,
    NeuralNetwork,
    Normaliser,
    ScoringRules,
    Tree,
    TreeEnsemble,
    make_network,
    make_tree,
)
from pippin.models.scoring import score_reference

_TREE_RULES = ScoringRules("float32", "float64", "float64", "float64")
_ACTIVATIONS = {"identity": "identity", "tanh": "tanh", "relu": "relu", "logistic": "sigmoid"}
# Estimators that average the predictions of trees over all features; others, such as AdaBoost, weight or select them.
_FORESTS = ("RandomForestRegressor", "ExtraTreesRegressor")
_HISTOGRAM_BOOSTING = ("HistGradientBoostingRegressor", "HistGradientBoostingClassifier")
_NODE = (
    "value", "count", "feature_idx", "num_threshold", "missing_go_to_left", "left", "right", "gain", "depth", "is_leaf",
    "bin_threshold", "is_categorical", "bitset_idx",
)  # fmt: skip
_N_DOCUMENTS = 8  # random documents that a model and its estimator score
_TOLERANCE = 1e-6  # products of matrices are summed in another order
_CATEGORICAL = "categorical splits are not supported"
_ONE_OUTPUT = "estimators with several outputs are not supported"


def from_estimator(estimator: Any, features: tuple[str, ...] = ()) -> Model:
    """Return the model of a fitted estimator; for a classifier of two classes, of its decision function.

    >>> from sklearn.linear_model import Ridge
    >>> from_estimator(Ridge().fit([[0.0], [1.0]], [0, 1])).kind
    'linear'
    """
    steps = [step for _, step in getattr(estimator, "steps", [("", estimator)]) if step not in (None, "passthrough")]
    *scalers, last = steps
    names = features or tuple(map(str, getattr(steps[0], "feature_names_in_", ())))
    try:
        model = _read_estimator(last)
    except (AttributeError, TypeError, ValueError, IndexError) as error:
        raise DataError(f"cannot read a {type(last).__name__} by its public attributes: {error}") from None
    for scaler in reversed(scalers):
        model = _add_scaler(model, scaler)
    _compare_with_estimator(model, estimator)
    return validate_features(model.rename_features(default_feature_names(len(model.names), names)))


def _compare_with_estimator(model: Model, estimator: Any) -> None:
    """Raise DataError unless the model scores random documents as the estimator does; warn if it is a classifier."""
    kind = type(estimator).__name__
    is_classifier = hasattr(estimator, "classes_")
    if is_classifier and not hasattr(estimator, "decision_function"):
        raise DataError(f"a {kind} has no decision function")
    documents = np.random.default_rng(0).normal(size=(_N_DOCUMENTS, len(model.names))) * [
        [10.0**i] for i in range(-4, 4)
    ]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about columns without names
        expected = np.asarray((estimator.decision_function if is_classifier else estimator.predict)(documents))
    if not np.allclose(
        score_reference(model, documents), expected.reshape(len(documents), -1).T, _TOLERANCE, _TOLERANCE
    ):
        raise DataError(f"a {kind} is not supported: predict() computes more than its trees or weights")
    if is_classifier:
        warn_of_raw_scores("classes")


def _add_scaler(model: Model, scaler: Any) -> Model:
    width = len(model.names)
    if hasattr(scaler, "mean_") and hasattr(scaler, "scale_"):
        shift = np.zeros(width) if scaler.mean_ is None else scaler.mean_
        scale = np.ones(width) if scaler.scale_ is None else scaler.scale_
    elif hasattr(scaler, "data_min_") and tuple(scaler.feature_range) == (0, 1):
        shift, scale = scaler.data_min_, 1 / scaler.scale_
    else:
        raise DataError(f"{type(scaler).__name__} is not supported; StandardScaler and MinMaxScaler are")
    if isinstance(model, NeuralNetwork):
        return replace(model, mean=np.asarray(shift, np.float64), factor=1 / np.asarray(scale, np.float64))
    if isinstance(model, TreeEnsemble):  # scalers compute in float64 and trees round the result to float32
        raise DataError("trees of scaled features are not supported; train them on unscaled features")
    normalisers = tuple(Normaliser(float(a), float(b)) for a, b in zip(shift, scale, strict=True))
    return replace(model, normalisers=normalisers)


def _read_estimator(estimator: Any) -> Model:
    if hasattr(estimator, "coefs_"):
        return _read_network(estimator)
    if hasattr(estimator, "coef_"):
        weights = np.asarray(estimator.coef_, np.float64).reshape(-1, np.shape(estimator.coef_)[-1])
        if len(weights) != 1:
            raise ValueError(_ONE_OUTPUT)
        bias = float(np.asarray(estimator.intercept_, np.float64).reshape(-1)[0])
        return LinearModel(default_feature_names(weights.shape[1]), weights[0], bias=bias)
    names = default_feature_names(int(estimator.n_features_in_))
    if hasattr(estimator, "tree_"):
        return TreeEnsemble(names, ((_read_tree(estimator.tree_),),), scoring=_TREE_RULES)
    kind = type(estimator).__name__
    if kind in ("GradientBoostingRegressor", "GradientBoostingClassifier"):
        if np.shape(estimator.estimators_)[1] != 1:
            raise ValueError(_ONE_OUTPUT)
        trees = tuple(_read_tree(stage[0].tree_) for stage in estimator.estimators_)
        trees = tuple(replace(tree, value=estimator.learning_rate * tree.value) for tree in trees)
        return TreeEnsemble(names, (trees,), start=_boosting_start(estimator.init_), scoring=_TREE_RULES)
    if kind in _FORESTS:
        trees = tuple(_read_tree(member.tree_) for member in estimator.estimators_)
        return TreeEnsemble(names, (trees,), divisor=float(len(trees)), scoring=_TREE_RULES)
    if kind in _HISTOGRAM_BOOSTING:
        return _read_histogram_boosting(estimator, names)
    raise ValueError("only linear models, trees, forests, gradient boosting and MLPs are supported")


def _read_histogram_boosting(estimator: Any, names: tuple[str, ...]) -> TreeEnsemble:
    if estimator.n_trees_per_iteration_ != 1:
        raise ValueError(_ONE_OUTPUT)
    if estimator._preprocessor is not None:
        raise ValueError(_CATEGORICAL)
    trees = tuple(_read_histogram_tree(predictors[0].nodes) for predictors in estimator._predictors)
    return TreeEnsemble(names, (trees,), start=float(np.asarray(estimator._baseline_prediction).reshape(())))


def _read_histogram_tree(nodes: Any) -> Tree:
    require_known(nodes.dtype.names, _NODE, "a tree")
    if nodes["is_categorical"].any():
        raise ValueError(_CATEGORICAL)
    is_node = nodes["is_leaf"] == 0
    number = np.where(is_node, np.cumsum(is_node) - 1, -np.cumsum(~is_node))  # leaves are numbered −1 − c
    inner = nodes[is_node]
    return make_tree(
        inner["feature_idx"], inner["num_threshold"], number[inner["left"]], number[inner["right"]],
        inner["missing_go_to_left"], nodes["value"][~is_node],
    )  # fmt: skip


def _boosting_start(init: Any) -> float:
    """Return the first score of boosting: 0, the constant of a regression, or the log odds of the second class."""
    if isinstance(init, str):
        return 0.0
    if hasattr(init, "constant_"):
        return float(np.asarray(init.constant_, np.float64).reshape(-1)[0])
    probability = float(init.class_prior_[1])
    return float(np.log(probability / (1 - probability)))


def _read_tree(tree: Any) -> Tree:
    if tree.value.shape[1:] != (1, 1):
        raise ValueError(_ONE_OUTPUT)
    is_node = tree.children_left >= 0
    number = np.where(is_node, np.cumsum(is_node) - 1, -np.cumsum(~is_node))  # leaves are numbered −1 − c
    missing_left = np.asarray(getattr(tree, "missing_go_to_left", np.zeros(len(is_node))))
    threshold = np.asarray(tree.threshold, np.float64)[is_node]
    return make_tree(
        tree.feature[is_node], threshold, number[tree.children_left[is_node]], number[tree.children_right[is_node]],
        missing_left[is_node].astype(bool), tree.value[~is_node, 0, 0],
    )  # fmt: skip


def _read_network(estimator: Any) -> NeuralNetwork:
    activations = [_ACTIVATIONS[estimator.activation]] * (len(estimator.coefs_) - 1) + ["identity"]
    layers = tuple(
        Layer(np.asarray(matrix, np.float64), np.asarray(bias, np.float64), activation)
        for matrix, bias, activation in zip(estimator.coefs_, estimator.intercepts_, activations, strict=True)
    )
    if layers[-1].matrix.shape[1] != 1:
        raise ValueError(_ONE_OUTPUT)
    return make_network(default_feature_names(layers[0].matrix.shape[0]), layers)
