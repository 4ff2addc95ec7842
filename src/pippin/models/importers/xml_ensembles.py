"""Read the XML ensembles of QuickRank (float32 features, float64 leaves) and jforests (float64)."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from pippin.models.importers import Importer, default_feature_names
from pippin.models.model import (
    LinearModel,
    Model,
    ScoringRules,
    Tree,
    TreeEnsemble,
    make_tree,
    parse_float,
    parse_index,
)
from pippin.models.tree_builder import Element, less_to_less_equal, parse_xml, read_nested_splits, to_float32

_QUICKRANK = ScoringRules("float32", "float32", "float64", "float64", missing="zero")
_JFORESTS = ScoringRules(missing="zero")
_MAX_FEATURES = 1 << 20


def matches_quickrank(content: bytes) -> bool:
    """Return whether the root element is a ranker."""
    head = content[:400].lstrip()
    return head.startswith((b"<ranker", b"<?xml")) and b"<ranker" in head


def read_quickrank(content: bytes) -> Model:
    """Read a model; the weight of a tree is in its values, which does not change a bit."""
    root = parse_xml(content)
    kind = root.findtext("info/type", "").strip()
    if kind == "COORDASC":
        return _linear([(item.get("id", ""), item.get("weight", "")) for item in root.iterfind("model/feature")])
    if kind == "LINESEARCH":
        trees_found = root.iterfind("ensemble/tree")
        return _linear([(item.findtext("index", ""), item.findtext("weight", "")) for item in trees_found])
    if kind == "RANKBOOST":
        return _ensemble([_weak_ranker(item) for item in root.iterfind("ensemble/weakranker")], _QUICKRANK)
    return _ensemble([_weighted_tree(item) for item in root.iter("tree")], _QUICKRANK)


def _ensemble(trees: list[Tree], rules: ScoringRules) -> TreeEnsemble:
    if not trees:
        raise ValueError("the ensemble is empty")
    count = max(int(tree.feature.max(initial=0)) for tree in trees) + 1
    return TreeEnsemble(default_feature_names(count), (tuple(trees),), scoring=rules)


def _linear(weights: list[tuple[str, str]]) -> LinearModel:
    by_column = {parse_index(number, _MAX_FEATURES) - 1: parse_float(weight) for number, weight in weights}
    if not by_column or min(by_column) < 0 or len(by_column) != len(weights):
        raise ValueError("weights are missing, or a feature has two")
    row = np.zeros(max(by_column) + 1)
    row[list(by_column)] = list(by_column.values())
    return LinearModel(default_feature_names(len(row)), row, scoring=_QUICKRANK)


def _weighted_tree(element: Element) -> Tree:
    split = element.find("split")
    if split is None:
        raise ValueError("a tree is empty")
    tree = read_nested_splits(split, "float64")
    return replace(tree, value=tree.value * parse_float(element.get("weight", "1")))


def _weak_ranker(element: Element) -> Tree:
    """Return a stump: α where the feature is above θ (for the sign −1: below θ), otherwise 0."""
    feature = parse_index(element.findtext("featureid", ""), _MAX_FEATURES)
    sign = parse_float(element.findtext("sign", ""))
    theta, alpha = (to_float32(parse_float(element.findtext(name, ""))) for name in ("theta", "alpha"))
    if sign not in (1, -1):
        raise ValueError(f"the sign of a weak ranker is {sign:g}, not 1 or -1")
    threshold, values = (theta, [0.0, alpha]) if sign > 0 else (less_to_less_equal(theta), [alpha, 0.0])
    return make_tree([feature], [threshold], [-1], [-2], [threshold >= 0], values)


def matches_jforests(content: bytes) -> bool:
    """Return whether the root element is jforests' ensemble."""
    return content[:400].lstrip().startswith(b"<Ensemble")


def read_jforests(content: bytes) -> TreeEnsemble:
    """Read a model; features are numbered from 0 in the file and named from 1."""
    trees = []
    for element in parse_xml(content).findall("Tree"):
        leaves = parse_index(element.get("leaves", ""))
        value = _numbers(element, "LeafOutputs") * parse_float(element.get("weight", "1"))
        columns = [_numbers(element, name) for name in ("SplitFeatures", "LeftChildren", "RightChildren")]
        threshold = _numbers(element, "OriginalThresholds")
        if len(value) != leaves:
            raise ValueError(f"a tree of {leaves} leaves has {len(value)} values")
        if any(len(column) and np.abs(column).max() >= 1 << 20 for column in columns):
            raise ValueError("a number of a node or feature is too large")
        trees.append(make_tree(columns[0], threshold, columns[1], columns[2], threshold >= 0, value))
    return _ensemble(trees, _JFORESTS)


def _numbers(element: Element, name: str) -> NDArray[np.float64]:
    text = element.findtext(name) or ""
    return np.array([parse_float(word) for word in text.split()], np.float64)


IMPORTERS = {
    "quickrank": Importer(matches_quickrank, read_quickrank),
    "jforests": Importer(matches_jforests, read_jforests),
}
