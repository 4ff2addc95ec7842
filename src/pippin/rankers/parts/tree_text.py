"""Is this text an ensemble of trees as LightGBM writes it? LightGBM's own reader trusts what it reads.

Every line is looked at: the header, that each tree is one (every node and every leaf is reached once from the root, and
nothing is reached twice), that its features are there, that all numbers are finite, and that sizes are what the text
has. All trees are looked at together, so that a model of ten thousand of them is checked while it is split into lines.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

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


def check_trees(text: str, features: int) -> None:
    """Raise ValueError unless the text is an ensemble of trees over this many features."""
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
    if trees:
        _check_shapes({key: [tree[key] for tree in trees] for key in _KEYS}, features)


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


def _numbers(texts: Sequence[str], key: str, counts: I64) -> NDArray[np.float64]:
    """The numbers of one key in all trees, as many in each as it must have."""
    have = [text.count(" ") + 1 if text else 0 for text in texts]
    if not np.array_equal(have, counts):
        raise ValueError(f"a tree has not as many numbers in {key} as nodes or leaves")
    whole = " ".join(text for text in texts if text)
    if key == "threshold":  # LightGBM tells NULL from all values by a threshold above them all
        whole = re.sub(r"\binf\b", "1e300", whole)
    if re.fullmatch(r"(?:[-0-9]{1,11}(?: |$))*" if key in _WHOLE else r"(?:[-+.e0-9]{1,30}(?: |$))*", whole) is None:
        raise ValueError(f"a tree has something else than numbers in {key}")
    values = np.array(whole.split(" ") if whole else [], dtype=np.str_).astype(np.float64)
    if len(values) != counts.sum() or not np.isfinite(values).all():
        raise ValueError(f"a tree has a number in {key} that is not finite")
    return values


def _check_shapes(texts: dict[str, list[str]], features: int) -> None:
    """Raise unless all trees are trees, with features and numbers that there are."""
    ones = np.ones(len(texts["num_leaves"]), np.int64)
    single = {key: _numbers(texts[key], key, ones) for key in _OF_TREE}
    if single["num_cat"].any() or single["is_linear"].any():
        raise ValueError("a tree is of a kind that is never written")
    longest = max(map(len, texts["leaf_value"]))
    if not ((single["num_leaves"] >= 1) & (single["num_leaves"] <= longest)).all():
        raise ValueError("a tree has not as many leaves as it says")
    leaves = single["num_leaves"].astype(np.int64)
    of_nodes = {key: _numbers(texts[key], key, leaves - 1) for key in _OF_NODES}
    of_leaves = {key: _numbers(texts[key], key, leaves) for key in _OF_LEAVES}
    split, kinds = of_nodes["split_feature"], of_nodes["decision_type"]
    if not ((split >= 0) & (split < features)).all():
        raise ValueError("a tree splits by a feature that is not there")
    if not np.isin(kinds, (0, 2, 4, 6, 8, 10)).all():
        raise ValueError("a tree decides in a way that is never written")
    if (of_nodes["internal_count"] < 0).any() or (of_leaves["leaf_count"] < 0).any():
        raise ValueError("a tree counts fewer documents than none")
    _check_children(of_nodes["left_child"], of_nodes["right_child"], leaves)


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
    if not np.array_equal(reached, wanted):
        raise ValueError("a tree has a node or a leaf that is reached twice, or never")
