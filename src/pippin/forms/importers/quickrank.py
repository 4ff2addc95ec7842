"""QuickRank's XML: float32 features and thresholds, `x <= t` goes left, doubles from the leaves on.

Trees of all its forests, the weights of coordinate ascent and line search, and RankBoost's weak rankers, whose weights
are floats.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from pippin.forms.form import Form, Linear, Scoring, Tree, Trees, tree
from pippin.forms.growing import below, real, whole
from pippin.forms.importers import numbered
from pippin.forms.importers.xml import Element, parse, splits

SCORING = Scoring("float32", "float32", "float64", "float64", missing="zero")
_MOST = 1 << 20  # features


def recognises(content: bytes) -> bool:
    """Whether the root is a ranker."""
    head = content[:400].lstrip()
    return head.startswith((b"<ranker", b"<?xml")) and b"<ranker" in head


def read(content: bytes) -> Form:
    """The form of a model; a tree's weight is in its values, as the product is the same bits either way."""
    root = parse(content)
    kind = root.findtext("info/type", "").strip()
    if kind == "COORDASC":
        return _linear([(one.get("id", ""), one.get("weight", "")) for one in root.iterfind("model/feature")])
    if kind == "LINESEARCH":
        found = root.iterfind("ensemble/tree")
        return _linear([(one.findtext("index", ""), one.findtext("weight", "")) for one in found])
    weak = [_weak(one) for one in root.iterfind("ensemble/weakranker")]
    trees = weak if kind == "RANKBOOST" else [_weighted(one) for one in root.iter("tree")]
    if not trees:
        raise ValueError("it has no trees")
    count = max(int(one.feature.max(initial=0)) for one in trees) + 1
    return Trees(numbered(count), (tuple(trees),), scoring=SCORING)


def _linear(weights: list[tuple[str, str]]) -> Linear:
    found = {whole(number, _MOST) - 1: real(weight) for number, weight in weights}
    if not found or min(found) < 0 or len(found) != len(weights):
        raise ValueError("it has no weights, or a feature has two")
    row = np.zeros(max(found) + 1)
    row[list(found)] = list(found.values())
    return Linear(numbered(len(row)), row, scoring=SCORING)


def _weighted(one: Element) -> Tree:
    split = one.find("split")
    if split is None:
        raise ValueError("a tree is empty")
    grown = splits(split, "float64")
    return replace(grown, value=grown.value * real(one.get("weight", "1")))


def _weak(one: Element) -> Tree:
    """α where the feature is above θ, or with the sign −1 below it; 0 elsewhere."""
    feature, sign = whole(one.findtext("featureid", ""), _MOST), real(one.findtext("sign", ""))
    theta, alpha = (float(np.float32(real(one.findtext(name, "")))) for name in ("theta", "alpha"))
    if sign not in (1, -1):
        raise ValueError("a weak ranker has no direction")
    threshold, values = (theta, [0.0, alpha]) if sign > 0 else (below(theta), [alpha, 0.0])
    return tree([feature], [threshold], [-1], [-2], [threshold >= 0], values)
