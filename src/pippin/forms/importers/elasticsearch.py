"""What Elasticsearch and OpenSearch hold: models of the learning-to-rank plugin, and Elasticsearch's own.

The plugin computes in float32; its trees ask `x < t`. Elasticsearch's own trees are doubles on float32 features. Also
read is the list of trees that XGBoost's `dump_model` writes, which the plugin's format is.
"""

from __future__ import annotations

import base64
import json
import zlib
from dataclasses import replace
from typing import Any

import numpy as np

from pippin.forms.form import SINGLE, Form, Linear, Normaliser, Scoring, Tree, Trees
from pippin.forms.growing import Split, below, grow, real, whole

OWN = Scoring("float32", "float32", "float64", "float64")
_ZERO = replace(SINGLE, missing="zero")
_LARGEST = 1 << 30  # bytes of a definition at most
_SHARE = 200  # times that a definition is larger than what it is packed in, at most


def recognises(content: bytes) -> bool:
    """Whether a body of one of the engines stands there, or a list of XGBoost's trees."""
    start = content.lstrip()[:1]
    if start == b"{":
        marks = (b'"compressed_definition"', b'"trained_model"', b'"model/', b'"splits"')
        return any(mark in content for mark in marks)
    return start == b"[" and (b'"split_condition"' in content or b'"leaf"' in content)


def read(content: bytes) -> Form:
    """The form of a model."""
    body = json.loads(content)
    if isinstance(body, list) or "splits" in body:
        return trees(body)
    if "compressed_definition" in body or "trained_model" in body or "definition" in body:
        return _own(body)
    model = body.get("model", body)
    model = model.get("model", model)
    form = _plugin(model["type"], model["definition"])
    given = model.get("feature_normalizers") or {}
    if not given:
        return form
    names = (*form.names, *(name for name in given if name not in form.names))
    if len(names) > len(form.names):
        raise ValueError("it normalises a feature that it does not look at")
    return replace(form, normalisers=tuple(_normaliser(given.get(name)) for name in names))


def _normaliser(given: Any) -> Normaliser | None:
    if given is None:
        return None
    if "standard" in given:
        shift, scale = real(given["standard"]["mean"]), real(given["standard"]["standard_deviation"])
    else:
        shift = real(given["min_max"]["minimum"])
        scale = real(given["min_max"]["maximum"]) - shift
    if np.float32(scale) <= 0:
        raise ValueError("a feature is normalised by a deviation that is not above 0")
    return Normaliser(shift, scale)


def _plugin(kind: str, definition: Any) -> Form:
    if kind == "model/linear":
        weights = json.loads(definition) if isinstance(definition, str) else definition
        return Linear(tuple(weights), np.array([real(one) for one in weights.values()], np.float64), scoring=_ZERO)
    if kind == "model/ranklib":
        from pippin.forms.importers.ranklib import read as read_ranklib

        return read_ranklib(definition.encode())
    if kind == "model/xgboost+json":
        return trees(json.loads(definition) if isinstance(definition, str) else definition)
    raise ValueError(f"its type is {kind}")


def trees(body: Any) -> Trees:
    """Trees that call features by name; what the plugin turns a sum into rises with it, and is left out."""
    missing = "zero" if isinstance(body, dict) and body.get("missing_as_zero") else "direction"
    names: dict[str, int] = {}
    grown = tuple(_tree(one, names) for one in (body if isinstance(body, list) else body["splits"]))
    return Trees(tuple(names), (grown,), scoring=replace(SINGLE, missing=missing))


def _tree(root: Any, names: dict[str, int]) -> Tree:
    def look(at: Any) -> Split | float:
        if "leaf" in at:
            return float(np.float32(real(at["leaf"])))
        children = {whole(child["nodeid"]): child for child in at["children"]}
        yes, no = children[whole(at["yes"])], children[whole(at["no"])]
        if len(children) != 2 or yes is no:
            raise ValueError("a node has not two children")
        feature = names.setdefault(str(at["split"]), len(names))
        return Split(feature, below(real(at["split_condition"])), yes, no, at.get("missing", at["no"]) == at["yes"])

    return grow(root, look)


def _own(body: Any) -> Trees:
    if "compressed_definition" in body:
        packed = base64.b64decode(body["compressed_definition"], validate=True)
        unpacker = zlib.decompressobj(31)
        try:
            text = unpacker.decompress(packed, min(_LARGEST, _SHARE * len(packed) + (1 << 16)))
        except zlib.error:
            raise ValueError("its definition cannot be unpacked") from None
        if not unpacker.eof:
            raise ValueError("its definition does not end, or is too large")
        body = json.loads(text)
    body = body.get("definition", body)
    ensemble = body["trained_model"]
    ensemble = ensemble["ensemble"] if "ensemble" in ensemble else {**ensemble["tree"], "trained_models": [ensemble]}
    aggregate = ensemble.get("aggregate_output", {"weighted_sum": {}})["weighted_sum"]
    weights = aggregate.get("weights")
    names = tuple(map(str, ensemble["feature_names"]))
    grown = [_own_tree(one["tree"], names) for one in ensemble["trained_models"]]
    if weights is not None:
        grown = [replace(one, value=one.value * real(w)) for one, w in zip(grown, weights, strict=True)]
    return Trees(names, (tuple(grown),), scoring=OWN)


def _own_tree(one: Any, names: tuple[str, ...]) -> Tree:
    nodes = {whole(node["node_index"]): node for node in one["tree_structure"]}
    own = [names.index(str(name)) for name in one.get("feature_names") or names]

    def look(at: int) -> Split | float:
        node = nodes[at]
        if "leaf_value" in node:
            value = node["leaf_value"]
            return real(value[0] if isinstance(value, list) else value)
        threshold, kind = real(node["threshold"]), node.get("decision_type", "lte")
        if kind not in ("lte", "lt"):
            raise ValueError(f"a node decides by {kind}")
        # A float32 lies below t where it is not above the last float32 below t.
        single = float(np.float32(threshold))
        limit = below(threshold) if kind == "lt" and single == threshold else single
        if single > threshold:
            limit = below(single)
        return Split(own[whole(node["split_feature"])], limit, whole(node["left_child"]), whole(node["right_child"]),
                     bool(node.get("default_left")))  # fmt: skip

    return grow(0 if 0 in nodes else min(nodes), look, int)
