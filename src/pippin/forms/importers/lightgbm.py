"""LightGBM's model text: `x <= t` in doubles, sums in doubles from the first tree on."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from pippin.forms.form import ZERO, Tree, Trees, tree

_CATEGORICAL, _DEFAULT_LEFT = 1, 2  # bits of decision_type; the next two say what is missing
_NONE, _ZERO, _NAN = 0, 1, 2
_KEYS = ("split_feature", "threshold", "decision_type", "left_child", "right_child")
# Objectives whose prediction is the sum itself, or rises with it: the order is the sum's. Others are told.
LARGEST = 1 << 20  # leaves of a tree at most


def recognises(content: bytes) -> bool:
    """Whether this is how LightGBM's text begins."""
    return content.startswith((b"tree\n", b"tree\r\n"))


def read(content: bytes) -> Trees:
    """The form of a model text; ValueError where it is none."""
    return read_text(content.decode("utf-8").replace("\r\n", "\n"))


def read_text(text: str, names: tuple[str, ...] | None = None) -> Trees:
    """The form of a model text, with its own names of the features or others; ValueError where it is none."""
    head, found, rest = text.partition("\nTree=")
    header = _lines(head)
    if int(header.get("num_class", "1")) != 1 or int(header.get("num_tree_per_iteration", "1")) != 1:
        raise ValueError("this model has several outputs, and a ranking has one score")
    count = int(header["max_feature_idx"]) + 1
    own = tuple(header["feature_names"].split(" "))
    if len(own) != count:
        raise ValueError(f"{len(own)} names are not those of {count} features")
    body = (found + rest).partition("\nend of trees")[0]
    trees = tuple(_tree(_lines(block)) for block in body.split("\nTree=")[1:])
    if any((one.feature >= count).any() for one in trees):
        raise ValueError("a tree splits by a feature that is not there")
    if names is None:
        plain = own == tuple(f"Column_{i}" for i in range(count))
        names = tuple(str(i + 1) for i in range(count)) if plain else own
    averaged = "average_output" in head.split("\n")
    return Trees(names, (trees,), divisor=float(len(trees)) if averaged and trees else 1.0)


def _lines(block: str) -> dict[str, str]:
    pairs = (line.partition("=") for line in block.split("\n"))
    return {key: value for key, equals, value in pairs if equals}


def _tree(lines: dict[str, str]) -> Tree:
    """One tree; a NULL of a feature that had none in training is compared as 0, which is one direction, too."""
    if int(lines.get("num_cat", "0")):
        raise ValueError("a tree splits by categories, which Pippin's features have not")
    if int(lines.get("is_linear", "0")):
        raise ValueError("a tree has linear functions in its leaves")
    count = int(lines["num_leaves"])
    if not 1 <= count <= LARGEST:
        raise ValueError(f"a tree has {count} leaves")
    value = _numbers(lines["leaf_value"])
    if len(value) != count:
        raise ValueError(f"a tree of {count} leaves has {len(value)} values")
    if count == 1:
        return tree([], [], [], [], [], value)
    feature, threshold, kinds, left, right = (_numbers(lines[key]) for key in _KEYS)
    kind = _whole(kinds)
    if (kind & _CATEGORICAL).any():
        raise ValueError("a tree splits by categories, which Pippin's features have not")
    missing = (kind >> 2) & 3
    default = (kind & _DEFAULT_LEFT) > 0
    as_zero = (missing == _NONE) & (threshold >= 0)
    missing_left = np.where(missing == _NONE, as_zero, default)
    return tree(
        _whole(feature),
        beyond_zero(threshold),
        _whole(left),
        _whole(right),
        missing_left,
        value,
        zero_missing=missing == _ZERO,
    )


def beyond_zero(thresholds: NDArray[np.float64]) -> NDArray[np.float64]:
    """Thresholds for values as they are that decide as LightGBM does, for which all of at most 1e-35 in size are 0.

    >>> beyond_zero(np.array([0.5, 0.0, -1e-36])).tolist()
    [0.5, 1.0000000180025095e-35, -1.0000000180025096e-35]
    """
    ends = np.where(thresholds >= 0, ZERO, np.nextafter(-ZERO, -np.inf))
    return np.where(np.abs(thresholds) <= ZERO, ends, thresholds)


def _numbers(text: str) -> NDArray[np.float64]:
    return np.array([float(word) for word in text.split()], np.float64)


def _whole(values: NDArray[np.float64]) -> NDArray[np.int64]:
    if not (np.abs(values) < 2**31).all() or (values != np.trunc(values)).any():
        raise ValueError("a tree has a number of a node or a feature that is none")
    return values.astype(np.int64)
