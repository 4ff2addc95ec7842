"""XGBoost's own model, JSON or UBJ: float32 throughout, `x < t` goes left, the sum begins with the base score."""

from __future__ import annotations

import json
import math
import re
from typing import Any

import numpy as np

from pippin.forms.form import SINGLE, Tree, Trees
from pippin.forms.growing import Split, below, grow, whole
from pippin.forms.importers import numbered
from pippin.forms.ubjson import parse

_IDENTITY = ("rank:", "reg:squarederror", "reg:linear", "reg:absoluteerror", "reg:pseudohubererror", "binary:logitraw")
_LOGISTIC = ("binary:logistic", "reg:logistic")


def recognises(content: bytes) -> bool:
    """Whether a learner stands near the beginning, as JSON or as UBJ."""
    if content.lstrip()[:1] != b"{":
        return False
    packed = re.match(rb"\{L\x00{7}\x07(learner|version)", content[:40]) is not None
    return packed or (b'"learner"' in content and b'"gradient_booster"' in content)


def read(content: bytes) -> Trees:
    """The form of a model."""
    learner = load(content)["learner"]
    parameters, booster = learner["learner_model_param"], learner["gradient_booster"]
    if booster["name"] != "gbtree":
        raise ValueError(f"its booster is {booster['name']}, and only gbtree is read")
    if whole(parameters.get("num_class", 0)) > 1 or whole(parameters.get("num_target", 1)) > 1:
        raise ValueError("it has several outputs, and a ranking has one score")
    count = whole(parameters["num_feature"])
    names = learner.get("feature_names") or ()
    start = _margin(str(parameters["base_score"]), str(learner["objective"]["name"]))
    trees = tuple(_tree(one) for one in booster["model"]["trees"])
    width = max([count, *(int(one.feature.max(initial=-1)) + 1 for one in trees)])
    if width > max(count, 1):
        raise ValueError("a tree splits by a feature that is not there")
    if count > 1 << 20:
        raise ValueError(f"it has {count:,} features")
    return Trees(numbered(count, names), (trees,), start=start, scoring=SINGLE)


def load(content: bytes) -> Any:
    """The value of a JSON or UBJ file."""
    return json.loads(content) if b'"learner"' in content else parse(content)


def _margin(text: str, objective: str) -> float:
    """The base score as what the sum begins with."""
    base = np.float32(text.strip("[] "))
    if not np.isfinite(base):
        raise ValueError("its base score is no number")
    if objective.startswith(_IDENTITY):
        return float(base)
    if objective in _LOGISTIC and 0 < base < 1:
        return float(np.float32(-math.log(float(np.float32(1) / base - np.float32(1)))))
    raise ValueError(f"its objective {objective} is none that ranks")


def _tree(one: Any) -> Tree:
    left, right = one["left_children"], one["right_children"]
    conditions, indices = one["split_conditions"], one["split_indices"]
    default = one["default_left"]
    if any(one.get("split_type", ())) or len(one.get("categories", ())):
        raise ValueError("a tree splits by categories, which Pippin's features have not")
    if whole(one.get("tree_param", {}).get("size_leaf_vector", 1)) > 1:
        raise ValueError("a leaf has several values")

    def look(at: int) -> Split | float:
        if int(left[at]) < 0:
            return float(np.float32(conditions[at]))
        threshold = float(conditions[at])
        if not math.isfinite(threshold):
            raise ValueError("a threshold is no number")
        return Split(int(indices[at]), below(threshold), whole(left[at]), whole(right[at]), bool(default[at]))

    return grow(0, look, int)
