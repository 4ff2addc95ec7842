"""Export as LightGBM model text, which many engines read, or as a treelite checkpoint."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from pippin.errors import DataError, MissingDependency
from pippin.models.exporters.base import F64, Engine, EngineUnavailable, Exporter, ExportRequest, Files, register
from pippin.models.model import Tree, make_leaf

_DEFAULT_LEFT, _NAN = 2, 8  # bits of decision_type


def write(request: ExportRequest) -> Files:
    """Return the model text: the trees of all bags, with the divisor in their values."""
    return {"": model_text(request.model.names, request.model.flat(), request.notes).encode()}


def model_text(names: Iterable[str], trees: list[Tree], notes: list[str]) -> str:
    """Return a LightGBM model text."""
    names = list(names)
    safe = ["".join("_" if c in ' ,:"[]{}' or ord(c) < 32 else c for c in name) for name in names]
    if len(set(safe)) != len(safe):
        raise DataError("two feature names are equal after characters that LightGBM cannot hold are replaced by _")
    if safe != names:
        notes.append("blanks, quotes, colons, commas and brackets in feature names are written as _")
    blocks = [_tree_block(i, tree) for i, tree in enumerate(trees or [make_leaf(0.0)])]
    header = [
        "tree", "version=v4", "num_class=1", "num_tree_per_iteration=1", "label_index=0",
        f"max_feature_idx={len(safe) - 1}", "objective=lambdarank", f"feature_names={' '.join(safe)}",
        f"feature_infos={' '.join(['[-1:1]'] * len(safe))}",
        f"tree_sizes={' '.join(str(len(block)) for block in blocks)}",
    ]  # fmt: skip
    tail = "end of trees\n\nfeature_importances:\n\nparameters:\nend of parameters\n\npandas_categorical:null\n"
    return "\n".join(header) + "\n\n" + "".join(blocks) + tail


def _tree_block(number: int, tree: Tree) -> str:
    """Return one tree; counts and gains, which scoring ignores, are 0."""
    nodes, leaves = len(tree), len(tree.value)
    decision_types = np.where(tree.missing_left, _NAN | _DEFAULT_LEFT, _NAN)
    lines: dict[str, Any] = {
        "num_leaves": [leaves], "num_cat": [0], "split_feature": tree.feature.tolist(), "split_gain": [0] * nodes,
        "threshold": tree.threshold.tolist(), "decision_type": decision_types.tolist(),
        "left_child": tree.left.tolist(), "right_child": tree.right.tolist(), "leaf_value": tree.value.tolist(),
        "leaf_weight": [0] * leaves, "leaf_count": [0] * leaves, "internal_value": [0] * nodes,
        "internal_weight": [0] * nodes, "internal_count": [0] * nodes, "is_linear": [0], "shrinkage": [1],
    }  # fmt: skip
    text = "".join(f"{key}={' '.join(map(repr, values))}\n" for key, values in lines.items())
    return f"Tree={number}\n{text}\n\n"


def score(base: Path, table: F64, request: ExportRequest) -> tuple[str, F64]:
    """Score with LightGBM."""
    import lightgbm

    booster = lightgbm.Booster(model_str=base.read_text(encoding="utf-8"))
    scores = booster.predict(table, raw_score=True, num_threads=1)
    return f"LightGBM {lightgbm.__version__}", np.asarray(scores, np.float64)


def write_treelite(request: ExportRequest) -> Files:
    """Return the checkpoint, converted from LightGBM's text; treelite keeps float64 and `<=`."""
    try:
        import treelite
    except ImportError:
        raise MissingDependency("treelite", "an export for treelite", "treelite") from None
    with tempfile.TemporaryDirectory() as folder:
        source, target = Path(folder) / "model.txt", Path(folder) / "model.tl"
        source.write_bytes(write(request)[""])
        treelite.frontend.load_lightgbm_model(str(source)).serialize(str(target))
        return {"": target.read_bytes()}


def score_treelite(base: Path, table: F64, request: ExportRequest) -> tuple[str, F64]:
    """Score with GTIL, treelite's reference implementation."""
    try:
        import treelite
    except ImportError:
        raise EngineUnavailable("treelite is not installed") from None
    model: Any = treelite.Model.deserialize(str(base))
    scores = treelite.gtil.predict(model, np.ascontiguousarray(table), nthread=1)
    return f"treelite {treelite.__version__}", np.asarray(scores, np.float64)


register(Exporter(
    "lightgbm", "LightGBM model text", "LightGBM 4.6, src/io/tree.cpp", ("trees",), write,
    engine=Engine("LightGBM", score),
))  # fmt: skip
register(Exporter(
    "treelite", "treelite checkpoint", "treelite 4, src/frontend/lightgbm.cc and src/gtil", ("trees",),
    write_treelite, engine=Engine("treelite", score_treelite),
))  # fmt: skip
