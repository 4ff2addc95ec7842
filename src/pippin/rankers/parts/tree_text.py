"""Trees out of the text that LightGBM writes, or one sentence that says why this is no such text.

Every line is looked at: the header, that each tree is one (every node and every leaf is reached once from the root, and
nothing is reached twice), that its features are there, that all numbers are finite, and that sizes are what the text
has. All trees are looked at together, so that a model of ten thousand of them is checked while it is split into lines.
What comes out scores every table of these features as LightGBM itself does, to the last bit.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pippin.kernels.forest import Missing, Trees, read_numbers

F32 = NDArray[np.float32]
F64 = NDArray[np.float64]
I64 = NDArray[np.int64]

_OF_TREE = ("num_leaves", "num_cat", "is_linear", "shrinkage")  # one number each
_OF_NODES = (
    "split_feature", "split_gain", "threshold", "decision_type", "left_child", "right_child", "internal_value",
    "internal_weight", "internal_count",
)  # fmt: skip
_OF_LEAVES = ("leaf_value", "leaf_weight", "leaf_count")
_KEYS = (*_OF_TREE, *_OF_NODES, *_OF_LEAVES)
_WHOLE = {
    "num_leaves", "num_cat", "is_linear", "split_feature", "decision_type", "left_child", "right_child",
    "internal_count", "leaf_count",
}  # fmt: skip
_HEADER = (
    r"tree\nversion=v\d+\nnum_class=1\nnum_tree_per_iteration=1\nlabel_index=0\nmax_feature_idx=(\d{1,9})\n"
    r"feature_names=([^\n]*)\nfeature_infos=((?:none|\[[-+.e0-9]+:[-+.e0-9]+\]| )*)\ntree_sizes=([ \d]*)\n\n"
)
_TAIL = r"end of trees\n\nfeature_importances:\n(?:Column_\d+=\d+\n)*\npandas_categorical:null\n\n?"
# The decision types that are written: 2 says that what is missing goes left, 4 that zeros are missing, 8 that NaN is.
_MISSING = {
    0: Missing.AS_ZERO, 2: Missing.AS_ZERO, 4: Missing.ZERO_RIGHT, 6: Missing.ZERO_LEFT, 8: Missing.NAN_RIGHT,
    10: Missing.NAN_LEFT,
}  # fmt: skip


class Ensemble(NamedTuple):
    """The trees of one text, and what each of their splits gained in training."""

    trees: Trees
    gains: F32


def read_trees(text: str, features: int) -> Ensemble:
    """The trees of a text; ValueError unless it is an ensemble of trees over this many features."""
    head = re.match(_HEADER, text)
    if head is None or int(head[1]) != features - 1 or head[2].split(" ") != [f"Column_{i}" for i in range(features)]:
        raise ValueError("the trees do not begin as trees over these features do")
    if len(head[3].split()) != features:
        raise ValueError("the trees do not tell the range of every feature")
    _check_infos(head[3])
    end = text.rfind("end of trees\n")
    if end < head.end() or re.fullmatch(_TAIL, text[end:]) is None:
        raise ValueError("the trees do not end as trees do")
    blocks = text[head.end() : end]
    sizes = [int(size) for size in head[4].split()]
    if sum(sizes) != len(blocks.encode()):
        raise ValueError("the sizes of the trees are not those of their texts")
    at, trees = 0, []
    for number, size in enumerate(sizes):
        block = blocks[at : at + size]
        if not block.startswith(f"Tree={number}\n") or not block.endswith("\n\n\n"):
            raise ValueError(f"tree {number} does not stand where it should")
        trees.append(_lines(block[:-3], number))
        at += size
    return _ensemble({key: [tree[key] for tree in trees] for key in _KEYS}, features)


def _check_infos(infos: str) -> None:
    for info in infos.split():
        if info != "none":
            low, high = (float(end) for end in info[1:-1].split(":"))
            if not (np.isfinite(low) and np.isfinite(high)):
                raise ValueError("the range of a feature is not finite")


def _lines(block: str, number: int) -> dict[str, str]:
    """The values of a tree by key; every key once, and no other."""
    values: dict[str, str] = {}
    for line in block.split("\n")[1:]:
        key, equals, value = line.partition("=")
        if not equals or key in values:
            raise ValueError(f"tree {number} has a line that is not a tree's")
        values[key] = value
    if values.keys() != set(_KEYS):
        raise ValueError(f"tree {number} has not the lines of a tree")
    return values


def _numbers(texts: Sequence[str], key: str, counts: I64) -> F64:
    """The numbers of one key in all trees, as many in each as it must have."""
    have = [text.count(" ") + 1 if text else 0 for text in texts]
    if not np.array_equal(have, counts):
        raise ValueError(f"a tree has not as many numbers in {key} as nodes or leaves")
    # LightGBM tells NULL from all values by a threshold above them all.
    words, infinite = " ".join(text for text in texts if text), key == "threshold"
    try:
        return read_numbers(words, int(counts.sum()), whole=key in _WHOLE, infinite=infinite)
    except ValueError as error:
        raise ValueError(f"{error} in {key} of a tree") from None


def _ensemble(texts: dict[str, list[str]], features: int) -> Ensemble:
    """The trees of all texts; ValueError unless they are trees, with features and numbers that there are."""
    ones = np.ones(len(texts["num_leaves"]), np.int64)
    single = {key: _numbers(texts[key], key, ones) for key in _OF_TREE}
    if single["num_cat"].any() or single["is_linear"].any():
        raise ValueError("a tree is of a kind that is never written")
    longest = max(map(len, texts["leaf_value"]), default=0)
    if not ((single["num_leaves"] >= 1) & (single["num_leaves"] <= longest)).all():
        raise ValueError("a tree has not as many leaves as it says")
    leaves = single["num_leaves"].astype(np.int64)
    nodes = {key: _numbers(texts[key], key, leaves - 1) for key in _OF_NODES}
    of_leaves = {key: _numbers(texts[key], key, leaves) for key in _OF_LEAVES}
    split, kinds = nodes["split_feature"], nodes["decision_type"]
    if not ((split >= 0) & (split < features)).all():
        raise ValueError("a tree splits by a feature that is not there")
    if not np.isin(kinds, list(_MISSING)).all():
        raise ValueError("a tree decides in a way that is never written")
    if (nodes["internal_count"] < 0).any() or (of_leaves["leaf_count"] < 0).any():
        raise ValueError("a tree counts fewer documents than none")
    _check_children(nodes["left_child"], nodes["right_child"], leaves)
    ways = np.array([_MISSING.get(kind, 0) for kind in range(max(_MISSING) + 1)], np.uint8)
    trees = Trees(
        leaves, split.astype(np.int32), nodes["threshold"], ways[kinds.astype(np.int64)],
        nodes["left_child"].astype(np.int32), nodes["right_child"].astype(np.int32), of_leaves["leaf_value"],
    )  # fmt: skip
    return Ensemble(trees, nodes["split_gain"].astype(np.float32))


def _check_children(left: NDArray[np.float64], right: NDArray[np.float64], leaves: I64) -> None:
    """Raise unless every node but the root, and every leaf, is the child of one node that comes before it.

    A child c from 0 on is a node of the same tree; below 0 it is the leaf −1 − c. Children come after their parents, as
    LightGBM numbers them, so that what each has one parent is a tree.
    """
    nodes = leaves - 1
    first_node, first_leaf = np.cumsum(nodes) - nodes, np.cumsum(leaves) - leaves
    tree = np.repeat(np.arange(len(leaves)), nodes)
    number = np.arange(len(tree)) - first_node[tree]
    reached = np.zeros(int(nodes.sum() + leaves.sum()), np.int64)
    for child in (left, right):
        is_node = child >= 0
        fine = np.where(is_node, (child > number) & (child < nodes[tree]), -child <= leaves[tree])
        if not fine.all():
            raise ValueError("a node of a tree has a child that is not there, or that comes before it")
        at = child.astype(np.int64)
        place = np.where(is_node, first_node[tree] + at, nodes.sum() + first_leaf[tree] - 1 - at)
        reached += np.bincount(place, minlength=len(reached))
    wanted = np.ones(len(reached), np.int64)
    wanted[first_node[nodes > 0]] = 0  # roots
    wanted[nodes.sum() + first_leaf[nodes == 0]] = 0  # and the leaves that are a tree by themselves
    if not np.array_equal(reached, wanted):
        raise ValueError("a tree has a node or a leaf that is reached twice, or never")
