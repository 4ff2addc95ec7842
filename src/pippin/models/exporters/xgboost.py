"""Export as XGBoost's JSON: float32 throughout, `x < t` goes left, siblings next to each other."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from pippin.models.exporters.base import F64, Engine, EngineUnavailable, Exporter, ExportRequest, Files, register
from pippin.models.model import FLOAT32, Tree
from pippin.models.tree_builder import to_float32

_NO_PARENT = 2147483647  # parent of a root
_VERSION = [2, 1, 0]
_LAMBDARANK_PARAM = {
    "lambdarank_bias_norm": "1", "lambdarank_normalization": "1", "lambdarank_num_pair_per_sample": "4294967295",
    "lambdarank_pair_method": "topk", "lambdarank_unbiased": "0", "ndcg_exp_gain": "1",
}  # fmt: skip


def write(request: ExportRequest) -> Files:
    """Return the model as XGBoost 2.1 writes it, with objective rank:ndcg and base score 0."""
    names, trees = request.model.names, request.model.flat()
    width = len(names)
    model = {
        "gbtree_model_param": {"num_parallel_tree": "1", "num_trees": str(len(trees))},
        "iteration_indptr": list(range(len(trees) + 1)), "tree_info": [0] * len(trees),
        "trees": [_tree_record(i, tree, width) for i, tree in enumerate(trees)],
    }  # fmt: skip
    body = {
        "learner": {
            "attributes": {}, "feature_names": [name.translate(str.maketrans("[]<", "___")) for name in names],
            "feature_types": ["float"] * width, "gradient_booster": {"model": model, "name": "gbtree"},
            "learner_model_param": {"base_score": "0E0", "boost_from_average": "1", "num_class": "0",
                                    "num_feature": str(width), "num_target": "1"},
            "objective": {"lambdarank_param": _LAMBDARANK_PARAM, "name": "rank:ndcg"},
        },
        "version": _VERSION,
    }  # fmt: skip
    return {"": (json.dumps(body, ensure_ascii=False) + "\n").encode("utf-8", "surrogatepass")}


def _sibling_order(tree: Tree) -> list[tuple[int, int, int]]:
    """Return (child number of the tree, position of its left child, parent) with siblings next to each other.

    XGBoost finds the right child after the left one. Child numbers are those of `Tree`: leaves are negative.
    """
    order = [(0 if len(tree) else -1, -1, _NO_PARENT)]
    for position, (child, _, parent) in enumerate(order):  # grows while it is read
        if child >= 0:
            order[position] = (child, len(order), parent)
            order += [(int(tree.left[child]), -1, position), (int(tree.right[child]), -1, position)]
    return order


def _tree_record(number: int, tree: Tree, width: int) -> dict[str, Any]:
    order = _sibling_order(tree)
    count = len(order)

    def column(of_node: Callable[[int], Any], of_leaf: Callable[[int], Any] = lambda _: 0) -> list[Any]:
        return [of_node(child) if child >= 0 else of_leaf(-1 - child) for child, _, _ in order]

    def value(leaf: int) -> float:
        return to_float32(tree.value[leaf])

    return {
        "base_weights": column(lambda _: 0.0, value), "categories": [], "categories_nodes": [],
        "categories_segments": [], "categories_sizes": [],
        "default_left": column(lambda node: int(tree.missing_left[node])), "id": number,
        "left_children": [left for _, left, _ in order], "loss_changes": [0.0] * count,
        "parents": [parent for _, _, parent in order],
        "right_children": [left + 1 if left >= 0 else -1 for _, left, _ in order],
        "split_conditions": column(lambda node: to_float32(tree.threshold[node]), value),
        "split_indices": column(lambda node: int(tree.feature[node])), "split_type": [0] * count,
        "sum_hessian": [0.0] * count,
        "tree_param": {"num_deleted": "0", "num_feature": str(width), "num_nodes": str(count), "size_leaf_vector": "1"},
    }  # fmt: skip


def score(base: Path, table: F64, request: ExportRequest) -> tuple[str, F64]:
    """Score with XGBoost."""
    try:
        import xgboost
    except ImportError:
        raise EngineUnavailable("xgboost is not installed") from None
    model = base.with_name("model.json")
    model.write_bytes(base.read_bytes())
    booster = xgboost.Booster({"nthread": 1}, model_file=str(model))
    with np.errstate(over="ignore"):
        single = table.astype(np.float32)
    margins = booster.inplace_predict(single, predict_type="margin", validate_features=False)
    return f"XGBoost {xgboost.__version__}", np.asarray(margins, np.float64)


register(Exporter(
    "xgboost", "XGBoost model", "XGBoost 2.1, doc/model.schema and src/tree/tree_model.cc", ("trees",), write,
    replace(FLOAT32, operator="<"), Engine("XGBoost", score),
))  # fmt: skip
