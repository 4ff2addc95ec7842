"""scikit-learn's estimators by their public attributes: linear ones, trees, forests, boosting, networks, and scalers.

Trees compare float32 features with double thresholds, `x <= t` to the left; everything after that is in doubles.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from pippin.errors import DataError
from pippin.forms.form import Form, Layer, Linear, Network, Normaliser, Scoring, Tree, Trees, tree
from pippin.forms.importers import checked, numbered

SCORING = Scoring("float32", "float64", "float64", "float64")
_ACTIVATIONS = {"identity": "identity", "tanh": "tanh", "relu": "relu", "logistic": "sigmoid"}


def from_estimator(estimator: Any, features: tuple[str, ...] = ()) -> Form:
    """The form of a fitted estimator; of a classifier of two classes, its decision function's.

    >>> from sklearn.linear_model import Ridge
    >>> from_estimator(Ridge().fit([[0.0], [1.0]], [0, 1])).kind
    'linear'
    """
    steps = [step for _, step in estimator.steps if step not in (None, "passthrough")] \
        if hasattr(estimator, "steps") else [estimator]  # fmt: skip
    *before, last = steps
    names = features or tuple(map(str, getattr(steps[0], "feature_names_in_", ())))
    try:
        form = _form(last)
    except (AttributeError, TypeError, ValueError, IndexError) as error:
        name = type(last).__name__
        raise DataError(f"{name} has not the public attributes of a model that is understood ({error})") from None
    for step in reversed(before):
        form = _scaled(form, step)
    return checked(form.renamed(numbered(len(form.names), names)))


def _scaled(form: Form, step: Any) -> Form:
    """The form behind a scaler."""
    width = len(form.names)
    if hasattr(step, "mean_") and hasattr(step, "scale_"):
        shift = np.zeros(width) if step.mean_ is None else step.mean_
        scale = np.ones(width) if step.scale_ is None else step.scale_
    elif hasattr(step, "data_min_") and tuple(step.feature_range) == (0, 1):
        shift, scale = step.data_min_, 1 / step.scale_
    else:
        raise DataError(f"{type(step).__name__} before a model is not understood; StandardScaler and MinMaxScaler are")
    if isinstance(form, Network):
        return replace(form, mean=np.asarray(shift, np.float64), factor=1 / np.asarray(scale, np.float64))
    normalisers = tuple(Normaliser(float(a), float(b)) for a, b in zip(shift, scale, strict=True))
    # A scaler computes in doubles; trees round what it gives, and a form rounds what comes before it.
    if isinstance(form, Trees):
        raise DataError("trees behind a scaler are not understood; train them on the features as they are")
    return replace(form, normalisers=normalisers)


def _form(one: Any) -> Any:
    if hasattr(one, "coefs_"):
        return _network(one)
    if hasattr(one, "coef_"):
        weights = np.asarray(one.coef_, np.float64).reshape(-1, np.shape(one.coef_)[-1])
        if len(weights) != 1:
            raise ValueError("it has several outputs, and a ranking has one score")
        bias = float(np.asarray(one.intercept_, np.float64).reshape(-1)[0])
        return Linear(numbered(weights.shape[1]), weights[0], bias=bias)
    if hasattr(one, "tree_"):
        return _trees(one, [_tree(one.tree_)])
    if hasattr(one, "estimators_") and hasattr(one, "learning_rate") and hasattr(one, "init_"):
        grown = [_tree(each[0].tree_) for each in one.estimators_]
        if np.shape(one.estimators_)[1] != 1:
            raise ValueError("it has several outputs, and a ranking has one score")
        grown = [replace(each, value=one.learning_rate * each.value) for each in grown]
        return _trees(one, grown, start=_first(one))
    if hasattr(one, "estimators_"):
        grown = [_tree(each.tree_) for each in one.estimators_]
        return _trees(one, grown, divisor=float(len(grown)))
    raise ValueError("no coef_, no tree_ and no estimators_")


def _trees(one: Any, grown: list[Tree], divisor: float = 1.0, start: float = 0.0) -> Trees:
    names = numbered(int(one.n_features_in_))
    return Trees(names, (tuple(grown),), divisor=divisor, start=start, scoring=SCORING)


def _first(one: Any) -> float:
    """What boosting begins with: 0, or the constant of a regression."""
    if isinstance(one.init_, str) or not hasattr(one.init_, "constant_"):
        return 0.0
    return float(np.asarray(one.init_.constant_, np.float64).reshape(-1)[0])


def _tree(one: Any) -> Tree:
    """A tree of scikit-learn, whose leaves have no children."""
    if one.value.shape[1:] != (1, 1):
        raise ValueError("its leaves have several values")
    inner = one.children_left >= 0
    number = np.where(inner, np.cumsum(inner) - 1, -np.cumsum(~inner))  # nodes from 0 on, leaves −1 − c
    missing = getattr(one, "missing_go_to_left", np.zeros(len(inner)))
    threshold = np.asarray(one.threshold, np.float64)[inner]
    return tree(
        one.feature[inner], threshold, number[one.children_left[inner]], number[one.children_right[inner]],
        np.asarray(missing)[inner].astype(bool), one.value[~inner, 0, 0],
    )  # fmt: skip


def _network(one: Any) -> Network:
    kinds = [_ACTIVATIONS[one.activation]] * (len(one.coefs_) - 1) + ["identity"]
    layers = tuple(
        Layer(np.asarray(matrix, np.float64), np.asarray(bias, np.float64), kind)
        for matrix, bias, kind in zip(one.coefs_, one.intercepts_, kinds, strict=True)
    )
    if layers[-1].matrix.shape[1] != 1:
        raise ValueError("it has several outputs, and a ranking has one score")
    width = layers[0].matrix.shape[0]
    return Network(numbered(width), layers, np.zeros(width), np.ones(width))
