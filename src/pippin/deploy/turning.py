"""Which form is a trained ranker? A weighted sum, trees, or layers of a network, as `pippin.forms` has them."""

from __future__ import annotations

from dataclasses import replace
from functools import singledispatch
from typing import Any

import numpy as np

from pippin.errors import DataError
from pippin.forms.form import Form, Layer, Linear, Network, Tree, Trees, tree
from pippin.forms.importers.lightgbm import read_text
from pippin.rankers.auto import Auto
from pippin.rankers.base import Ranker
from pippin.rankers.best_feature import BestFeature
from pippin.rankers.composing import Chain
from pippin.rankers.imported import Imported, placed
from pippin.rankers.mart import MART
from pippin.rankers.parts.linear import LinearRanker
from pippin.rankers.parts.network import NetworkRanker
from pippin.rankers.parts.stumps import StumpRanker, Weak
from pippin.rankers.parts.trees import BoostedRanker
from pippin.rankers.relational import Relational


def form_of(model: Any) -> Form:
    """The form of a trained ranker; a ranker that has none is refused with the reason."""
    if isinstance(model, Relational) or getattr(model, "relation_weight_", None):
        raise DataError(
            "this model spreads scores along relations between the documents of a query, and no engine scores "
            "documents together: train one without relations to deploy it"
        )
    if isinstance(model, Ranker):
        model._check_fitted()
    form: Form = turned(model)
    return form


@singledispatch
def turned(model: Any) -> Form:
    """The form of a ranker by its class; a plug-in adds its own with `turned.register`."""
    name = getattr(model, "name", type(model).__name__)
    raise DataError(f"{name} is no weighted sum, no trees and no network, so that no engine can take it")


@turned.register
def _imported(model: Imported) -> Form:
    return model.form_


@turned.register
def _chain(model: Chain) -> Form:
    return model.step_._form([turned(one) for one in model.step_.models_])


@turned.register
def _linear(model: LinearRanker) -> Form:
    return Linear(model.feature_names_, model.coef_.copy())


@turned.register
def _best_feature(model: BestFeature) -> Form:
    weights = np.zeros(len(model.feature_names_))
    weights[model.feature_] = model.sign_
    return Linear(model.feature_names_, weights)


@turned.register
def _boosted(model: BoostedRanker) -> Form:
    bags = tuple(read_text(text, model.feature_names_).bags[0] for text in model.boosters_)
    base = model.base_ if isinstance(model, MART) else 0.0
    return Trees(model.feature_names_, bags, divisor=float(max(1, len(bags))), base=base)


@turned.register
def _stumps(model: StumpRanker) -> Form:
    if any(weak.high is not None for weak in model.stumps_):
        return _ramps(model)
    return Trees(model.feature_names_, (tuple(_stump(weak) for weak in model.stumps_),))


def _stump(weak: Weak) -> Tree:
    """0 up to the threshold, α above it."""
    return tree([weak.feature], [weak.threshold], [-1], [-2], [not weak.null], [0.0, weak.alpha])


def _ramps(model: StumpRanker) -> Network:
    """Ramps as two rectified units each: α · (r(x − θ) − r(x − high)) / (high − θ)."""
    if any(weak.null for weak in model.stumps_):
        raise DataError(f"{model.name} lets NULL count as a high value on a ramp, which no engine can take")
    width = len(model.feature_names_)
    ramps = [weak for weak in model.stumps_ if weak.high is not None]
    matrix, bias, out = np.zeros((width, 2 * len(ramps))), np.zeros(2 * len(ramps)), np.zeros((2 * len(ramps), 1))
    for i, weak in enumerate(ramps):
        high = float(weak.high or 0.0)
        matrix[weak.feature, 2 * i : 2 * i + 2] = 1 / (high - weak.threshold)
        bias[2 * i] = -weak.threshold / (high - weak.threshold)
        bias[2 * i + 1] = -high / (high - weak.threshold)
        out[2 * i], out[2 * i + 1] = weak.alpha, -weak.alpha
    layers = (Layer(matrix, bias, "relu"), Layer(out, np.zeros(1)))
    return Network(model.feature_names_, layers, np.zeros(width), np.ones(width))


@turned.register
def _network(model: NetworkRanker) -> Form:
    if model.layers == 0:
        return Linear(model.feature_names_, model.coef_.copy())
    arrays = [array.astype(np.float64) for array in model.weights_]
    hidden = zip(arrays[:-1:2], arrays[1:-1:2], strict=True)
    layers = [Layer(matrix, shift, model.activation) for matrix, shift in hidden]
    layers.append(Layer(arrays[-1][:, None], np.zeros(1)))
    return Network(model.feature_names_, tuple(layers), model.mean_.copy(), model.factor_.copy())


@turned.register
def _auto(model: Auto) -> Form:
    """A blend whose parts are all weighted sums, or all trees, is one of these; others are refused."""
    names = model.feature_names_
    parts: list[tuple[float, Any]] = [(part.weight, placed(turned(part.ranker), names)) for part in model.parts_]
    kinds = sorted({form.kind for _, form in parts})
    if kinds == ["linear"]:
        weights: Any = sum(weight * form.weights for weight, form in parts)
        return Linear(names, weights, sum(weight * (form.bias + form.start) for weight, form in parts))
    if kinds == ["trees"]:
        grown = tuple(
            replace(one, value=one.value * weight / form.divisor) for weight, form in parts for one in form.trees()
        )
        return Trees(names, (grown,), base=sum(weight * form.base for weight, form in parts))
    raise DataError(
        f"auto blended {' and '.join(kinds)} here, which no engine takes as one model; "
        "train it with kinds=linear or kinds=trees, or the best part alone"
    )
