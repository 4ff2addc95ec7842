"""Solr's models: float32 throughout; 1e-6 is added to a threshold, and NULL is 0 unless the model says otherwise."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import numpy as np

from pippin.forms.form import ACTIVATIONS, SINGLE, Form, Layer, Linear, Network, Normaliser, Tree, Trees
from pippin.forms.growing import Split, grow, real

_ZERO = replace(SINGLE, missing="zero")
_SLACK = np.float32(1e-6)


def recognises(content: bytes) -> bool:
    """Whether a class of Solr's models is named."""
    return b"org.apache.solr.ltr.model." in content


def read(content: bytes) -> Form:
    """The form of a model."""
    model = json.loads(content)
    kind = str(model["class"]).rpartition(".")[2]
    names = tuple(str(one["name"]) for one in model["features"])
    norms = tuple(_norm(one.get("norm")) for one in model["features"])
    normalisers = norms if any(norms) else ()
    parameters = model["params"]
    if kind == "LinearModel":
        weights = np.array([float(np.float32(real(parameters["weights"][name]))) for name in names], np.float64)
        return Linear(names, weights, scoring=_ZERO, normalisers=normalisers)
    if kind == "MultipleAdditiveTreesModel":
        apart = str(parameters.get("isNullSameAsZero", True)).lower() == "false"
        scoring = SINGLE if apart else _ZERO
        trees = tuple(_tree(one, names) for one in parameters["trees"])
        return Trees(names, (trees,), scoring=scoring, normalisers=normalisers)
    if kind == "NeuralNetworkModel":
        layers = tuple(_layer(one) for one in parameters["layers"])
        sizes = [len(names), *(layer.matrix.shape[1] for layer in layers)]
        if [layer.matrix.shape[0] for layer in layers] != sizes[:-1] or sizes[-1] != 1:
            raise ValueError("its layers do not fit together")
        width = len(names)
        return Network(names, layers, np.zeros(width), np.ones(width), scoring=_ZERO, normalisers=normalisers)
    raise ValueError(f"its class is {kind}")


def _norm(given: Any) -> Normaliser | None:
    if given is None or str(given.get("class", "")).endswith("IdentityNormalizer"):
        return None
    kind, parameters = str(given["class"]).rpartition(".")[2], given["params"]
    if kind == "StandardNormalizer":
        shift, scale = real(parameters["avg"]), real(parameters["std"])
    elif kind == "MinMaxNormalizer":
        shift = real(parameters["min"])
        scale = real(parameters["max"]) - shift
    else:
        raise ValueError(f"a feature is normalised by {kind}")
    if np.float32(scale) == 0:
        raise ValueError("a feature is normalised by a deviation of 0")
    return Normaliser(shift, scale)


def _tree(one: Any, names: tuple[str, ...]) -> Tree:
    places = {name: i for i, name in enumerate(names)}

    def look(at: Any) -> Split | float:
        if "value" in at:
            return float(np.float32(real(at["value"])))
        threshold = float(np.float32(real(at["threshold"])) + _SLACK)
        missing = at.get("missing")
        missing_left = threshold >= 0 if missing is None else missing == "left"
        return Split(places[at["feature"]], threshold, at["left"], at["right"], missing_left)

    grown = grow(one["root"], look)
    weight = np.float32(real(one.get("weight", "1")))
    return replace(grown, value=(grown.value.astype(np.float32) * weight).astype(np.float64))


def _layer(one: Any) -> Layer:
    matrix = np.array([[real(weight) for weight in row] for row in one["matrix"]], np.float64).T
    bias = np.array([real(value) for value in one["bias"]], np.float64)
    activation = one["activation"] if isinstance(one["activation"], str) else ""
    if activation not in ACTIVATIONS or matrix.ndim != 2 or matrix.shape[1] != len(bias):
        raise ValueError("a layer is none")
    return Layer(matrix, bias, activation)
