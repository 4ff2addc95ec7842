"""Read CatBoost's JSON: float32 features, `x > border` goes right, float64 leaves; oblivious and other trees."""

from __future__ import annotations

import json
from typing import Any

from pippin.models.importers import Importer, default_feature_names
from pippin.models.model import ScoringRules, Tree, TreeEnsemble, parse_float, parse_index
from pippin.models.tree_builder import Split, build_tree, to_float32

_RULES = ScoringRules("float32", "float32", "float64", "float64")
_MAX_DEPTH = 16  # of an oblivious tree


def matches(content: bytes) -> bool:
    """Return whether a JSON object holds trees of CatBoost."""
    return content.lstrip()[:1] == b"{" and b'"features_info"' in content and (
        b'"oblivious_trees"' in content or b'"trees"' in content)  # fmt: skip


def read(content: bytes) -> TreeEnsemble:
    """Read a model."""
    body = json.loads(content)
    info = body["features_info"]
    if info.get("categorical_features") or info.get("text_features") or info.get("embedding_features"):
        raise ValueError("features that are not numeric are not supported")
    columns: dict[int, int] = {}
    names: dict[int, str] = {}
    nan_right = set()  # a missing value is not above a border, unless the feature treats NaN as true
    for feature in info["float_features"]:
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
    return TreeEnsemble(feature_names, (tuple(trees),), scale=scale, base=base, scoring=_RULES)


def _read_split(split: Any, columns: dict[int, int]) -> tuple[int, float]:
    if split.get("split_type", "FloatFeature") != "FloatFeature":
        raise ValueError(f"splits of type {split['split_type']} are not supported")
    return columns[parse_index(split["float_feature_index"])], to_float32(parse_float(split["border"]))


def _oblivious_tree(tree: Any, columns: dict[int, int], nan_right: set[int]) -> Tree:
    """Return a tree whose nodes of one depth have the same split: bit i of a leaf's number is the branch at depth i."""
    splits = [_read_split(split, columns) for split in tree["splits"] or []]
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
        if "value" in node:
            return parse_float(node["value"])
        column, border = _read_split(node["split"], columns)
        return Split(column, border, node["left"], node["right"], column not in nan_right)

    return build_tree(tree, read_node)


IMPORTERS = {"catboost": Importer(matches, read)}
