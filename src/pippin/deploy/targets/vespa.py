"""Vespa: trees as the JSON that `lightgbm("…")` reads, and a rank profile; sums and networks as expressions in it.

Vespa turns every node into `x < t`, though LightGBM means `x <= t`, and scores forests in float32. So thresholds stand
one float32 higher than in LightGBM's own files.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from pippin.deploy.nested import nested
from pippin.deploy.target import KINDS, Files, Option, Request, Target, register
from pippin.deploy.targets.elasticsearch_ltr import _json, tree
from pippin.errors import DataError
from pippin.forms.form import DOUBLE, Form, Layer, Linear, Network, Scoring, Tree, Trees
from pippin.forms.importers import read_form
from pippin.rankers.imported import placed

_FOREST = Scoring("float32", "float32", "float64", "float64", operator="<")
_NAME = re.compile(r"[A-Za-z_][\w.]*(\(.*\))?(\.[A-Za-z_]\w*)*")
_UNITS = {"identity": "{0}", "tanh": "tanh({0})", "relu": "relu({0})", "sigmoid": "sigmoid({0})",
          "elu": "elu({0})", "leakyrelu": "leakyrelu({0}, 0.01)"}  # fmt: skip
PROFILE = ".profile"


def scoring(options: Mapping[str, str], form: Form) -> Scoring:
    """Forests are float32 and NaN goes where the node says; expressions are doubles."""
    return _FOREST if isinstance(form, Trees) else DOUBLE


def names_of(request: Request) -> tuple[str, ...]:
    """The features as rank features or functions of Vespa."""
    found = tuple(
        name if _NAME.fullmatch(name) else "feature_" + re.sub(r"\W", "_", name) for name in request.form.names
    )
    if len(set(found)) != len(found):
        raise DataError("two features have one name in Vespa; map them with --features")
    return found


def write(request: Request) -> Files:
    """Trees: the JSON, with the profile beside it. Otherwise the profile is the file."""
    form, names = request.form, names_of(request)
    if not isinstance(form, Trees):
        functions, last = _expressions(form, names)
        return {"": _profile(request, names, functions, last).encode("utf-8", "surrogatepass")}
    if request.options["format"] == "xgboost":
        body: Any = [tree(one, names) for one in form.flat()]
    else:
        body = {
            "name": "tree", "version": "v4", "num_class": 1, "num_tree_per_iteration": 1, "label_index": 0,
            "max_feature_idx": len(names) - 1, "objective": "lambdarank", "average_output": False,
            "feature_names": list(names), "feature_infos": {}, "pandas_categorical": [],
            "tree_info": [{"tree_index": i, "num_leaves": len(one.value), "num_cat": 0, "shrinkage": 1,
                           "tree_structure": _structure(one)} for i, one in enumerate(form.flat())],
        }  # fmt: skip
    call = f'{request.options["format"]}("{request.name}.json")'
    return {"": _json(body), PROFILE: _profile(request, names, {}, call).encode("utf-8", "surrogatepass")}


def reread(base: Path, request: Request) -> Form:
    """What Vespa makes of the file: every node is `x < t`, whatever the file calls it."""
    written: Form = request.form
    if isinstance(written, Network):  # the profile has the standardisation in the first layer
        return replace(written, layers=written.folded(), mean=written.mean * 0, factor=written.factor * 0 + 1)
    if not isinstance(written, Trees):
        return written
    names = dict(zip(names_of(request), request.form.names, strict=True))
    if request.options["format"] == "lightgbm":
        form = read_form(base.read_bytes(), base, "lightgbm_json")[1]
        form = replace(form, scoring=request.form.scoring)
    else:
        form = read_form(base.read_bytes(), base, "elasticsearch")[1]
        form = replace(form, scoring=replace(request.form.scoring, operator="<="))
    return placed(form.renamed([names[name] for name in form.names]), request.form.names)


def _structure(one: Tree) -> Any:
    def of_node(node: int, left: Any, right: Any) -> dict[str, Any]:
        return {"split_index": node, "split_feature": int(one.feature[node]), "threshold": float(one.threshold[node]),
                "decision_type": "<=", "default_left": bool(one.missing_left[node]), "missing_type": "NaN",
                "left_child": left, "right_child": right}  # fmt: skip

    return nested(one, of_node, lambda at: {"leaf_index": at, "leaf_value": float(one.value[at])})


def _expressions(form: Linear | Network, names: tuple[str, ...]) -> tuple[dict[str, str], str]:
    """Functions by name, and the expression of the score."""
    if isinstance(form, Linear):
        terms = [f"{_number(form.weights[i])} * {names[i]}" for i in form.used()]
        return {}, " + ".join(terms + ([_number(form.bias)] if form.bias else [])) or "0"
    functions: dict[str, str] = {}
    inputs = list(names)
    for number, layer in enumerate(form.folded()):
        made = {f"layer_{number}_{unit}": _unit(layer, unit, inputs) for unit in range(layer.matrix.shape[1])}
        functions |= made
        inputs = list(made)
    return functions, inputs[0]


def _unit(layer: Layer, unit: int, inputs: list[str]) -> str:
    terms = [
        f"{_number(weight)} * {name}" for weight, name in zip(layer.matrix[:, unit], inputs, strict=True) if weight
    ]
    return _UNITS[layer.activation].format(" + ".join([_number(layer.bias[unit]), *terms]))


def _number(value: float) -> str:
    return repr(float(value)) if value >= 0 else f"({float(value)!r})"


def _profile(request: Request, names: tuple[str, ...], functions: Mapping[str, str], last: str) -> str:
    """A rank profile; a feature that the mapping gives an expression becomes a function."""
    lines = [f"rank-profile {re.sub(r'[^A-Za-z0-9_]', '_', request.name)} {{"]
    known = {request.mapping.name(feature): entry for feature, entry in request.mapping.entries.items()}
    for name, own in zip(names, request.form.names, strict=True):
        expression = known.get(own, {}).get("expression")
        if expression is not None and expression != name:
            lines += _function(name, str(expression))
        elif expression is None and "(" not in name:
            lines.append(f"    # declare: function {name}() {{ expression: … }}, the feature {own}")
    for name, text in functions.items():
        lines += _function(name, text)
    lines += ["    first-phase {", "        expression: nativeRank", "    }", "    second-phase {",
              f"        expression: {last}", "        rerank-count: 100", "    }", "}", ""]  # fmt: skip
    return "\n".join(lines)


def _function(name: str, expression: str) -> list[str]:
    return [f"    function {name}() {{", f"        expression: {' '.join(expression.split())}", "    }"]


register(Target(
    "vespa", "Vespa's rank profiles", "vespa-engine/vespa, LightGBMParser.java, XGBoostParser.java, fast_forest.cpp",
    KINDS, write, by_option=scoring, options={"format": Option(("lightgbm", "xgboost"), "of trees")},
    reread=reread,
))  # fmt: skip
