"""XGBoost's own model, as JSON or UBJ: float32 throughout, `x < t` to the left, siblings beside one another."""

from __future__ import annotations

import json
import struct
from pathlib import Path
from typing import Any

import numpy as np

from pippin.deploy.target import F64, Engine, Files, NotHere, Option, Request, Target, register
from pippin.forms.form import Scoring, Tree, Trees

_ENDS = 2147483647  # what a child or a parent is that is none (a root's parent)
_VERSION = [2, 1, 0]
SCORING = Scoring("float32", "float32", "float32", "float32", totals="float32", operator="<")


def siblings(one: Tree) -> list[tuple[int, int, int]]:
    """Nodes and leaves from the root on, siblings beside one another: (what it is, left, parent) by new number.

    What it is counts as a child does in a tree: from 0 a node, below 0 a leaf. XGBoost takes the right child for the
    one after the left.
    """
    found = [(0 if len(one) else -1, -1, _ENDS)]
    at = 0
    while at < len(found):
        what, _, parent = found[at]
        if what >= 0:
            found[at] = (what, len(found), parent)
            found += [(int(one.left[what]), -1, at), (int(one.right[what]), -1, at)]
        at += 1
    return found


def _tree(number: int, one: Tree, width: int) -> dict[str, Any]:
    places = siblings(one)
    inner = [what >= 0 for what, _, _ in places]
    count = len(places)

    def each(of_node: Any, of_leaf: Any) -> list[Any]:
        return [of_node(what) if is_node else of_leaf(-1 - what)
                for (what, _, _), is_node in zip(places, inner, strict=True)]  # fmt: skip

    def value(at: int) -> float:
        return float(np.float32(one.value[at]))

    return {
        "base_weights": each(lambda _: 0.0, value), "categories": [], "categories_nodes": [], "categories_segments": [],
        "categories_sizes": [], "default_left": each(lambda n: int(one.missing_left[n]), lambda _: 0), "id": number,
        "left_children": [left for _, left, _ in places], "loss_changes": [0.0] * count,
        "parents": [parent for _, _, parent in places],
        "right_children": [left + 1 if left >= 0 else -1 for _, left, _ in places],
        "split_conditions": each(lambda n: float(np.float32(one.threshold[n])), value),
        "split_indices": each(lambda n: int(one.feature[n]), lambda _: 0), "split_type": [0] * count,
        "sum_hessian": [0.0] * count,
        "tree_param": {"num_deleted": "0", "num_feature": str(width), "num_nodes": str(count), "size_leaf_vector": "1"},
    }  # fmt: skip


def record(form: Trees) -> dict[str, Any]:
    """The model as XGBoost 2.1 writes it, of the objective rank:ndcg, with a base score of 0."""
    trees, width = form.flat(), len(form.names)
    model = {
        "gbtree_model_param": {"num_parallel_tree": "1", "num_trees": str(len(trees))},
        "iteration_indptr": list(range(len(trees) + 1)), "tree_info": [0] * len(trees),
        "trees": [_tree(i, one, width) for i, one in enumerate(trees)],
    }  # fmt: skip
    names = [name.translate(str.maketrans("[]<", "___")) for name in form.names]
    return {
        "learner": {
            "attributes": {}, "feature_names": names, "feature_types": ["float"] * width,
            "gradient_booster": {"model": model, "name": "gbtree"},
            "learner_model_param": {"base_score": "0E0", "boost_from_average": "1", "num_class": "0",
                                    "num_feature": str(width), "num_target": "1"},
            "objective": {"lambdarank_param": _LAMBDA, "name": "rank:ndcg"},
        },
        "version": _VERSION,
    }  # fmt: skip


_LAMBDA = {
    "lambdarank_bias_norm": "1", "lambdarank_normalization": "1", "lambdarank_num_pair_per_sample": "4294967295",
    "lambdarank_pair_method": "topk", "lambdarank_unbiased": "0", "ndcg_exp_gain": "1",
}  # fmt: skip


def write(request: Request) -> Files:
    """The model as JSON or UBJ."""
    if len(set(request.form.names)) != len(request.form.names):
        request.notes.append("names of features are not unique")
    made = record(request.form)
    if request.options["format"] == "ubj":
        return {"": ubj(made)}
    return {"": (json.dumps(made, ensure_ascii=False) + "\n").encode("utf-8", "surrogatepass")}


# Arrays of a tree by the type of their numbers in UBJSON, as XGBoost reads them; all others are lists.
_TYPES = {
    "base_weights": "d", "loss_changes": "d", "split_conditions": "d", "sum_hessian": "d", "default_left": "U",
    "split_type": "U", "left_children": "l", "right_children": "l", "parents": "l", "split_indices": "l",
    "categories": "l", "categories_nodes": "l", "categories_segments": "L", "categories_sizes": "L",
}  # fmt: skip
_PACKED = {"d": "f", "U": "B", "l": "i", "L": "q"}


def ubj(value: Any) -> bytes:
    """A value as UBJSON."""
    if isinstance(value, dict):
        return b"{" + b"".join(_length(key) + (_array(one, _TYPES[key]) if key in _TYPES else ubj(one))
                               for key, one in value.items()) + b"}"  # fmt: skip
    if isinstance(value, list):
        return b"[#L" + struct.pack(">q", len(value)) + b"".join(map(ubj, value))
    if isinstance(value, str):
        return b"S" + _length(value)
    return b"l" + struct.pack(">i", value)


def _array(values: list[Any], kind: str) -> bytes:
    head = b"[$" + kind.encode() + b"#L" + struct.pack(">q", len(values))
    return head + struct.pack(f">{len(values)}{_PACKED[kind]}", *values)


def _length(text: str) -> bytes:
    content = text.encode("utf-8", "surrogatepass")
    return b"L" + struct.pack(">q", len(content)) + content


def run(base: Path, table: F64, request: Request) -> tuple[str, F64]:
    """XGBoost's own margin."""
    try:
        import xgboost
    except ImportError:
        raise NotHere("xgboost is not installed") from None
    model = base.with_name(f"model.{request.options['format']}")
    model.write_bytes(base.read_bytes())
    booster = xgboost.Booster({"nthread": 1}, model_file=str(model))
    with np.errstate(over="ignore"):
        given = table.astype(np.float32)
    found = booster.inplace_predict(given, predict_type="margin", validate_features=False)
    return f"XGBoost {xgboost.__version__}", np.asarray(found, np.float64)


register(Target(
    "xgboost", "XGBoost's model", "XGBoost 2.1, doc/model.schema and src/tree/tree_model.cc", ("trees",), write,
    SCORING, Engine("XGBoost", run), {"format": Option(("json", "ubj"), "the file's form")},
))  # fmt: skip
