"""LightGBM's model text, which LightGBM, treelite, lleaves, Vespa's and Elastic's converters and others read."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from pippin.deploy.target import F64, Engine, Files, Request, Target, register
from pippin.errors import DataError
from pippin.extras import need
from pippin.forms.form import Tree

_DEFAULT_LEFT, _NAN = 2, 8


def write(request: Request) -> Files:
    """The text; the trees of all bags one after the other, with what they are divided by in their values."""
    return {"": text(request.form.names, request.form.flat(), request.notes).encode()}


def text(names: Iterable[str], trees: list[Tree], notes: list[str]) -> str:
    """A model text."""
    safe = [plain(name) for name in names]
    if len(set(safe)) != len(safe):
        raise DataError("two features have one name once blanks and brackets are gone, which LightGBM cannot hold")
    if safe != list(names):
        notes.append("blanks, quotes, colons, commas and brackets in names of features are written as _")
    blocks = [_block(i, one) for i, one in enumerate(trees or [_nothing()])]
    head = [
        "tree", "version=v4", "num_class=1", "num_tree_per_iteration=1", "label_index=0",
        f"max_feature_idx={len(safe) - 1}", "objective=lambdarank", f"feature_names={' '.join(safe)}",
        f"feature_infos={' '.join(['[-1:1]'] * len(safe))}", f"tree_sizes={' '.join(str(len(b)) for b in blocks)}",
    ]  # fmt: skip
    tail = "end of trees\n\nfeature_importances:\n\nparameters:\nend of parameters\n\npandas_categorical:null\n"
    return "\n".join(head) + "\n\n" + "".join(blocks) + tail


def plain(name: str) -> str:
    """A name that LightGBM takes."""
    return "".join("_" if character in ' ,:"[]{}\t\n' or ord(character) < 32 else character for character in name)


def _nothing() -> Tree:
    from pippin.forms.form import leaf

    return leaf(0.0)


def _block(number: int, one: Tree) -> str:
    """One tree. Counts and gains, which scoring does not look at, are 0."""
    nodes, leaves = len(one), len(one.value)
    kinds = np.where(one.missing_left, _NAN | _DEFAULT_LEFT, _NAN)
    lines = {
        "num_leaves": leaves, "num_cat": 0, "split_feature": one.feature, "split_gain": [0] * nodes,
        "threshold": one.threshold, "decision_type": kinds, "left_child": one.left, "right_child": one.right,
        "leaf_value": one.value, "leaf_weight": [0] * leaves, "leaf_count": [0] * leaves,
        "internal_value": [0] * nodes, "internal_weight": [0] * nodes, "internal_count": [0] * nodes,
        "is_linear": 0, "shrinkage": 1,
    }  # fmt: skip
    return f"Tree={number}\n" + "".join(f"{key}={_words(value)}\n" for key, value in lines.items()) + "\n\n"


def _words(value: Any) -> str:
    if isinstance(value, int):
        return str(value)
    return " ".join(repr(one) for one in (value.tolist() if isinstance(value, np.ndarray) else value))


def run(base: Path, table: F64, request: Request) -> tuple[str, F64]:
    """LightGBM's own prediction."""
    need("LightGBM's own prediction", "lightgbm", "scipy")
    import lightgbm

    booster = lightgbm.Booster(model_str=base.read_text(encoding="utf-8"))
    found = booster.predict(table, raw_score=True, num_threads=1)
    return f"LightGBM {lightgbm.__version__}", np.asarray(found, np.float64)


register(Target(
    "lightgbm", "LightGBM's model text", "LightGBM 4.6, src/io/tree.cpp", ("trees",), write,
    engine=Engine("LightGBM", run),
))  # fmt: skip
