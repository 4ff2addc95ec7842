"""A form as JSON holds it, for model files; reading one back trusts nothing of it."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import numpy as np

from pippin.forms.form import (
    ACTIVATIONS,
    Form,
    Layer,
    Linear,
    Network,
    Normaliser,
    Scoring,
    Tree,
    Trees,
    tree,
)
from pippin.forms.growing import real, whole


def to_state(form: Any) -> dict[str, Any]:
    """The form without its names, which a model file has already."""
    state: dict[str, Any] = {"kind": form.kind, "scoring": asdict(form.scoring)}
    if any(form.normalisers):
        state["normalisers"] = [None if one is None else [one.shift, one.scale] for one in form.normalisers]
    if isinstance(form, Trees):
        numbers = {key: getattr(form, key) for key in ("divisor", "base", "start", "scale")}
        return {**state, **numbers, "bags": [[_tree(one) for one in bag] for bag in form.bags]}
    if isinstance(form, Linear):
        terms = [list(term) for term in form.terms]
        return {**state, "weights": form.weights.tolist(), "bias": form.bias, "start": form.start, "terms": terms}
    layers = [
        {"matrix": layer.matrix.tolist(), "bias": layer.bias.tolist(), "activation": layer.activation}
        for layer in form.layers
    ]
    return {**state, "layers": layers, "mean": form.mean.tolist(), "factor": form.factor.tolist()}


def _tree(one: Tree) -> dict[str, Any]:
    """A tree; thresholds that are infinite are null, as JSON has none."""
    threshold = [value if np.isfinite(value) else None for value in one.threshold.tolist()]
    return {
        "feature": one.feature.tolist(), "threshold": threshold, "left": one.left.tolist(), "right": one.right.tolist(),
        "null_left": one.missing_left.astype(int).tolist(), "value": one.value.tolist(),
        **({} if one.zero_missing is None else {"zero_null": one.zero_missing.astype(int).tolist()}),
    }  # fmt: skip


def from_state(state: dict[str, Any], names: tuple[str, ...]) -> Form:
    """Undo `to_state`; ValueError and its brothers where it is no form of these features."""
    scoring = Scoring(**state["scoring"])
    given = state.get("normalisers")
    normalisers = () if given is None else tuple(None if one is None else _normaliser(*one) for one in given)
    if normalisers and len(normalisers) != len(names):
        raise ValueError("it does not normalise as many features as it has")
    form: Form
    if state["kind"] == "trees":
        numbers = {key: real(state[key]) for key in ("divisor", "base", "start", "scale")}
        if numbers["divisor"] == 0:
            raise ValueError("trees are divided by 0")
        bags = tuple(tuple(_grown(one) for one in bag) for bag in state["bags"])
        form = Trees(names, bags, **numbers, scoring=scoring, normalisers=normalisers)
    elif state["kind"] == "linear":
        terms = tuple((whole(feature), real(weight)) for feature, weight in state["terms"])
        weights = _row(state["weights"], len(names))
        if any(feature >= len(names) for feature, _ in terms):
            raise ValueError("a term is of a feature that is not there")
        bias, start = real(state["bias"]), real(state["start"])
        form = Linear(names, weights, bias=bias, start=start, terms=terms, scoring=scoring, normalisers=normalisers)
    elif state["kind"] == "network":
        form = Network(
            names, _layers(state["layers"], len(names)), _row(state["mean"], len(names)),
            _row(state["factor"], len(names)), scoring=scoring, normalisers=normalisers,
        )  # fmt: skip
    else:
        raise ValueError("it is of no known kind")
    if form.used() and max(form.used()) >= len(names):
        raise ValueError("it looks at a feature that is not there")
    return form


def _normaliser(shift: Any, scale: Any) -> Normaliser:
    if real(scale) == 0:
        raise ValueError("a feature is normalised by a deviation of 0")
    return Normaliser(real(shift), real(scale))


def _row(values: Any, length: int) -> Any:
    if not isinstance(values, list) or len(values) != length:
        raise ValueError("numbers are missing")
    return np.array([real(value) for value in values], np.float64)


def _grown(one: Any) -> Tree:
    threshold = [np.inf if value is None else real(value) for value in one["threshold"]]
    left, right = ([_child(child) for child in one[side]] for side in ("left", "right"))
    feature = [whole(value) for value in one["feature"]]
    value = [real(value) for value in one["value"]]
    return tree(feature, threshold, left, right, one["null_left"], value, one.get("zero_null"))


def _child(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or abs(value) > 1 << 30:
        raise ValueError(f"{value!r} is no child of a node")
    return value


def _layers(given: Any, width: int) -> tuple[Layer, ...]:
    found = []
    for one in given:
        bias = _row(one["bias"], len(one["bias"]))
        matrix = np.array([_row(row, len(bias)) for row in one["matrix"]], np.float64)
        if matrix.shape != (width, len(bias)) or one["activation"] not in ACTIVATIONS:
            raise ValueError("the layers do not fit together")
        found.append(Layer(matrix, bias, one["activation"]))
        width = len(bias)
    if not found or width != 1:
        raise ValueError("the last layer has not one output")
    return tuple(found)
