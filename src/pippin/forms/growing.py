"""A tree from whatever names its nodes: by number, by key, nested in one another. Nodes are numbered from the root on.

A file can name a node twice, or name one that is not there, or never end; all of that is a ValueError.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any

import numpy as np

from pippin.forms.form import Tree, tree

MOST = 1 << 20  # nodes of a tree


class Split:
    """What a node asks: `x <= threshold` of a feature goes left; what follows on either side, and where NULL goes."""

    __slots__ = ("feature", "left", "missing_left", "right", "threshold")

    def __init__(self, feature: int, threshold: float, left: Any, right: Any, missing_left: bool) -> None:
        self.feature, self.threshold, self.missing_left = feature, threshold, missing_left
        self.left, self.right = left, right


def grow(root: Any, look: Callable[[Any], Split | float], key: Callable[[Any], Hashable] | None = None) -> Tree:
    """The tree below `root`: `look` says what a node asks, or a leaf's value; `key` tells nodes apart.

    >>> one = grow("a", lambda at: Split(0, 0.5, "b", "c", True) if at == "a" else 1.0)
    >>> one.left.tolist(), one.right.tolist(), one.value.tolist()
    ([-1], [-2], [1.0, 1.0])
    """
    feature: list[int] = []
    threshold: list[float] = []
    children: list[list[int]] = []
    missing: list[bool] = []
    values: list[float] = []
    seen: set[Hashable] = set()
    todo: list[tuple[Any, int, int]] = [(root, -1, 0)]
    while todo:
        at, parent, side = todo.pop()
        if key is not None:
            if key(at) in seen:
                raise ValueError("a node of a tree is reached twice")
            seen.add(key(at))
        found = look(at)
        if isinstance(found, Split):
            number = len(feature)
            feature.append(found.feature)
            threshold.append(found.threshold)
            missing.append(found.missing_left)
            children.append([0, 0])
            todo += [(found.right, number, 1), (found.left, number, 0)]
        else:
            number = -1 - len(values)
            values.append(found)
        if parent >= 0:
            children[parent][side] = number
        if len(feature) > MOST:
            raise ValueError(f"a tree has more than {MOST:,} nodes")
    sides = np.array(children, np.int64).reshape(-1, 2)
    return tree(feature, threshold, sides[:, 0], sides[:, 1], missing, values)


def below(threshold: float, precision: str = "float32") -> float:
    """The threshold of `<=` that `x < threshold` is, for values of a precision.

    >>> below(1.0, "float64")
    0.9999999999999999
    """
    if precision == "float64":
        return float(np.nextafter(threshold, -np.inf))
    with np.errstate(over="ignore"):
        return float(np.nextafter(np.float32(threshold), np.float32(-np.inf)))


def whole(value: Any, most: int = 1 << 31) -> int:
    """A whole number from 0, also where it is written as text; ValueError where it is none."""
    found = int(value)
    if isinstance(value, bool) or found != float(value) or not 0 <= found < most:
        raise ValueError(f"{value!r} is no number of a node or a feature")
    return found


def real(value: Any) -> float:
    """A finite number, also where it is written as text."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        raise ValueError(f"{value!r} is no number")
    found = float(value)
    if not np.isfinite(found):
        raise ValueError(f"{value!r} is no finite number")
    return found
