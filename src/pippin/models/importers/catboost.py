"""Read CatBoost's JSON: float32 features, `x > border` goes right, float64 leaves; oblivious and other trees.

CatBoost itself converts its binary format to JSON; it must be installed for that.
"""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

from pippin.dependencies import require
from pippin.models.importers import Importer, default_feature_names, require_known, warn_of_raw_scores
from pippin.models.model import ScoringRules, Tree, TreeEnsemble, parse_float, parse_index
from pippin.models.tree_builder import Split, build_tree, to_float32

_RULES = ScoringRules("float32", "float32", "float64", "float64")
_MAX_DEPTH = 16  # of an oblivious tree
_BODY = {"features_info", "model_info", "oblivious_trees", "trees", "scale_and_bias"}
_FEATURES = {"float_features", "categorical_features", "text_features", "embedding_features"}
_FLOAT_FEATURE = {
    "borders", "feature_id", "feature_index", "feature_name", "flat_feature_index", "has_nans", "nan_value_treatment",
}  # fmt: skip
_OBLIVIOUS = {"leaf_values", "leaf_weights", "splits"}
_SPLIT = {"border", "float_feature_index", "split_index", "split_type"}
_NODE = {"value", "weight", "split", "left", "right"}
# What `predict` of CatBoostRegressor and CatBoostClassifier returns by the loss function.
_TRANSFORMED = {
    **dict.fromkeys(("Poisson", "Tweedie"), "their exponential"),
    **dict.fromkeys(("Logloss", "CrossEntropy"), "classes"),
}


def matches(content: bytes) -> bool:
    """Return whether a JSON object holds trees of CatBoost."""
    return content.lstrip()[:1] == b"{" and b'"features_info"' in content and (
        b'"oblivious_trees"' in content or b'"trees"' in content)  # fmt: skip


def read(content: bytes) -> TreeEnsemble:
    """Read a model."""
    body = json.loads(content)
    info = body["features_info"]
    require_known(info, _FEATURES, "the features")
    if info.get("categorical_features") or info.get("text_features") or info.get("embedding_features"):
        raise ValueError("features that are not numeric are not supported")
    require_known(body, _BODY, "the model")
    columns: dict[int, int] = {}
    names: dict[int, str] = {}
    nan_right = set()  # a missing value is not above a border, unless the feature treats NaN as true
    for feature in info["float_features"]:
        require_known(feature, _FLOAT_FEATURE, "a feature")
        column = parse_index(feature["flat_feature_index"], 1 << 20)
        columns[parse_index(feature["feature_index"])] = column
        names[column] = str(feature.get("feature_id", ""))
        if feature.get("nan_value_treatment") == "AsTrue":
            nan_right.add(column)
    count = max(columns.values()) + 1
    scale, bias = body["scale_and_bias"]
    bias = bias if isinstance(bias, list) else [bias]
    if len(bias) != 1:
        raise ValueError("models with several outputs are not supported")
    if "oblivious_trees" in body:
        trees = [_oblivious_tree(tree, columns, nan_right) for tree in body["oblivious_trees"]]
    else:
        trees = [_tree(tree, columns, nan_right) for tree in body["trees"]]
    feature_names = default_feature_names(count, [names.get(column, "") for column in range(count)])
    scale, base = parse_float(scale), parse_float(bias[0])
    loss = body.get("model_info", {}).get("params", {}).get("loss_function", {}).get("type")
    if loss in _TRANSFORMED:
        warn_of_raw_scores(_TRANSFORMED[loss])
    return TreeEnsemble(feature_names, (tuple(trees),), scale=scale, base=base, scoring=_RULES)


def _read_split(split: Any, columns: dict[int, int]) -> tuple[int, float]:
    require_known(split, _SPLIT, "a split")
    if split.get("split_type", "FloatFeature") != "FloatFeature":
        raise ValueError(f"splits of type {split['split_type']} are not supported")
    return columns[parse_index(split["float_feature_index"])], to_float32(parse_float(split["border"]))


def _oblivious_tree(tree: Any, columns: dict[int, int], nan_right: set[int]) -> Tree:
    """Return a tree whose nodes of one depth have the same split: bit i of a leaf's number is the branch at depth i."""
    splits = [_read_split(split, columns) for split in tree["splits"] or []]
    require_known(tree, _OBLIVIOUS, "a tree")
    depth, values = len(splits), [parse_float(value) for value in tree["leaf_values"]]
    if depth > _MAX_DEPTH or len(values) != 1 << depth:
        raise ValueError(f"a tree of depth {depth} has {len(values)} values")

    def read_node(node: tuple[int, int]) -> Split | float:
        level, path = node
        if level == depth:
            return values[path]
        column, border = splits[level]
        return Split(column, border, (level + 1, path), (level + 1, path | 1 << level), column not in nan_right)

    return build_tree((0, 0), read_node)


def _tree(tree: Any, columns: dict[int, int], nan_right: set[int]) -> Tree:
    def read_node(node: Any) -> Split | float:
        require_known(node, _NODE, "a node")
        if "value" in node:
            return parse_float(node["value"])
        column, border = _read_split(node["split"], columns)
        return Split(column, border, node["left"], node["right"], column not in nan_right)

    return build_tree(tree, read_node)


def matches_cbm(content: bytes) -> bool:
    """Return whether the content begins as CatBoost's binary format."""
    return content.startswith(b"CBM1")


def read_cbm(content: bytes) -> TreeEnsemble:
    """Read the binary format, which CatBoost converts to JSON."""
    require("reading CatBoost's binary format", "catboost")
    import catboost

    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "model.json")
        try:
            catboost.CatBoost().load_model(blob=content).save_model(path, format="json")
        except catboost.CatBoostError as error:
            raise ValueError(f"CatBoost cannot convert it to JSON: {error}") from None
        return read(Path(path).read_bytes())


IMPORTERS = {"catboost": Importer(matches, read), "catboost_cbm": Importer(matches_cbm, read_cbm)}
