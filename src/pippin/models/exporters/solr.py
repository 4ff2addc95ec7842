"""Export to Solr's learning to rank: a model of the matching class, and the feature store beside it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from pippin.models.exporters.base import (
    KINDS,
    Exporter,
    ExportRequest,
    FeatureMapping,
    Files,
    Option,
    read_back_as,
    register,
    to_json,
)
from pippin.models.model import (
    FLOAT32,
    FLOAT32_ZERO,
    LinearModel,
    Model,
    NeuralNetwork,
    ScoringRules,
    Tree,
    TreeEnsemble,
)
from pippin.models.tree_builder import nest_tree, to_float32

_MODEL, _NORM = "org.apache.solr.ltr.model", "org.apache.solr.ltr.norm"
FEATURES = ".features.json"


def rules(options: Mapping[str, str], model: Model) -> ScoringRules:
    """Return the rules: float32 throughout; 1e-6 is added to a threshold when the model is loaded."""
    if not isinstance(model, TreeEnsemble):
        return FLOAT32_ZERO
    return replace(FLOAT32, slack=1e-6, missing=options["missing"])


def write(request: ExportRequest) -> Files:
    """Return the JSON of the model, and with a mapping that defines the features their JSON."""
    model, store = request.model, request.options["store"] or request.name
    keeps_direction = isinstance(model, TreeEnsemble) and request.options["missing"] == "direction"
    used = range(len(model.names)) if isinstance(model, NeuralNetwork) else model.used_features()
    names = [model.names[i] for i in used]
    params: dict[str, Any]
    if isinstance(model, TreeEnsemble):
        trees = [{"weight": "1", "root": _root(tree, model.names, keeps_direction)} for tree in model.flat()]
        params = {**({"isNullSameAsZero": False} if keeps_direction else {}), "trees": trees}
        kind = "MultipleAdditiveTreesModel"
    elif isinstance(model, LinearModel):
        if model.bias:
            request.notes.append("the constant is left out because LinearModel has none; it does not change the order")
        kind, params = "LinearModel", {"weights": {model.names[i]: to_float32(model.weights[i]) for i in used}}
    else:
        layers = [
            {"matrix": [[to_float32(weight) for weight in row] for row in layer.matrix.T],  # a row per unit
             "bias": [to_float32(bias) for bias in layer.bias], "activation": layer.activation}
            for layer in model.layers
        ]  # fmt: skip
        kind, params = "NeuralNetworkModel", {"layers": layers}
    features: list[dict[str, Any]] = [{"name": name} for name in names]
    normalisers = dict(zip(model.names, model.normalisers, strict=False))
    for feature in features:
        normaliser = normalisers.get(feature["name"])
        if normaliser is not None:
            norm_params = {"avg": repr(normaliser.shift), "std": repr(normaliser.scale)}
            feature["norm"] = {"class": f"{_NORM}.StandardNormalizer", "params": norm_params}
    body = {"store": store, "name": request.name, "class": f"{_MODEL}.{kind}", "features": features, "params": params}
    files = {"": to_json(body)}
    if request.mapping.has("class"):
        files[FEATURES] = to_json(feature_store(request.mapping, names, store, keeps_direction))
    else:
        request.notes.append("no feature store is written: give the classes of the features with --mapping")
        if keeps_direction:
            request.notes.append('every feature needs "defaultValue": "NaN" in its params; otherwise Solr sends 0')
    return files


def feature_store(
    mapping: FeatureMapping, names: Sequence[str], store: str, keeps_missing: bool
) -> list[dict[str, Any]]:
    """Return the content of a feature store; only with the default value NaN is an absent value missing, and not 0."""
    features = []
    for name, entry in mapping.definitions(names, "class").items():
        params = {
            key: value for key, value in entry.get("params", {}).items() if (key, value) != ("defaultValue", "NaN")
        }
        missing = {"defaultValue": "NaN"} if keeps_missing else {}
        features.append({"store": store, "name": name, "class": entry["class"], "params": params | missing})
    return features


def _root(tree: Tree, names: tuple[str, ...], keeps_direction: bool) -> Any:
    def node(number: int, left: Any, right: Any) -> dict[str, Any]:
        missing = {"missing": "left" if tree.missing_left[number] else "right"} if keeps_direction else {}
        threshold = repr(to_float32(tree.threshold[number]))
        return {
            "feature": names[int(tree.feature[number])], "threshold": threshold, **missing, "left": left, "right": right
        }  # fmt: skip

    return nest_tree(tree, node, lambda leaf: {"value": repr(to_float32(tree.value[leaf]))})


register(Exporter(
    "solr", "Solr's learning to rank", "apache/solr 62863bc, MultipleAdditiveTreesModel.java, NeuralNetworkModel.java",
    KINDS, write, rules, confirmed_with="Solr 8.11.4", supports_normalisers=True, computes_features=True,
    options={
        "store": Option("", "name of the feature store (default: the name of the model)"),
        "missing": Option("zero", "what NULL is; direction needs Solr 9.2 or newer", ("zero", "direction")),
    },
    read_back=read_back_as("solr"),
))  # fmt: skip
