"""LightGBM's `dump_model` JSON, which holds what its text holds; doubles, `x <= t` goes left."""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from pippin.forms.form import Trees
from pippin.forms.growing import Split, grow, real, whole
from pippin.forms.importers import numbered
from pippin.forms.importers.lightgbm import beyond_zero


def recognises(content: bytes) -> bool:
    """Whether it has LightGBM's list of trees."""
    return content.lstrip()[:1] == b"{" and b'"tree_info"' in content


def read(content: bytes) -> Trees:
    """The form of a model."""
    model = json.loads(content)
    if whole(model.get("num_class", 1)) != 1 or whole(model.get("num_tree_per_iteration", 1)) != 1:
        raise ValueError("this model has several outputs, and a ranking has one score")
    trees = tuple(grow(one["tree_structure"], look) for one in model["tree_info"])
    names = tuple(map(str, model["feature_names"]))
    plain = names == tuple(f"Column_{i}" for i in range(len(names)))
    averaged = float(len(trees)) if model.get("average_output") and trees else 1.0
    return Trees(numbered(len(names), () if plain else names), (trees,), divisor=averaged)


def look(at: Any) -> Split | float:
    """What a node asks; where nothing was missing in training, NULL is compared as 0."""
    if "leaf_value" in at:
        return real(at["leaf_value"])
    if at["decision_type"] != "<=":
        raise ValueError("a tree splits by categories, which Pippin's features have not")
    if at.get("missing_type") == "Zero":
        raise ValueError("a tree takes 0 for missing, which its text says and its JSON does not say where")
    threshold = float(at["threshold"])
    missing_left = threshold >= 0 if at.get("missing_type") == "None" else bool(at.get("default_left"))
    threshold = float(beyond_zero(np.array(threshold)))
    return Split(whole(at["split_feature"]), threshold, at["left_child"], at["right_child"], missing_left)
