"""PMML: a regression, or trees whose nodes ask `lessOrEqual` and `greaterThan` of one field; doubles."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from pippin.forms.form import Form, Linear, Tree, Trees
from pippin.forms.growing import Split, below, grow, real
from pippin.forms.importers.xml import Element, parse

_LEFT = {"lessOrEqual": False, "lessThan": True}  # whether a threshold belongs to the other side


def recognises(content: bytes) -> bool:
    """Whether the root is PMML's."""
    return b"<PMML" in content[:1000]


def read(content: bytes) -> Form:
    """The form of a document; names without their space."""
    root = parse(re.sub(rb'\sxmlns(:\w+)?="[^"]*"', b"", content[:1000]) + content[1000:])
    names = tuple(str(field.get("name")) for field in root.iter("DataField"))
    targets = {field.get("name") for field in root.iter("MiningField")
               if field.get("usageType") in ("target", "predicted")}  # fmt: skip
    names = tuple(name for name in names if name not in targets)
    table = root.find(".//RegressionTable")
    if table is not None:
        return _linear(table, names)
    if root.find("MiningModel") is not None:
        segmentation = root.find("MiningModel/Segmentation")
        if segmentation is None or segmentation.get("multipleModelMethod") != "sum":
            raise ValueError("its models are not added up")
    grown = tuple(_tree(model, names) for model in root.iter("TreeModel"))
    if not grown:
        raise ValueError("it has neither trees nor a regression")
    return Trees(names, (grown,))


def _linear(table: Element, names: tuple[str, ...]) -> Linear:
    weights = np.zeros(len(names))
    for term in table:
        if term.tag != "NumericPredictor" or term.get("exponent", "1") != "1":
            raise ValueError("a term of the regression is no plain product")
        weights[names.index(str(term.get("name")))] += real(term.get("coefficient"))
    return Linear(names, weights, bias=real(table.get("intercept", "0")))


def _tree(model: Element, names: tuple[str, ...]) -> Tree:
    if model.get("missingValueStrategy", "none") not in ("defaultChild", "none"):
        raise ValueError(f"NULL is treated by {model.get('missingValueStrategy')}")
    places = {name: i for i, name in enumerate(names)}
    root = model.find("Node")
    if root is None:
        raise ValueError("a tree is empty")

    def look(at: Element) -> Split | float:
        children = at.findall("Node")
        if not children:
            return real(at.get("score"))
        if len(children) != 2:
            raise ValueError("a node has not two children")
        first, second = children
        if _asked(first) not in _LEFT:
            first, second = second, first
        asked: Any = first.find("SimplePredicate")
        if asked is None or _asked(first) not in _LEFT:
            raise ValueError("a node asks something else than whether a field is small")
        threshold = real(asked.get("value"))
        limit = below(threshold, "float64") if _LEFT[_asked(first)] else threshold
        return Split(places[asked.get("field")], limit, first, second, at.get("defaultChild") == first.get("id"))

    return grow(root, look)


def _asked(node: Element) -> str:
    predicate = node.find("SimplePredicate")
    return "" if predicate is None else str(predicate.get("operator"))
