"""RankLib's model text, of all its rankers: the first line names which. Features are float32, by number from 1.

Trees (MART, LambdaMART, Random Forests): float32 thresholds and leaves; a sum is rounded to float32 after each tree,
whose product with its weight is a double. RankBoost: doubles after `x > t`. Linear ones: products in doubles. Networks:
logistic units, the output's too.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

import numpy as np

from pippin.forms.form import Form, Layer, Linear, Network, Scoring, Tree, Trees, linear_of, tree
from pippin.forms.growing import real, whole
from pippin.forms.importers import numbered
from pippin.forms.importers.xml import parse, splits

TREES = Scoring("float32", "float32", "float64", "float32", missing="zero")
DOUBLES = Scoring("float32", "float64", "float64", "float64", missing="zero")
_NETWORKS = ("RankNet", "ListNet", "LambdaRank")
_LINEAR = ("Coordinate Ascent", "AdaRank", "Linear Regression")
_TREES = ("MART", "LambdaMART", "Random Forests")
_WIDEST = 1 << 20


def recognises(content: bytes) -> bool:
    """Whether one of RankLib's rankers is named first."""
    first = content[:100].split(b"\n")[0].strip().removeprefix(b"## ").decode("latin-1")
    return content.startswith(b"## ") and first in (*_NETWORKS, *_LINEAR, *_TREES, "RankBoost")


def read(content: bytes) -> Form:
    """The form of a model."""
    text = content.decode("utf-8")
    kind = text.split("\n", 1)[0].strip().removeprefix("## ")
    if not recognises(content):
        raise ValueError("its first line names none of RankLib's rankers")
    if kind in _TREES:
        return _ensembles(text, kind)
    lines = [line.strip() for line in text.splitlines() if line.strip() and not line.strip().startswith("##")]
    if not lines:
        raise ValueError("nothing stands in it")
    if kind in _NETWORKS:
        return _network(lines)
    words = lines[0].rpartition("#")[0] or lines[0]
    return _stumps(words.split()) if kind == "RankBoost" else _linear(words.split(), kind)


def _ensembles(text: str, kind: str) -> Trees:
    """One ensemble, or those of a forest: floats each, whose mean is a double."""
    found = re.findall(r"<ensemble>.*?</ensemble>", text, re.DOTALL)
    if not found or (kind != "Random Forests" and len(found) != 1):
        raise ValueError(f"it has {len(found)} ensembles")
    bags = tuple(tuple(_weighted(one) for one in parse(each).findall("tree")) for each in found)
    count = max((int(one.feature.max(initial=0)) for bag in bags for one in bag), default=0) + 1
    return Trees(numbered(count), bags, divisor=float(len(bags)), scoring=TREES)


def _weighted(element: object) -> Tree:
    """A tree with its weight in its values: the product of two float32 is a double without rounding."""
    from xml.etree.ElementTree import Element

    if not isinstance(element, Element) or (split := element.find("split")) is None:
        raise ValueError("a tree is empty")
    grown = splits(split, "float32")
    return replace(grown, value=grown.value * float(np.float32(real(element.get("weight", "1")))))


def _pairs(words: Sequence[str]) -> list[tuple[int, float]]:
    pairs = [(whole(word.partition(":")[0], _WIDEST), real(word.rpartition(":")[2])) for word in words]
    if not pairs:
        raise ValueError("it has no weights")
    return pairs


def _linear(words: Sequence[str], kind: str) -> Linear:
    """Weights in the order of the file; the constant of a regression, feature 0, comes first in the sum."""
    pairs = _pairs(words)
    start = sum(weight for feature, weight in pairs if feature == 0) if kind == "Linear Regression" else 0.0
    terms = [(feature - 1, weight) for feature, weight in pairs if feature > 0]
    if not terms:
        raise ValueError("it has no weights")
    return linear_of(numbered(max(feature for feature, _ in terms) + 1), terms, DOUBLES, start)


def _stumps(words: Sequence[str]) -> Trees:
    """Rules feature:threshold:weight."""
    trees = []
    for word in words:
        feature, threshold, weight = word.split(":")
        at, t, alpha = whole(feature, _WIDEST) - 1, real(threshold), real(weight)
        trees.append(tree([at], [t], [-1], [-2], [t >= 0], [0.0, alpha]))
    count = max(int(one.feature[0]) for one in trees) + 1
    return Trees(numbered(count), (tuple(trees),), scoring=DOUBLES)


def _network(lines: Sequence[str]) -> Network:
    """Features, the number of hidden layers, their sizes; then each unit's weights to the next layer.

    The last unit of the input is the bias of all layers.
    """
    features = [whole(word, _WIDEST) for word in lines[0].split()]
    hidden = [whole(line, 1 << 16) for line in lines[2 : 2 + whole(lines[1], 64)]]
    sizes = [len(features), *hidden, 1]
    if len(sizes) != whole(lines[1]) + 2 or sum(a * b for a, b in pairwise(sizes)) > 1 << 24:
        raise ValueError("its layers are not what it says")
    matrices = [np.full(pair, np.nan) for pair in pairwise(sizes)]
    biases = np.full(sum(sizes[1:]), np.nan)
    for line in lines[2 + len(hidden) :]:
        words = line.split()
        layer, unit = whole(words[0]), whole(words[1])
        weights = [real(word) for word in words[2:]]
        row = biases if layer == 0 and unit == len(features) else matrices[layer][unit]
        if len(weights) != len(row):
            raise ValueError(f"unit {unit} of layer {layer} has {len(weights)} weights")
        row[:] = weights
    if not all(np.isfinite(each).all() for each in (*matrices, biases)):
        raise ValueError("a unit lacks its weights")
    if len(set(features)) != len(features) or min(features) < 1:
        raise ValueError("its features are none")
    cuts = np.cumsum(sizes[1:])[:-1]
    layers = [Layer(m, b, "sigmoid") for m, b in zip(matrices, np.split(biases, cuts), strict=True)]
    width = max(features)
    first = np.zeros((width, sizes[1]))
    first[np.array(features) - 1] = layers[0].matrix
    return Network(numbered(width), (Layer(first, layers[0].bias, "sigmoid"), *layers[1:]), np.zeros(width),
                   np.ones(width), scoring=DOUBLES)  # fmt: skip
