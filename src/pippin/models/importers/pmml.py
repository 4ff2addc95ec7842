"""Read PMML: a regression, or trees whose nodes compare one field with a number; float64."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from pippin.models.importers import Importer, require_known
from pippin.models.model import LinearModel, Model, Tree, TreeEnsemble, parse_float
from pippin.models.tree_builder import Element, Split, build_tree, less_to_less_equal, parse_xml

_ELEMENTS = {
    "PMML", "Header", "Application", "Annotation", "Timestamp", "Extension", "DataDictionary", "DataField", "Interval",
    "MiningModel", "MiningSchema", "MiningField", "Output", "OutputField", "Segmentation", "Segment", "True",
    "TreeModel", "Node", "SimplePredicate", "ScoreDistribution", "RegressionModel", "RegressionTable",
    "NumericPredictor",
}  # fmt: skip
_LEFT_OPERATORS = ("lessOrEqual", "lessThan")


def matches(content: bytes) -> bool:
    """Return whether the root element is PMML's."""
    return b"<PMML" in content[:1000]


def read(content: bytes) -> Model:
    """Read a document."""
    root = parse_xml(re.sub(rb'\sxmlns(:\w+)?="[^"]*"', b"", content[:1000]) + content[1000:])
    require_known({element.tag for element in root.iter()}, _ELEMENTS, "the document")
    if any(field.get("missingValueReplacement") for field in root.iter("MiningField")):
        raise ValueError("replacements of missing values are not supported")
    targets = {field.get("name") for field in root.iter("MiningField")
               if field.get("usageType") in ("target", "predicted")}  # fmt: skip
    names = tuple(str(field.get("name")) for field in root.iter("DataField") if str(field.get("name")) not in targets)
    table = root.find(".//RegressionTable")
    if table is not None:
        regressions, tables = list(root.iter("RegressionModel")), list(root.iter("RegressionTable"))
        if len(tables) > 1 or any(part.get("normalizationMethod", "none") != "none" for part in regressions):
            raise ValueError("only one regression without normalisation is supported")
        return _read_regression(table, names)
    if root.find("MiningModel") is not None:
        segmentation = root.find("MiningModel/Segmentation")
        if segmentation is None or segmentation.get("multipleModelMethod") != "sum":
            raise ValueError("only sums of models are supported")
    trees = tuple(_read_tree(model, names) for model in root.iter("TreeModel"))
    if not trees:
        raise ValueError("the document has neither trees nor a regression")
    return TreeEnsemble(names, (trees,))


def _read_regression(table: Element, names: tuple[str, ...]) -> LinearModel:
    weights = np.zeros(len(names))
    for term in table:
        if term.tag != "NumericPredictor" or term.get("exponent", "1") != "1":
            raise ValueError("only linear terms of a regression are supported")
        weights[names.index(str(term.get("name")))] += parse_float(term.get("coefficient"))
    return LinearModel(names, weights, bias=parse_float(table.get("intercept", "0")))


def _read_tree(model: Element, names: tuple[str, ...]) -> Tree:
    if model.get("missingValueStrategy", "none") not in ("defaultChild", "none"):
        raise ValueError(f"the missing value strategy {model.get('missingValueStrategy')} is not supported")
    positions = {name: i for i, name in enumerate(names)}
    root = model.find("Node")
    if root is None:
        raise ValueError("a tree is empty")

    def read_node(node: Element) -> Split | float:
        children = node.findall("Node")
        if not children:
            return parse_float(node.get("score"))
        if len(children) != 2:
            raise ValueError(f"a node has {len(children)} children, not 2")
        left, right = children if _operator(children[0]) in _LEFT_OPERATORS else reversed(children)
        predicate: Any = left.find("SimplePredicate")
        if _operator(left) not in _LEFT_OPERATORS:
            raise ValueError("only the predicates lessThan and lessOrEqual are supported")
        threshold = parse_float(predicate.get("value"))
        if _operator(left) == "lessThan":
            threshold = less_to_less_equal(threshold, "float64")
        missing_left = node.get("defaultChild") == left.get("id")
        return Split(positions[predicate.get("field")], threshold, left, right, missing_left)

    return build_tree(root, read_node)


def _operator(node: Element) -> str:
    predicate = node.find("SimplePredicate")
    return "" if predicate is None else str(predicate.get("operator"))


IMPORTERS = {"pmml": Importer(matches, read)}
