"""QuickRank's XML: float32 features and thresholds, `x <= t` goes left, doubles from the leaves on."""

from __future__ import annotations

from dataclasses import replace

from pippin.forms.form import Scoring, Trees
from pippin.forms.growing import real
from pippin.forms.importers import numbered
from pippin.forms.importers.xml import parse, splits

SCORING = Scoring("float32", "float32", "float64", "float64", missing="zero")


def recognises(content: bytes) -> bool:
    """Whether the root is a ranker."""
    head = content[:400].lstrip()
    return head.startswith((b"<ranker", b"<?xml")) and b"<ranker" in head


def read(content: bytes) -> Trees:
    """The form of a model; a tree's weight is in its values, as the product is the same bits either way."""
    root = parse(content)
    trees = []
    for one in root.iter("tree"):
        split = one.find("split")
        if split is None:
            raise ValueError("a tree is empty")
        grown = splits(split, "float64")
        trees.append(replace(grown, value=grown.value * real(one.get("weight", "1"))))
    if not trees:
        raise ValueError("it has no trees")
    count = max(int(one.feature.max(initial=0)) for one in trees) + 1
    return Trees(numbered(count), (tuple(trees),), scoring=SCORING)
