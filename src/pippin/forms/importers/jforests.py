"""jforests' XML: doubles throughout, `x <= t` with the original thresholds goes left, trees have weights."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from pippin.forms.form import Scoring, Trees, tree
from pippin.forms.growing import real, whole
from pippin.forms.importers import numbered
from pippin.forms.importers.xml import Element, parse

SCORING = Scoring(missing="zero")


def recognises(content: bytes) -> bool:
    """Whether the root is jforests' ensemble."""
    return content[:400].lstrip().startswith(b"<Ensemble")


def read(content: bytes) -> Trees:
    """The form of a model; features are numbered from 0 there, and are called from 1 on here."""
    trees = []
    for one in parse(content).findall("Tree"):
        leaves = whole(one.get("leaves", ""))
        weight = real(one.get("weight", "1"))
        value = _numbers(one, "LeafOutputs")
        feature, left, right = (_numbers(one, name) for name in ("SplitFeatures", "LeftChildren", "RightChildren"))
        threshold = _numbers(one, "OriginalThresholds")
        if len(value) != leaves:
            raise ValueError(f"a tree of {leaves} leaves has {len(value)} values")
        if any(len(each) and np.abs(each).max() >= 1 << 20 for each in (feature, left, right)):
            raise ValueError("a tree has a number of a node or a feature that is none")
        made = tree(feature, threshold, left, right, threshold >= 0, value)
        trees.append(replace(made, value=made.value * weight))
    if not trees:
        raise ValueError("it has no trees")
    count = max(int(one.feature.max(initial=0)) for one in trees) + 1
    return Trees(numbered(count), (tuple(trees),), scoring=SCORING)


def _numbers(one: Element, name: str) -> NDArray[np.float64]:
    found = one.find(name)
    return np.array([real(word) for word in ((found.text if found is not None else "") or "").split()], np.float64)
