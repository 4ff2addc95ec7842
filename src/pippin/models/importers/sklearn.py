"""Read scikit-learn estimators by their public attributes: linear models, trees, forests, boosting, MLPs, and scalers.

Trees compare float32 features with float64 thresholds, `x <= t` goes left; everything else is float64.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from pippin.errors import DataError
from pippin.models.importers import default_feature_names, validate_features
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

_TREE_RULES = ScoringRules("float32", "float64", "float64", "float64")
_ACTIVATIONS = {"identity": "identity", "tanh": "tanh", "relu": "relu", "logistic": "sigmoid"}
# Estimators that average the predictions of trees over all features; others, such as AdaBoost, weight or select them.
_FORESTS = ("RandomForestRegressor", "ExtraTreesRegressor")
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
    return validate_features(model.rename_features(default_feature_names(len(model.names), names)))


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
    raise ValueError("only linear models, trees, forests, gradient boosting and MLPs are supported")


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
