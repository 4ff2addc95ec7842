"""Read LightGBM models: model text, or the JSON of `dump_model`; float64, `x <= t` goes left."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pippin.models.importers import Importer, default_feature_names, require_known, warn_of_raw_scores
from pippin.models.model import (
    ZERO_THRESHOLD,
    Tree,
    TreeEnsemble,
    category_intervals,
    make_tree,
    parse_float,
    parse_index,
)
from pippin.models.tree_builder import Split, build_tree

_CATEGORICAL, _DEFAULT_LEFT = 1, 2  # bits of decision_type; the next two are the missing type
_NONE, _ZERO = 0, 1  # missing types
_COLUMNS = ("split_feature", "threshold", "decision_type", "left_child", "right_child")
_MAX_LEAVES = 1 << 20  # leaves of a tree
_LINEAR_TREE = "linear trees are not supported"
_HEADER = {
    "version", "num_class", "num_tree_per_iteration", "label_index", "max_feature_idx", "objective", "feature_names",
    "feature_infos", "tree_sizes", "monotone_constraints",
}  # fmt: skip
_TREE = {
    *_COLUMNS, "num_leaves", "num_cat", "is_linear", "shrinkage", "split_gain", "leaf_value", "leaf_weight",
    "leaf_count", "internal_value", "internal_weight", "internal_count", "cat_boundaries", "cat_threshold",
    "leaf_const", "num_features", "leaf_features", "leaf_coeff",
}  # fmt: skip
_JSON_HEADER = {
    "name", "version", "num_class", "num_tree_per_iteration", "label_index", "max_feature_idx", "objective",
    "average_output", "feature_names", "monotone_constraints", "feature_infos", "tree_info", "feature_importances",
    "pandas_categorical",
}  # fmt: skip
_JSON_TREE = {"tree_index", "num_leaves", "num_cat", "shrinkage", "tree_structure"}
_JSON_NODE = {
    "split_index", "split_feature", "split_gain", "threshold", "decision_type", "default_left", "missing_type",
    "internal_value", "internal_weight", "internal_count", "left_child", "right_child",
}  # fmt: skip
_JSON_LEAF = {"leaf_index", "leaf_value", "leaf_weight", "leaf_count"}
# What `predict` returns by the first word of the objective; None if it is the score itself.
_OBJECTIVES = {
    **dict.fromkeys(
        ("lambdarank", "rank_xendcg", "regression", "regression_l1", "huber", "fair", "quantile", "mape", "custom")
    ),
    **dict.fromkeys(("poisson", "gamma", "tweedie"), "their exponential"),
    **dict.fromkeys(("binary", "cross_entropy"), "their sigmoid"),
    "cross_entropy_lambda": "log(1 + exp(score))",
}


def matches(content: bytes) -> bool:
    """Return whether this begins as a LightGBM model text."""
    return content.startswith((b"tree\n", b"tree\r\n"))


def read(content: bytes) -> TreeEnsemble:
    """Read a model text."""
    return read_text(content.decode("utf-8").replace("\r\n", "\n"))


def read_text(text: str, names: tuple[str, ...] | None = None) -> TreeEnsemble:
    """Read a model text, with its own feature names or other ones; ValueError if it is malformed."""
    head, separator, trees_text = text.partition("\nTree=")
    header = _parse_lines(head)
    _check_header(header)
    require_known(header, _HEADER, "the header")
    count = int(header["max_feature_idx"]) + 1
    file_names = tuple(header["feature_names"].split(" "))
    if len(file_names) != count:
        raise ValueError(f"{len(file_names)} names for {count} features")
    body = (separator + trees_text).partition("\nend of trees")[0]
    trees = tuple(_read_tree(_parse_lines(block)) for block in body.split("\nTree=")[1:])
    if any((tree.feature >= count).any() for tree in trees):
        raise ValueError("a tree splits by an unknown feature")
    return _ensemble(names or _feature_names(file_names), trees, "average_output" in head.split("\n"))


def _check_header(header: dict[str, Any]) -> None:
    """Raise ValueError for several outputs or an unknown objective; warn if `predict` transforms the score."""
    if any(parse_index(header.get(key, 1)) != 1 for key in ("num_class", "num_tree_per_iteration")):
        raise ValueError("models with several outputs are not supported")
    name, *options = str(header.get("objective", "custom")).split()
    if name not in _OBJECTIVES:
        raise ValueError(f"the objective {name} is not supported")
    transformed = "their square, with their sign" if "sqrt" in options else _OBJECTIVES[name]
    if transformed is not None:
        warn_of_raw_scores(transformed)


def _feature_names(names: tuple[str, ...]) -> tuple[str, ...]:
    """Return the names, or numbers from 1 if LightGBM made them up."""
    is_default = names == tuple(f"Column_{i}" for i in range(len(names)))
    return default_feature_names(len(names), () if is_default else names)


def _ensemble(names: tuple[str, ...], trees: tuple[Tree, ...], is_averaged: bool) -> TreeEnsemble:
    return TreeEnsemble(names, (trees,), divisor=float(len(trees)) if is_averaged and trees else 1.0)


def _parse_lines(block: str) -> dict[str, str]:
    pairs = (line.partition("=") for line in block.split("\n"))
    return {key: value for key, equals, value in pairs if equals}


def _read_tree(lines: dict[str, str]) -> Tree:
    """Read one tree; a missing value of a feature without missing values in training is compared as 0."""
    require_known(lines, _TREE, "a tree")
    if int(lines.get("is_linear", "0")):
        raise ValueError(_LINEAR_TREE)
    count = int(lines["num_leaves"])
    if not 1 <= count <= _MAX_LEAVES:
        raise ValueError(f"a tree has {count} leaves")
    value = _parse_numbers(lines["leaf_value"])
    if len(value) != count:
        raise ValueError(f"a tree of {count} leaves has {len(value)} values")
    if count == 1:
        return make_tree([], [], [], [], [], value)
    feature, threshold, decision_type, left, right = (_parse_numbers(lines[key]) for key in _COLUMNS)
    decisions = _as_integers(decision_type)
    missing = (decisions >> 2) & 3
    missing_left = np.where(missing == _NONE, threshold >= 0, (decisions & _DEFAULT_LEFT) > 0)
    is_categorical = (decisions & _CATEGORICAL) > 0
    missing_left &= ~is_categorical  # a missing category goes right
    intervals = {int(node): _read_categories(lines, threshold[node]) for node in np.flatnonzero(is_categorical)}
    return make_tree(
        _as_integers(feature), move_off_zero(threshold), _as_integers(left), _as_integers(right), missing_left, value,
        zero_missing=(missing == _ZERO) & ~is_categorical, intervals=intervals,
    )  # fmt: skip


def _read_categories(lines: dict[str, str], index: float) -> list[float]:
    """Return the values that the bit set of a categorical node sends to the left."""
    bounds, words = (_as_integers(_parse_numbers(lines["cat_boundaries"])), _parse_words(lines["cat_threshold"]))
    start, end = (int(bound) for bound in bounds[int(index) : int(index) + 2])
    bits = np.unpackbits(words[start:end].view(np.uint8), bitorder="little")
    return category_intervals(np.flatnonzero(bits).tolist(), truncated=True)


def _parse_words(text: str) -> NDArray[np.uint32]:
    return np.array([parse_index(word, 1 << 32) for word in text.split()], "<u4")


def move_off_zero(thresholds: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return thresholds that decide as LightGBM does, which treats values of at most 1e-35 in size as 0.

    >>> move_off_zero(np.array([0.5, 0.0, -1e-36])).tolist()
    [0.5, 1.0000000180025095e-35, -1.0000000180025096e-35]
    """
    ends = np.where(thresholds >= 0, ZERO_THRESHOLD, np.nextafter(-ZERO_THRESHOLD, -np.inf))
    return np.where(np.abs(thresholds) <= ZERO_THRESHOLD, ends, thresholds)


def _parse_numbers(text: str) -> NDArray[np.float64]:
    return np.array([float(word) for word in text.split()], np.float64)


def _as_integers(values: NDArray[np.float64]) -> NDArray[np.int64]:
    if not (np.abs(values) < 2**31).all() or (values != np.trunc(values)).any():
        raise ValueError("a number of a node or feature is not an integer")
    return values.astype(np.int64)


def matches_json(content: bytes) -> bool:
    """Return whether this is the JSON of `dump_model`."""
    return content.lstrip()[:1] == b"{" and b'"tree_info"' in content


def read_json(content: bytes) -> TreeEnsemble:
    """Read the JSON of `dump_model`."""
    body = json.loads(content)
    require_known(body, _JSON_HEADER, "the model")
    _check_header(body)
    for record in body["tree_info"]:
        require_known(record, _JSON_TREE, "a tree")
    trees = tuple(build_tree(record["tree_structure"], _read_json_node) for record in body["tree_info"])
    return _ensemble(_feature_names(tuple(map(str, body["feature_names"]))), trees, bool(body.get("average_output")))


def _read_json_node(node: Any) -> Split | float:
    if "leaf_coeff" in node:
        raise ValueError(_LINEAR_TREE)
    if "leaf_value" in node:
        require_known(node, _JSON_LEAF, "a leaf")
        return parse_float(node["leaf_value"])
    require_known(node, _JSON_NODE, "a node")
    if node["decision_type"] == "==":
        categories = [parse_index(category) for category in str(node["threshold"]).split("||")]
        bounds = category_intervals(categories, truncated=True)
        return Split(parse_index(node["split_feature"]), 0.0, node["left_child"], node["right_child"], False, bounds)
    if node["decision_type"] != "<=":
        raise ValueError(f"unknown decision type {node['decision_type']}")
    if node.get("missing_type") == "Zero":
        raise ValueError("the JSON of a model with zero_as_missing is incomplete; save the model as text")
    threshold = float(node["threshold"])
    missing_left = threshold >= 0 if node.get("missing_type") == "None" else bool(node.get("default_left"))
    moved = float(move_off_zero(np.array(threshold)))
    return Split(parse_index(node["split_feature"]), moved, node["left_child"], node["right_child"], missing_left)


IMPORTERS = {
    "lightgbm": Importer(matches, read),
    "lightgbm_json": Importer(matches_json, read_json),
}
