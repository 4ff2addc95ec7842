"""Read Solr's models: float32 throughout; 1e-6 is added to thresholds; NULL is 0 unless the model says otherwise."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import numpy as np

from pippin.models.importers import Importer, require_known
from pippin.models.model import (
    ACTIVATIONS,
    FLOAT32,
    FLOAT32_ZERO,
    Layer,
    LinearModel,
    Model,
    Normaliser,
    Tree,
    TreeEnsemble,
    make_network,
    parse_float,
)
from pippin.models.tree_builder import Split, build_tree, to_float32

_BODY = {"class", "name", "store", "features", "params"}
_PARAMETERS = {
    "LinearModel": {"weights"},
    "MultipleAdditiveTreesModel": {"trees", "isNullSameAsZero"},
    "NeuralNetworkModel": {"layers"},
}
_NODE = {"feature", "threshold", "left", "right", "value", "missing"}
_SLACK = np.float32(1e-6)


def matches(content: bytes) -> bool:
    """Return whether the content names a class of Solr's models."""
    return b"org.apache.solr.ltr.model." in content


def read(content: bytes) -> Model:
    """Read a model."""
    body = json.loads(content)
    kind = str(body["class"]).rpartition(".")[2]
    require_known(body, _BODY, "the model")
    for feature in body["features"]:
        require_known(feature, {"name", "norm"}, "a feature")
    names = tuple(str(feature["name"]) for feature in body["features"])
    normalisers = tuple(_read_normaliser(feature.get("norm")) for feature in body["features"])
    normalisers = normalisers if any(normalisers) else ()
    params = body["params"]
    require_known(params, _PARAMETERS.get(kind, params), "the parameters")
    if kind == "LinearModel":
        weights = np.array([to_float32(parse_float(params["weights"][name])) for name in names], np.float64)
        return LinearModel(names, weights, scoring=FLOAT32_ZERO, normalisers=normalisers)
    if kind == "MultipleAdditiveTreesModel":
        keeps_direction = str(params.get("isNullSameAsZero", True)).lower() == "false"
        trees = tuple(_read_tree(tree, names) for tree in params["trees"])
        rules = FLOAT32 if keeps_direction else FLOAT32_ZERO
        return TreeEnsemble(names, (trees,), scoring=rules, normalisers=normalisers)
    if kind == "NeuralNetworkModel":
        layers = tuple(_read_layer(layer) for layer in params["layers"])
        return make_network(names, layers, scoring=FLOAT32_ZERO, normalisers=normalisers)
    raise ValueError(f"unknown model class {kind}")


def _read_normaliser(record: Any) -> Normaliser | None:
    if record is None or str(record.get("class", "")).endswith("IdentityNormalizer"):
        return None
    kind, params = str(record["class"]).rpartition(".")[2], record["params"]
    if kind == "StandardNormalizer":
        shift, scale = parse_float(params["avg"]), parse_float(params["std"])
    elif kind == "MinMaxNormalizer":
        shift = parse_float(params["min"])
        scale = parse_float(params["max"]) - shift
    else:
        raise ValueError(f"unknown normaliser {kind}")
    if np.float32(scale) == 0:
        raise ValueError("the scale of a normaliser is 0")
    return Normaliser(shift, scale)


def _read_tree(record: Any, names: tuple[str, ...]) -> Tree:
    positions = {name: i for i, name in enumerate(names)}

    def read_node(node: Any) -> Split | float:
        require_known(node, _NODE, "a node")
        if "value" in node:
            return to_float32(parse_float(node["value"]))
        threshold = float(np.float32(parse_float(node["threshold"])) + _SLACK)
        missing = node.get("missing")
        missing_left = threshold >= 0 if missing is None else missing == "left"
        return Split(positions[node["feature"]], threshold, node["left"], node["right"], missing_left)

    require_known(record, {"root", "weight"}, "a tree")
    tree = build_tree(record["root"], read_node)
    weight = np.float32(parse_float(record.get("weight", "1")))
    return replace(tree, value=(tree.value.astype(np.float32) * weight).astype(np.float64))


def _read_layer(record: Any) -> Layer:
    require_known(record, {"matrix", "bias", "activation"}, "a layer")
    matrix = np.array([[parse_float(weight) for weight in row] for row in record["matrix"]], np.float64).T
    bias = np.array([parse_float(value) for value in record["bias"]], np.float64)
    if record["activation"] not in ACTIVATIONS or matrix.ndim != 2:
        raise ValueError("a layer is malformed")
    return Layer(matrix, bias, record["activation"])


IMPORTERS = {"solr": Importer(matches, read)}
