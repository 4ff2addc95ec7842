"""Read models of Elasticsearch and OpenSearch: those of the learning-to-rank plugin, and Elasticsearch's own.

The plugin computes in float32, and its trees use `x < t`. Elasticsearch's own trees are float64 on float32 features.
The list of trees that XGBoost's `dump_model` writes, which the plugin reads, is a format of its own here.
"""

from __future__ import annotations

import base64
import json
import warnings
import zlib
from dataclasses import replace
from typing import Any

import numpy as np

from pippin.errors import PippinWarning
from pippin.models.importers import Importer, require_known
from pippin.models.importers.ranklib import read as read_ranklib
from pippin.models.model import (
    FLOAT32,
    FLOAT32_ZERO,
    LinearModel,
    Model,
    Normaliser,
    ScoringRules,
    Tree,
    TreeEnsemble,
    parse_float,
    parse_index,
)
from pippin.models.tree_builder import Split, build_tree, less_to_less_equal, to_float32

_NATIVE = ScoringRules("float32", "float32", "float64", "float64")
_NODE = {
    "nodeid", "depth", "split", "split_condition", "yes", "no", "missing", "gain", "cover", "children", "leaf",
}  # fmt: skip
_NATIVE_NODE = {
    "node_index", "decision_type", "threshold", "split_feature", "split_gain", "left_child", "right_child",
    "default_left", "leaf_value", "number_samples",
}  # fmt: skip
_MAX_DEFINITION = 1 << 30  # bytes of an unpacked definition
_MAX_RATIO = 200  # unpacked to packed size of a definition


def matches(content: bytes) -> bool:
    """Return whether the content is a body for one of the engines, or a list of XGBoost's trees."""
    start = content.lstrip()[:1]
    if start == b"{":
        keys = (b'"compressed_definition"', b'"trained_model"', b'"model/', b'"splits"')
        return any(key in content for key in keys)
    return start == b"[" and (b'"split_condition"' in content or b'"leaf"' in content)


def read(content: bytes) -> Model:
    """Read a model."""
    body = json.loads(content)
    if isinstance(body, list) or "splits" in body:
        return _plugin_trees(body)
    if "compressed_definition" in body or "trained_model" in body or "definition" in body:
        return _native_trees(body)
    body = body.get("model", body)
    body = body.get("model", body)
    model = _plugin_model(body["type"], body["definition"])
    normalisers = body.get("feature_normalizers") or {}
    if not set(normalisers) <= set(model.names):
        raise ValueError("a normaliser has an unknown feature")
    if not normalisers:
        return model
    return replace(model, normalisers=tuple(_read_normaliser(normalisers.get(name)) for name in model.names))


def _read_normaliser(record: Any) -> Normaliser | None:
    if record is None:
        return None
    if "standard" in record:
        shift, scale = parse_float(record["standard"]["mean"]), parse_float(record["standard"]["standard_deviation"])
    else:
        shift = parse_float(record["min_max"]["minimum"])
        scale = parse_float(record["min_max"]["maximum"]) - shift
    if np.float32(scale) <= 0:
        raise ValueError("the scale of a normaliser is not positive")
    return Normaliser(shift, scale)


def _plugin_model(kind: str, definition: Any) -> Model:
    if kind == "model/ranklib":
        return read_ranklib(definition.encode())
    parsed = json.loads(definition) if isinstance(definition, str) else definition
    if kind == "model/linear":
        weights = np.array([parse_float(weight) for weight in parsed.values()], np.float64)
        return LinearModel(tuple(parsed), weights, scoring=FLOAT32_ZERO)
    if kind == "model/xgboost+json":
        return _plugin_trees(parsed)
    raise ValueError(f"unknown model type {kind}")


def _plugin_trees(body: Any) -> TreeEnsemble:
    """Return trees whose nodes name features; the plugin's monotone transformation of the sum is left out.

    The file of XGBoost's `dump_model` has neither the base score nor the weights of DART nor classes.
    """
    if isinstance(body, dict):
        require_known(body, {"objective", "splits", "missing_as_zero"}, "the model")
    else:
        warnings.warn(
            "scores are the plain sum of the trees, as in the plugins: a dump of XGBoost has no base score, no weights "
            "of DART and no classes; read the file of save_model for the scores of XGBoost",
            PippinWarning,
            stacklevel=2,
        )
    is_zero = isinstance(body, dict) and body.get("missing_as_zero")
    names: dict[str, int] = {}
    trees = tuple(_plugin_tree(tree, names) for tree in (body if isinstance(body, list) else body["splits"]))
    return TreeEnsemble(tuple(names), (trees,), scoring=FLOAT32_ZERO if is_zero else FLOAT32)


def _plugin_tree(root: Any, names: dict[str, int]) -> Tree:
    def read_node(node: Any) -> Split | float:
        require_known(node, _NODE, "a node")
        if "leaf" in node:
            return to_float32(parse_float(node["leaf"]))
        children = {parse_index(child["nodeid"]): child for child in node["children"]}
        yes, no = children[parse_index(node["yes"])], children[parse_index(node["no"])]
        if len(children) != 2 or yes is no:
            raise ValueError("a node does not have two children")
        feature = names.setdefault(str(node["split"]), len(names))
        threshold = less_to_less_equal(parse_float(node["split_condition"]))
        return Split(feature, threshold, yes, no, node.get("missing", node["no"]) == node["yes"])

    return build_tree(root, read_node)


def _native_trees(body: Any) -> TreeEnsemble:
    if "compressed_definition" in body:
        packed = base64.b64decode(body["compressed_definition"], validate=True)
        unpacker = zlib.decompressobj(31)
        try:
            text = unpacker.decompress(packed, min(_MAX_DEFINITION, _MAX_RATIO * len(packed) + (1 << 16)))
        except zlib.error:
            raise ValueError("the compressed definition is corrupt") from None
        if not unpacker.eof:
            raise ValueError("the compressed definition is truncated or too large")
        body = json.loads(text)
    definition = body.get("definition", body)
    if definition.get("preprocessors"):
        raise ValueError("preprocessors are not supported")
    ensemble = definition["trained_model"]
    ensemble = ensemble["ensemble"] if "ensemble" in ensemble else {**ensemble["tree"], "trained_models": [ensemble]}
    if ensemble.get("target_type", "regression") != "regression":
        raise ValueError("only regressions are supported")
    names = tuple(map(str, ensemble["feature_names"]))
    trees = [_native_tree(model["tree"], names) for model in ensemble["trained_models"]]
    weights = ensemble.get("aggregate_output", {"weighted_sum": {}})["weighted_sum"].get("weights")
    if weights is not None:
        trees = [replace(tree, value=tree.value * parse_float(w)) for tree, w in zip(trees, weights, strict=True)]
    return TreeEnsemble(names, (tuple(trees),), scoring=_NATIVE)


def _native_tree(tree: Any, names: tuple[str, ...]) -> Tree:
    nodes = {parse_index(node["node_index"]): node for node in tree["tree_structure"]}
    columns = [names.index(str(name)) for name in tree.get("feature_names") or names]

    def read_node(number: int) -> Split | float:
        node = nodes[number]
        require_known(node, _NATIVE_NODE, "a node")
        if "leaf_value" in node:
            value = node["leaf_value"]
            return parse_float(value[0] if isinstance(value, list) else value)
        threshold, operator = parse_float(node["threshold"]), node.get("decision_type", "lte")
        if operator not in ("lte", "lt"):
            raise ValueError(f"unknown decision type {operator}")
        # The largest float32 that satisfies the comparison with a float64 threshold.
        single = to_float32(threshold)
        if single > threshold or (operator == "lt" and single == threshold):
            single = less_to_less_equal(single)
        left, right = parse_index(node["left_child"]), parse_index(node["right_child"])
        column = columns[parse_index(node["split_feature"])]
        return Split(column, single, left, right, bool(node.get("default_left")))

    return build_tree(0 if 0 in nodes else min(nodes), read_node, int)


IMPORTERS = {"elasticsearch": Importer(matches, read)}
