"""Export to Vespa: trees as JSON for `lightgbm("…")` or `xgboost("…")`, other models as expressions of a rank profile.

Vespa turns every node into `x < t`, though LightGBM means `x <= t`, and scores forests in float32. Thresholds are
therefore one float32 higher than in LightGBM's own files.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from pippin.errors import DataError, PippinWarning
from pippin.models.exporters.base import KINDS, Exporter, ExportRequest, Files, Option, register, to_json
from pippin.models.exporters.elasticsearch import plugin_tree
from pippin.models.importers import read_model
from pippin.models.model import (
    FLOAT64,
    Layer,
    LinearModel,
    Model,
    NeuralNetwork,
    ScoringRules,
    Tree,
    TreeEnsemble,
    map_features,
)
from pippin.models.tree_builder import nest_tree

_FOREST = ScoringRules("float32", "float32", "float64", "float64", operator="<")
_NAME = re.compile(r"[A-Za-z_][\w.]*(\(.*\))?(\.[A-Za-z_]\w*)*")  # a rank feature or function
_UNITS = {"identity": "{0}", "tanh": "tanh({0})", "relu": "relu({0})", "sigmoid": "sigmoid({0})",
          "elu": "elu({0})", "leakyrelu": "leakyrelu({0}, 0.01)"}  # fmt: skip
PROFILE = ".profile"


def rules(options: Mapping[str, str], model: Model) -> ScoringRules:
    """Return the rules: forests are float32, and missing values follow the node; expressions are float64."""
    return _FOREST if isinstance(model, TreeEnsemble) else FLOAT64


def write(request: ExportRequest) -> Files:
    """Return the JSON of trees with the profile beside it; for other models the profile is the file."""
    model, names = request.model, _vespa_names(request)
    if not isinstance(model, TreeEnsemble):
        functions, expression = _expressions(model, names)
        return {"": _profile(request, names, functions, expression)}
    if request.options["format"] == "xgboost":
        body: Any = [plugin_tree(tree, names) for tree in model.flat()]
    else:
        body = _lightgbm_body(model, names)
    call = f'{request.options["format"]}("{request.file_name}")'
    return {"": to_json(body), PROFILE: _profile(request, names, {}, call)}


def _lightgbm_body(model: TreeEnsemble, names: tuple[str, ...]) -> dict[str, Any]:
    return {
        "name": "tree", "version": "v4", "num_class": 1, "num_tree_per_iteration": 1, "label_index": 0,
        "max_feature_idx": len(names) - 1, "objective": "lambdarank", "average_output": False,
        "feature_names": list(names), "feature_infos": {}, "pandas_categorical": [],
        "tree_info": [{"tree_index": i, "num_leaves": len(tree.value), "num_cat": 0, "shrinkage": 1,
                       "tree_structure": _structure(tree)} for i, tree in enumerate(model.flat())],
    }  # fmt: skip


def read_back(base: Path, request: ExportRequest) -> Model:
    """Read the file as Vespa does: every node is `x < t`, whatever the file says."""
    model: Model = request.model
    if isinstance(model, NeuralNetwork):
        return model.fold_standardisation()
    if not isinstance(model, TreeEnsemble):
        return model
    names = dict(zip(_vespa_names(request), model.names, strict=True))
    if request.options["format"] == "lightgbm":
        trees = replace(read_model(base.read_bytes(), base, "lightgbm_json")[1], scoring=model.scoring)
    else:
        rules = replace(model.scoring, operator="<=")  # the importer has moved the thresholds
        with warnings.catch_warnings():  # the file is a dump of a model without a base score
            warnings.simplefilter("ignore", PippinWarning)
            trees = replace(read_model(base.read_bytes(), base, "elasticsearch")[1], scoring=rules)
    return map_features(trees.rename_features([names[name] for name in trees.names]), model.names)


def _vespa_names(request: ExportRequest) -> tuple[str, ...]:
    """Return the features as rank features or functions of Vespa."""
    names = tuple(
        name if _NAME.fullmatch(name) else "feature_" + re.sub(r"\W", "_", name) for name in request.model.names
    )
    if len(set(names)) != len(names):
        raise DataError("two features have the same name in Vespa; rename them with --mapping")
    return names


def _structure(tree: Tree) -> Any:
    def node(number: int, left: Any, right: Any) -> dict[str, Any]:
        return {"split_index": number, "split_feature": int(tree.feature[number]),
                "threshold": float(tree.threshold[number]), "decision_type": "<=", "missing_type": "NaN",
                "default_left": bool(tree.missing_left[number]), "left_child": left, "right_child": right}  # fmt: skip

    return nest_tree(tree, node, lambda leaf: {"leaf_index": leaf, "leaf_value": float(tree.value[leaf])})


def _expressions(model: LinearModel | NeuralNetwork, names: tuple[str, ...]) -> tuple[dict[str, str], str]:
    """Return functions by name, and the expression of the score."""
    if isinstance(model, LinearModel):
        terms = [f"{_number(model.weights[i])} * {names[i]}" for i in model.used_features()]
        return {}, " + ".join(terms + ([_number(model.bias)] if model.bias else [])) or "0"
    functions: dict[str, str] = {}
    inputs = list(names)
    for number, layer in enumerate(model.fold_standardisation().layers):
        units = {f"layer_{number}_{unit}": _unit(layer, unit, inputs) for unit in range(layer.matrix.shape[1])}
        functions |= units
        inputs = list(units)
    return functions, inputs[0]


def _unit(layer: Layer, unit: int, inputs: list[str]) -> str:
    terms = [
        f"{_number(weight)} * {name}" for weight, name in zip(layer.matrix[:, unit], inputs, strict=True) if weight
    ]
    return _UNITS[layer.activation].format(" + ".join([_number(layer.bias[unit]), *terms]))


def _number(value: float) -> str:
    return repr(float(value)) if value >= 0 else f"({float(value)!r})"


def _profile(request: ExportRequest, names: tuple[str, ...], functions: Mapping[str, str], score: str) -> bytes:
    """Return a rank profile; a feature with an expression in the mapping becomes a function."""
    lines = [f"rank-profile {re.sub(r'[^A-Za-z0-9_]', '_', request.name)} {{"]
    entries = {request.mapping.name(feature): entry for feature, entry in request.mapping.entries.items()}
    for name, feature in zip(names, request.model.names, strict=True):
        expression = entries.get(feature, {}).get("expression")
        if expression is not None and expression != name:
            lines += _function(name, str(expression))
        elif expression is None and "(" not in name:
            lines.append(f"    # declare: function {name}() {{ expression: … }}, the feature {feature}")
    for name, text in functions.items():
        lines += _function(name, text)
    lines += ["    first-phase {", "        expression: nativeRank", "    }", "    second-phase {",
              f"        expression: {score}", "        rerank-count: 100", "    }", "}", ""]  # fmt: skip
    return "\n".join(lines).encode("utf-8", "surrogatepass")


def _function(name: str, expression: str) -> list[str]:
    return [f"    function {name}() {{", f"        expression: {' '.join(expression.split())}", "    }"]


register(Exporter(
    "vespa", "Vespa's rank profiles", "vespa-engine/vespa, LightGBMParser.java, fast_forest.cpp", KINDS, write, rules,
    options={"format": Option("lightgbm", "format of trees", ("lightgbm", "xgboost"))}, confirmed_with="Vespa 8.700.24",
    computes_features=True, read_back=read_back,
))  # fmt: skip
