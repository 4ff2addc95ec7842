"""Build trees from the nodes of a file, and write trees as nested objects.

Files are untrusted: a node may be named twice, be absent, or nesting may never end. All of that raises ValueError.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable
from typing import Any
from xml.etree import ElementTree

import numpy as np

from pippin.errors import ConventionError
from pippin.models.model import Tree, make_tree, parse_float, parse_index

MAX_NODES = 1 << 20  # nodes of one tree
MAX_DEPTH = 400  # nesting that readers of JSON accept
Element = ElementTree.Element


class Split:
    """A node: `x <= threshold` of a feature goes left, or values in `intervals`; missing values if `missing_left`."""

    __slots__ = ("feature", "intervals", "left", "missing_left", "right", "threshold")

    def __init__(
        self, feature: int, threshold: float, left: Any, right: Any, missing_left: bool,
        intervals: list[float] | None = None,
    ) -> None:  # fmt: skip
        self.feature, self.threshold, self.missing_left = feature, threshold, missing_left
        self.left, self.right, self.intervals = left, right, intervals


def build_tree(
    root: Any, read_node: Callable[[Any], Split | float], key: Callable[[Any], Hashable] | None = None
) -> Tree:
    """Return the tree below `root`: `read_node` returns a node's split or a leaf's value; `key` identifies nodes.

    >>> tree = build_tree("a", lambda node: Split(0, 0.5, "b", "c", True) if node == "a" else 1.0)
    >>> tree.left.tolist(), tree.right.tolist(), tree.value.tolist()
    ([-1], [-2], [1.0, 1.0])
    """
    splits: list[Split] = []
    children: list[list[int]] = []
    values: list[float] = []
    visited: set[Hashable] = set()
    stack: list[tuple[Any, int, int]] = [(root, -1, 0)]
    while stack:
        node, parent, side = stack.pop()
        if key is not None:
            if key(node) in visited:
                raise ValueError("a node of a tree is reached twice")
            visited.add(key(node))
        content = read_node(node)
        if isinstance(content, Split):
            number = len(splits)
            splits.append(content)
            children.append([0, 0])
            stack += [(content.right, number, 1), (content.left, number, 0)]
        else:
            number = -1 - len(values)
            values.append(content)
        if parent >= 0:
            children[parent][side] = number
        if len(splits) > MAX_NODES:
            raise ValueError(f"a tree has more than {MAX_NODES:,} nodes")
    sides = np.array(children, np.int64).reshape(-1, 2)
    return make_tree(
        [split.feature for split in splits], [split.threshold for split in splits], sides[:, 0], sides[:, 1],
        [split.missing_left for split in splits], values,
        intervals={node: split.intervals for node, split in enumerate(splits) if split.intervals is not None},
    )  # fmt: skip


def less_to_less_equal(threshold: float, precision: str = "float32") -> float:
    """Return t such that `x <= t` equals `x < threshold` for values of a precision.

    >>> less_to_less_equal(1.0, "float64")
    0.9999999999999999
    """
    if precision == "float64":
        return float(np.nextafter(threshold, -np.inf))
    with np.errstate(over="ignore"):
        return float(np.nextafter(np.float32(threshold), np.float32(-np.inf)))


def nest_tree(tree: Tree, make_node: Callable[[int, Any, Any], Any], make_leaf: Callable[[int], Any]) -> Any:
    """Return nested objects made by `make_node(node, left, right)` and `make_leaf(leaf)`, from the leaves up."""
    if tree.depth() > MAX_DEPTH:
        raise ConventionError(f"a tree has depth {tree.depth()}; JSON can be nested {MAX_DEPTH} deep at most")
    nodes: dict[int, Any] = {}

    def child(number: int) -> Any:
        return nodes.pop(number) if number >= 0 else make_leaf(-1 - number)

    for node in reversed(range(len(tree))):
        nodes[node] = make_node(node, child(int(tree.left[node])), child(int(tree.right[node])))
    return nodes[0] if len(tree) else make_leaf(0)


def to_float32(value: float) -> float:
    """Round to float32; written with all digits, so that no reader rounds twice."""
    return float(np.float32(value))


def parse_xml(content: bytes | str) -> Element:
    """Return the root of an XML document without entity declarations; ValueError if it is malformed."""
    text = content if isinstance(content, str) else content.decode("utf-8")
    if re.search(r"<!\s*(DOCTYPE|ENTITY)", text, re.IGNORECASE):
        raise ValueError("the XML declares entities, which models do not need")
    try:
        return ElementTree.fromstring(text)
    except ElementTree.ParseError as error:
        raise ValueError(f"malformed XML: {error}") from None


def read_nested_splits(root: Element, value: str, first: int = 1) -> Tree:
    """Return a tree of nested `split` elements with float32 thresholds and outputs of a precision."""

    def read_node(element: Element) -> Split | float:
        output = element.find("output")
        if output is not None:
            number = parse_float(_element_text(output))
            return to_float32(number) if value == "float32" else number
        children = element.findall("split")
        if len(children) != 2:
            raise ValueError(f"a split has {len(children)} children, not 2")
        left, right = children if children[0].get("pos") != "right" else (children[1], children[0])
        threshold = to_float32(parse_float(_element_text(element.find("threshold"))))
        feature = parse_index(_element_text(element.find("feature")), 1 << 20) - first
        return Split(feature, threshold, left, right, threshold >= 0)

    return build_tree(root, read_node)


def _element_text(element: Element | None) -> str:
    if element is None or element.text is None:
        raise ValueError("a split lacks its feature, threshold or output")
    return element.text.strip()
