"""Read model text of all of RankLib's rankers; the first line names the ranker. Features are float32, numbered from 1.

Trees (MART, LambdaMART, Random Forests) have float32 thresholds and leaves; a sum is rounded to float32 after each
tree, and the product of a leaf and the tree's weight is a float64. RankBoost adds float64 where `x > t`. Linear models
multiply in float64. Networks have logistic units, the output included.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

import numpy as np

from pippin.models.importers import Importer, default_feature_names
from pippin.models.model import (
    Layer,
    LinearModel,
    Model,
    NeuralNetwork,
    ScoringRules,
    Tree,
    TreeEnsemble,
    make_linear,
    make_network,
    make_tree,
    parse_float,
    parse_index,
)
from pippin.models.tree_builder import Element, parse_xml, read_nested_splits, to_float32

_TREE_RULES = ScoringRules("float32", "float32", "float64", "float32", missing="zero")
_DOUBLES = ScoringRules("float32", "float64", "float64", "float64", missing="zero")
_NETWORKS = ("RankNet", "ListNet", "LambdaRank")
_LINEAR = ("Coordinate Ascent", "AdaRank", "Linear Regression")
_TREES = ("MART", "LambdaMART", "Random Forests")
_MAX_FEATURES = 1 << 20


def matches(content: bytes) -> bool:
    """Return whether the first line names one of RankLib's rankers."""
    return content.startswith(b"## ") and _ranker(content[:100]) in (*_NETWORKS, *_LINEAR, *_TREES, "RankBoost")


def _ranker(content: bytes) -> str:
    return content.split(b"\n", 1)[0].strip().removeprefix(b"## ").decode("latin-1")


def read(content: bytes) -> Model:
    """Read a model."""
    text, kind = content.decode("utf-8"), _ranker(content)
    if not matches(content):
        raise ValueError("the first line does not name one of RankLib's rankers")
    if kind in _TREES:
        return _read_ensembles(text, kind)
    lines = [line.strip() for line in text.splitlines() if line.strip() and not line.strip().startswith("##")]
    if not lines:
        raise ValueError("the model is empty")
    if kind in _NETWORKS:
        return _read_network(lines)
    words = (lines[0].rpartition("#")[0] or lines[0]).split()
    return _read_stumps(words) if kind == "RankBoost" else _read_linear(words, kind)


def _read_ensembles(text: str, kind: str) -> TreeEnsemble:
    """Read one ensemble, or those of a forest, whose float32 sums are averaged in float64."""
    ensembles = re.findall(r"<ensemble>.*?</ensemble>", text, re.DOTALL)
    if not ensembles or (kind != "Random Forests" and len(ensembles) != 1):
        raise ValueError(f"the model has {len(ensembles)} ensembles")
    bags = tuple(tuple(_read_tree(tree) for tree in parse_xml(ensemble).findall("tree")) for ensemble in ensembles)
    count = max((int(tree.feature.max(initial=0)) for bag in bags for tree in bag), default=0) + 1
    return TreeEnsemble(default_feature_names(count), bags, divisor=float(len(bags)), scoring=_TREE_RULES)


def _read_tree(element: Element) -> Tree:
    """Read a tree with its weight in its values: the product of two float32 is exact in float64."""
    split = element.find("split")
    if split is None:
        raise ValueError("a tree is empty")
    tree = read_nested_splits(split, "float32")
    return replace(tree, value=tree.value * to_float32(parse_float(element.get("weight", "1"))))


def _read_linear(words: Sequence[str], kind: str) -> LinearModel:
    """Read weights in the order of the file; the constant of a regression, feature 0, starts the sum."""
    pairs = [(parse_index(word.partition(":")[0], _MAX_FEATURES), parse_float(word.rpartition(":")[2]))
             for word in words]  # fmt: skip
    start = sum(weight for feature, weight in pairs if feature == 0) if kind == "Linear Regression" else 0.0
    terms = [(feature - 1, weight) for feature, weight in pairs if feature > 0]
    if not terms:
        raise ValueError("the weights are missing")
    return make_linear(default_feature_names(max(feature for feature, _ in terms) + 1), terms, _DOUBLES, start)


def _read_stumps(words: Sequence[str]) -> TreeEnsemble:
    """Read rules feature:threshold:weight."""
    trees = []
    for word in words:
        feature, threshold, weight = word.split(":")
        column, t, alpha = parse_index(feature, _MAX_FEATURES) - 1, parse_float(threshold), parse_float(weight)
        trees.append(make_tree([column], [t], [-1], [-2], [t >= 0], [0.0, alpha]))
    count = max(int(tree.feature[0]) for tree in trees) + 1
    return TreeEnsemble(default_feature_names(count), (tuple(trees),), scoring=_DOUBLES)


def _read_network(lines: Sequence[str]) -> NeuralNetwork:
    """Read the features, the number of hidden layers, their sizes, then each unit's weights to the next layer.

    The last unit of the input layer is the bias of all layers.
    """
    features = [parse_index(word, _MAX_FEATURES) for word in lines[0].split()]
    n_hidden = parse_index(lines[1], 64)
    sizes = [len(features), *(parse_index(line, 1 << 16) for line in lines[2 : 2 + n_hidden]), 1]
    if len(sizes) != n_hidden + 2 or sum(a * b for a, b in pairwise(sizes)) > 1 << 24:
        raise ValueError("the sizes of the layers are missing or too large")
    matrices = [np.full(pair, np.nan) for pair in pairwise(sizes)]
    biases = np.full(sum(sizes[1:]), np.nan)
    for line in lines[2 + n_hidden :]:
        words = line.split()
        layer, unit = parse_index(words[0]), parse_index(words[1])
        weights = [parse_float(word) for word in words[2:]]
        row = biases if layer == 0 and unit == len(features) else matrices[layer][unit]
        if len(weights) != len(row):
            raise ValueError(f"unit {unit} of layer {layer} has {len(weights)} weights")
        row[:] = weights
    if not all(np.isfinite(values).all() for values in (*matrices, biases)):
        raise ValueError("the weights of a unit are missing")
    if len(set(features)) != len(features) or min(features) < 1:
        raise ValueError("feature numbers are not unique or below 1")
    first = np.zeros((max(features), sizes[1]))
    first[np.array(features) - 1] = matrices[0]
    layer_biases = np.split(biases, np.cumsum(sizes[1:])[:-1])
    layers = (Layer(matrix, bias, "sigmoid") for matrix, bias in zip([first, *matrices[1:]], layer_biases, strict=True))
    return make_network(default_feature_names(max(features)), tuple(layers), scoring=_DOUBLES)


IMPORTERS = {"ranklib": Importer(matches, read)}
