"""Trees as nested objects, which most engines' JSON holds; built from the leaves up, without recursion."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from pippin.errors import ConventionError
from pippin.forms.form import Tree

DEEPEST = 400  # nodes on a way that readers of JSON can be trusted with


def nested(one: Tree, of_node: Callable[[int, Any, Any], Any], of_leaf: Callable[[int], Any]) -> Any:
    """What `of_node(node, left, right)` and `of_leaf(leaf)` make of a tree."""
    if one.depth() > DEEPEST:
        raise ConventionError(f"a tree is {one.depth()} nodes deep, and JSON is nested {DEEPEST} deep at most")
    made: dict[int, Any] = {}

    def child(at: int) -> Any:
        return made.pop(at) if at >= 0 else of_leaf(-1 - at)

    for node in reversed(range(len(one))):
        made[node] = of_node(node, child(int(one.left[node])), child(int(one.right[node])))
    return made[0] if len(one) else of_leaf(0)


def depths(one: Tree) -> list[int]:
    """How far below the root each node is."""
    found = [0] * len(one)
    for node in range(len(one)):
        for at in (int(one.left[node]), int(one.right[node])):
            if at >= 0:
                found[at] = found[node] + 1
    return found


def single(value: float) -> float:
    """The double of a float32: written in full, so that no reader rounds twice."""
    return float(np.float32(value))
