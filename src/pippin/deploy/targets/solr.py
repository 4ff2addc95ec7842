"""Solr's learning to rank: a model of the class that fits its form, and the feature store beside it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pippin.deploy.nested import nested, single
from pippin.deploy.target import KINDS, Files, Option, Request, Target, register, rereader
from pippin.deploy.targets.elasticsearch_ltr import _json
from pippin.forms.form import Form, Linear, Network, Normaliser, Scoring, Tree, Trees

_MODEL, _NORM = "org.apache.solr.ltr.model", "org.apache.solr.ltr.norm"
FEATURES = ".features.json"


def scoring(options: Mapping[str, str], form: Form) -> Scoring:
    """float32 throughout; a threshold is held with 1e-6 added to it."""
    slack = 1e-6 if isinstance(form, Trees) else 0.0
    missing = options["missing"] if isinstance(form, Trees) else "zero"
    return Scoring("float32", "float32", "float32", "float32", totals="float32", slack=slack, missing=missing)


def write(request: Request) -> Files:
    """The model's JSON; with a mapping that knows the queries, the features' JSON, too."""
    form = request.form
    names = list(form.names) if isinstance(form, Network) else [form.names[i] for i in form.used()]
    if isinstance(form, Trees):
        kind, parameters = "MultipleAdditiveTreesModel", _trees(form, request.options["missing"])
    elif isinstance(form, Linear):
        if form.bias:
            request.notes.append("the constant, which changes no order, is left out: LinearModel has none")
        kind, parameters = "LinearModel", {"weights": {form.names[i]: single(form.weights[i]) for i in form.used()}}
    else:
        kind, parameters = "NeuralNetworkModel", {"layers": _layers(form)}
    norms = dict(zip(form.names, form.normalisers, strict=False))
    features = [{"name": name, **_norm(norms.get(name))} for name in names]
    store = request.options["store"]
    model = {
        "store": store,
        "name": request.name,
        "class": f"{_MODEL}.{kind}",
        "features": features,
        "params": parameters,
    }
    files = {"": _json(model)}
    if request.mapping.has("class"):
        files[FEATURES] = _json(_store(request, names, store))
    else:
        request.notes.append(
            "no feature store is written, because no mapping says by which queries features are computed"
        )
    return files


def _trees(form: Trees, missing: str) -> dict[str, Any]:
    with_direction = missing == "direction"
    trees = [{"weight": "1", "root": _root(one, form.names, with_direction)} for one in form.flat()]
    return {**({"isNullSameAsZero": False} if with_direction else {}), "trees": trees}


def _root(one: Tree, names: tuple[str, ...], with_direction: bool) -> Any:
    def of_node(node: int, left: Any, right: Any) -> dict[str, Any]:
        missing = {"missing": "left" if one.missing_left[node] else "right"} if with_direction else {}
        return {"feature": names[int(one.feature[node])], "threshold": repr(single(one.threshold[node])), **missing,
                "left": left, "right": right}  # fmt: skip

    return nested(one, of_node, lambda at: {"value": repr(single(one.value[at]))})


def _layers(form: Network) -> list[dict[str, Any]]:
    """Solr's matrix has a row for each unit."""
    return [
        {"matrix": [[single(w) for w in row] for row in layer.matrix.T], "bias": [single(b) for b in layer.bias],
         "activation": layer.activation}
        for layer in form.layers
    ]  # fmt: skip


def _norm(one: Normaliser | None) -> dict[str, Any]:
    if one is None:
        return {}
    return {
        "norm": {"class": f"{_NORM}.StandardNormalizer", "params": {"avg": repr(one.shift), "std": repr(one.scale)}}
    }


def _store(request: Request, names: list[str], store: str) -> list[dict[str, Any]]:
    entries = request.mapping.defined(names, "class")
    return [
        {"store": store, "name": name, "class": entry["class"], "params": entry.get("params", {})}
        for name, entry in entries.items()
    ]  # fmt: skip


register(Target(
    "solr", "Solr's learning to rank", "apache/solr 62863bc, MultipleAdditiveTreesModel.java, NeuralNetworkModel.java",
    KINDS, write, by_option=scoring, keeps_normalisers=True,
    options={
        "store": Option(("_DEFAULT_", ""), "the feature store"),
        "missing": Option(("zero", "direction"), "what NULL is; direction needs a Solr that knows isNullSameAsZero"),
    },
    reread=rereader("solr"),
))  # fmt: skip
