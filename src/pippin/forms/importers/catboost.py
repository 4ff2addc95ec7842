"""CatBoost's JSON: float32 features, `x > border` goes right, doubles from the leaves on; oblivious or other trees."""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from pippin.forms.form import Scoring, Tree, Trees, tree
from pippin.forms.growing import Split, grow, real, whole
from pippin.forms.importers import numbered

SCORING = Scoring("float32", "float32", "float64", "float64")
_DEEPEST = 16


def recognises(content: bytes) -> bool:
    """Whether trees of CatBoost stand in a JSON object."""
    return content.lstrip()[:1] == b"{" and b'"features_info"' in content and (
        b'"oblivious_trees"' in content or b'"trees"' in content)  # fmt: skip


def read(content: bytes) -> Trees:
    """The form of a model."""
    model = json.loads(content)
    info = model["features_info"]
    if info.get("categorical_features") or info.get("text_features") or info.get("embedding_features"):
        raise ValueError("it has features that are no numbers")
    features = sorted(info["float_features"], key=lambda one: whole(one["flat_feature_index"]))
    places = {whole(one["feature_index"]): whole(one["flat_feature_index"], 1 << 20) for one in features}
    count = max(places.values()) + 1
    names = [""] * count
    for one in features:
        names[places[whole(one["feature_index"])]] = str(one.get("feature_id", ""))
    # NaN is no number that is above a border, unless the feature says that it counts as true.
    right = {places[whole(one["feature_index"])] for one in features if one.get("nan_value_treatment") == "AsTrue"}
    scale, bias = model["scale_and_bias"]
    bias = bias if isinstance(bias, list) else [bias]
    if len(bias) != 1:
        raise ValueError("it has several outputs, and a ranking has one score")
    if "oblivious_trees" in model:
        trees = [_oblivious(one, places, right) for one in model["oblivious_trees"]]
    else:
        trees = [_other(one, places, right) for one in model["trees"]]
    return Trees(numbered(count, names), (tuple(trees),), scale=real(scale), base=real(bias[0]), scoring=SCORING)


def _split(one: Any, places: dict[int, int]) -> tuple[int, float]:
    if one.get("split_type", "FloatFeature") != "FloatFeature":
        raise ValueError(f"a tree splits by a {one['split_type']}")
    return places[whole(one["float_feature_index"])], float(np.float32(real(one["border"])))


def _oblivious(one: Any, places: dict[int, int], right: set[int]) -> Tree:
    """A tree whose nodes of one depth ask the same: bit i of a leaf's number is the answer at depth i."""
    splits = [_split(each, places) for each in one["splits"] or []]
    depth, values = len(splits), [real(value) for value in one["leaf_values"]]
    if depth > _DEEPEST or len(values) != 1 << depth:
        raise ValueError(f"a tree of depth {depth} has {len(values)} values")
    feature, threshold, left, beyond, missing = [], [], [], [], []
    for level, (f, border) in enumerate(splits):
        below = (1 << (level + 1)) - 1
        for way in range(1 << level):
            feature.append(f)
            threshold.append(border)
            missing.append(f not in right)
            last = level == depth - 1
            other = way | 1 << level
            left.append(-1 - way if last else below + way)
            beyond.append(-1 - other if last else below + other)
    return tree(feature, threshold, left, beyond, missing, values)


def _other(one: Any, places: dict[int, int], right: set[int]) -> Tree:
    def look(at: Any) -> Split | float:
        if "value" in at:
            return real(at["value"])
        feature, border = _split(at["split"], places)
        return Split(feature, border, at["left"], at["right"], feature not in right)

    return grow(one, look)
