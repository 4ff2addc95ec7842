"""Read XGBoost's models, JSON or UBJ: float32, `x < t` goes left, the sum begins with the base score.

A DART model multiplies the value of each tree by the tree's weight. A linear model skips missing values.

UBJ is Universal Binary JSON: a type before every value, and packed arrays of one type.
"""

from __future__ import annotations

import json
import math
import re
from dataclasses import replace
from typing import Any

import numpy as np

from pippin.models.importers import Importer, default_feature_names, require_known, warn_of_raw_scores
from pippin.models.model import (
    FLOAT32,
    FLOAT32_ZERO,
    LinearModel,
    Model,
    Tree,
    TreeEnsemble,
    category_intervals,
    make_linear,
    parse_float,
    parse_index,
)
from pippin.models.tree_builder import Split, build_tree, less_to_less_equal, to_float32

_IDENTITY = (
    "rank:", "reg:squarederror", "reg:linear", "reg:absoluteerror", "reg:pseudohubererror", "reg:squaredlogerror",
    "reg:quantileerror", "binary:logitraw",
)  # fmt: skip
_LOGISTIC = ("binary:logistic", "reg:logistic")
_EXPONENTIAL = ("count:poisson", "reg:gamma", "reg:tweedie", "survival:cox", "survival:aft")
_LEARNER = {"attributes", "feature_names", "feature_types", "gradient_booster", "learner_model_param", "objective"}
_PARAMETERS = {"base_score", "boost_from_average", "num_class", "num_feature", "num_target"}
_BOOSTERS = {"gbtree": {"name", "model"}, "dart": {"name", "gbtree", "weight_drop"}, "gblinear": {"name", "model"}}
_TREES = {"gbtree_model_param", "trees", "tree_info", "iteration_indptr", "cats"}
_TREE = {
    "base_weights", "categories", "categories_nodes", "categories_segments", "categories_sizes", "default_left", "id",
    "left_children", "loss_changes", "parents", "right_children", "split_conditions", "split_indices", "split_type",
    "sum_hessian", "tree_param", "leaf_weights",
}  # fmt: skip
_UBJ_NUMBERS = {b"i": ">i1", b"U": ">u1", b"I": ">i2", b"l": ">i4", b"L": ">i8", b"d": ">f4", b"D": ">f8"}
_UBJ_CONSTANTS = {b"Z": None, b"T": True, b"F": False}
_MAX_UBJ_DEPTH = 64
_MAX_UBJ_VALUES = 1 << 26  # values outside packed arrays


def matches(content: bytes) -> bool:
    """Return whether the content begins as a learner in JSON or UBJ."""
    if content.lstrip()[:1] != b"{":
        return False
    is_ubj = re.match(rb"\{L\x00{7}\x07(learner|version)", content[:40]) is not None
    return is_ubj or (b'"learner"' in content and b'"gradient_booster"' in content)


def read(content: bytes) -> Model:
    """Read a model."""
    learner = (json.loads(content) if b'"learner"' in content else parse_ubj(content))["learner"]
    require_known(learner, _LEARNER, "the learner")
    params, booster, objective = learner["learner_model_param"], learner["gradient_booster"], learner["objective"]
    require_known(params, _PARAMETERS, "the parameters")
    kind = str(booster["name"])
    if kind not in _BOOSTERS:
        raise ValueError(f"the booster {kind} is not supported")
    require_known(booster, _BOOSTERS[kind], "the booster")
    if parse_index(params.get("num_class", 0)) > 1 or parse_index(params.get("num_target", 1)) > 1:
        raise ValueError("models with several outputs are not supported")
    count = parse_index(params["num_feature"], 1 << 20)
    start = _base_margin(str(params["base_score"]), str(objective["name"]))
    names = default_feature_names(count, learner.get("feature_names") or ())
    if kind == "gblinear":
        return _read_linear(names, booster["model"], start)
    body = (booster["gbtree"] if kind == "dart" else booster)["model"]
    require_known(body, _TREES, "the trees")
    if any(len(part) for part in body.get("cats", {}).values()):
        raise ValueError("categories that are not numbers are not supported")
    if any(body.get("tree_info", ())):
        raise ValueError("models with several outputs are not supported")
    trees = tuple(_read_tree(tree) for tree in body["trees"])
    if kind == "dart":
        factors = np.array([parse_float(factor) for factor in booster["weight_drop"]], np.float32)
        pairs = zip(trees, factors, strict=True)
        trees = tuple(replace(tree, value=(tree.value.astype(np.float32) * f).astype(np.float64)) for tree, f in pairs)
    attributes = learner.get("attributes", {})
    if "scikit_learn" in attributes and "best_iteration" in attributes:  # XGBModel.predict uses no later trees
        per_iteration = parse_index(body["gbtree_model_param"].get("num_parallel_tree", 1))
        trees = trees[: (parse_index(attributes["best_iteration"]) + 1) * per_iteration]
    return TreeEnsemble(names, (trees,), start=start, scoring=FLOAT32)


def _read_linear(names: tuple[str, ...], body: Any, start: float) -> LinearModel:
    """Return a linear model, whose weights end with the bias; the sum begins with bias and base score."""
    require_known(body, {"weights", "boosted_rounds", "param"}, "the linear model")
    *weights, bias = (to_float32(parse_float(weight)) for weight in body["weights"])
    if len(weights) != len(names):
        raise ValueError(f"{len(weights)} weights for {len(names)} features")
    return make_linear(names, list(enumerate(weights)), FLOAT32_ZERO, to_float32(start + bias))


def _base_margin(text: str, objective: str) -> float:
    """Return the base score as the start of the sum; warn if `predict` transforms the sum."""
    base = np.float32(text.strip("[] "))
    if not np.isfinite(base):
        raise ValueError("the base score is not a finite number")
    if objective.startswith(_IDENTITY):
        return float(base)
    if objective in _LOGISTIC and 0 < base < 1:
        warn_of_raw_scores("their sigmoid")
        return to_float32(-math.log(float(np.float32(1) / base - np.float32(1))))
    if objective in _EXPONENTIAL and base > 0:
        warn_of_raw_scores("their exponential")
        return to_float32(math.log(float(base)))
    raise ValueError(f"the objective {objective} is not supported")


def _read_tree(tree: Any) -> Tree:
    require_known(tree, _TREE, "a tree")
    left, right, default_left = tree["left_children"], tree["right_children"], tree["default_left"]
    conditions, features = tree["split_conditions"], tree["split_indices"]
    categorical = _read_categories(tree)
    if parse_index(tree.get("tree_param", {}).get("size_leaf_vector", 1)) > 1:
        raise ValueError("leaves with several values are not supported")

    def read_node(node: int) -> Split | float:
        if int(left[node]) < 0:
            return to_float32(conditions[node])
        children = parse_index(left[node]), parse_index(right[node])
        if node in categorical:  # the categories of a node go right
            bounds = category_intervals(categorical[node], truncated=False)
            return Split(int(features[node]), 0.0, *children[::-1], not default_left[node], bounds)
        threshold = less_to_less_equal(parse_float(conditions[node]))
        return Split(int(features[node]), threshold, *children, bool(default_left[node]))

    return build_tree(0, read_node, int)


def _read_categories(tree: Any) -> dict[int, list[int]]:
    """Return the categories of each categorical node."""
    columns = (tree.get(name, ()) for name in ("categories_nodes", "categories_segments", "categories_sizes"))
    result = {}
    for node, start, size in zip(*columns, strict=True):
        first = parse_index(start)
        result[parse_index(node)] = [parse_index(c) for c in tree["categories"][first : first + parse_index(size)]]
    if {node for node, kind in enumerate(tree.get("split_type", ())) if kind} != set(result):
        raise ValueError("a categorical split has no categories")
    return result


def parse_ubj(content: bytes) -> Any:
    """Return the value of UBJ content; ValueError if it is malformed.

    >>> parse_ubj(b"{i\\x01aSi\\x02hii\\x01b[$U#i\\x02\\x01\\x02}")
    {'a': 'hi', 'b': [1, 2]}
    """
    reader = _UbjReader(content)
    try:
        return reader.value(reader.take(1), 0)
    except KeyError:
        raise ValueError("the UBJ content has a value of unknown type") from None


class _UbjReader:
    def __init__(self, content: bytes) -> None:
        self.content, self.offset, self.count = content, 0, 0

    def take(self, length: int) -> bytes:
        if not 0 <= length <= len(self.content) - self.offset:
            raise ValueError("the file ends in the middle of a value")
        self.offset += length
        return self.content[self.offset - length : self.offset]

    def numbers(self, kind: bytes, count: int) -> list[Any]:
        dtype = np.dtype(_UBJ_NUMBERS[kind])
        values: list[Any] = np.frombuffer(self.take(count * dtype.itemsize), dtype).tolist()
        return values

    def length(self) -> int:
        return int(self.numbers(self.take(1), 1)[0])

    def text(self) -> str:
        return self.take(self.length()).decode("utf-8")

    def value(self, kind: bytes, depth: int) -> Any:
        self.count += 1
        if depth > _MAX_UBJ_DEPTH or self.count > _MAX_UBJ_VALUES:
            raise ValueError("the file is nested too deeply or holds too many values")
        if kind in _UBJ_CONSTANTS:
            return _UBJ_CONSTANTS[kind]
        if kind == b"C":
            return self.take(1).decode("latin-1")
        if kind in (b"S", b"H"):
            return self.text()
        if kind == b"[":
            return self.array(depth)
        if kind == b"{":
            return self.mapping(depth)
        return self.numbers(kind, 1)[0]

    def array(self, depth: int) -> list[Any]:
        marker = self.take(1)
        if marker == b"$":
            kind = self.take(1)
            if self.take(1) != b"#":
                raise ValueError("packed array without a length")
            return self.numbers(kind, self.length())
        if marker == b"#":
            length = self.length()
            if not 0 <= length <= len(self.content) - self.offset:
                raise ValueError("an array is longer than the file")
            return [self.value(self.take(1), depth + 1) for _ in range(length)]
        values = []
        while marker != b"]":
            values.append(self.value(marker, depth + 1))
            marker = self.take(1)
        return values

    def mapping(self, depth: int) -> dict[str, Any]:
        result: dict[str, Any] = {}
        marker = self.take(1)
        if marker == b"#":
            for _ in range(min(self.length(), len(self.content))):
                key = self.text()
                result[key] = self.value(self.take(1), depth + 1)
            return result
        while marker != b"}":
            key = self.take(self.numbers(marker, 1)[0]).decode("utf-8")
            result[key] = self.value(self.take(1), depth + 1)
            marker = self.take(1)
        return result


IMPORTERS = {"xgboost": Importer(matches, read)}
