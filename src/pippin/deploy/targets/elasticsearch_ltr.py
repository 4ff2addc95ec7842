"""The learning-to-rank plugin of Elasticsearch and OpenSearch: a model's body, and the feature set beside it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from pippin.deploy.nested import depths, nested, single
from pippin.deploy.target import Files, Option, Request, Target, register, rereader
from pippin.deploy.targets.ranklib import write as ranklib_text
from pippin.forms.form import Form, Linear, Normaliser, Scoring, Tree, Trees

_PLUGIN = Scoring("float32", "float32", "float32", "float32", totals="float32", operator="<")
_RANKLIB = Scoring("float32", "float32", "float32", "float32", totals="float32", missing="zero")
FEATURE_SET = ".featureset.json"


def elasticsearch(options: Mapping[str, str], form: Form) -> Scoring:
    """NULL goes where a node's `missing` says; RankLib's own classes know 0 alone."""
    return _scoring(options, form, "direction")


def opensearch(options: Mapping[str, str], form: Form) -> Scoring:
    """NULL is 0: by `missing_as_zero` from 3.6 on, and because it always was up to 3.1."""
    return _scoring(options, form, "zero")


def _scoring(options: Mapping[str, str], form: Form, missing: str) -> Scoring:
    if not isinstance(form, Trees):
        return Scoring("float32", "float32", "float32", "float32", totals="float32", missing="zero")
    if options["type"] == "ranklib":
        return _RANKLIB
    return Scoring("float32", "float32", "float32", "float32", totals="float32", operator="<", missing=missing)


def write(request: Request) -> Files:
    """The body for `_ltr/_featureset/NAME/_createmodel`; with templates, the body that makes the feature set, too."""
    form = request.form
    model: dict[str, Any] = {"type": "", "definition": ""}
    if isinstance(form, Linear):
        if form.bias:
            request.notes.append("the constant, which changes no order, is left out: model/linear has none")
        weights = {form.names[i]: single(form.weights[i]) for i in form.used()}
        model = {"type": "model/linear", "definition": json.dumps(weights, ensure_ascii=False)}
    elif request.options["type"] == "ranklib":
        model = {"type": "model/ranklib", "definition": ranklib_text(request)[""].decode()}
        request.notes.append("features are numbered as they stand in the feature set, from 1 on")
    else:
        splits = [tree(one, form.names) for one in form.flat()]
        body: dict[str, Any] = {"objective": "rank:ndcg", "splits": splits}
        if request.options.get("missing") == "as-zero":
            body["missing_as_zero"] = True
        model = {"type": "model/xgboost+json", "definition": json.dumps(body, ensure_ascii=False)}
    if any(form.normalisers):
        model["feature_normalizers"] = {
            name: {"standard": {"mean": one.shift, "standard_deviation": one.scale}}
            for name, one in zip(form.names, form.normalisers, strict=True) if isinstance(one, Normaliser)
        }  # fmt: skip
    files = {"": _json({"model": {"name": request.name, "model": model}})}
    if request.mapping.has("template"):
        files[FEATURE_SET] = _json(feature_set(request))
    else:
        request.notes.append(
            "no feature set is written, because no mapping says by which queries features are computed"
        )
    return files


def tree(one: Tree, names: tuple[str, ...]) -> dict[str, Any]:
    """A tree as `model/xgboost+json` reads it: children in the order yes, no."""
    numbers = {"next": len(one)}
    depth = depths(one)

    def of_leaf(at: int) -> dict[str, Any]:
        numbers["next"] += 1
        return {"nodeid": numbers["next"] - 1, "leaf": single(one.value[at])}

    def of_node(node: int, left: Any, right: Any) -> dict[str, Any]:
        missing = left if one.missing_left[node] else right
        return {
            "nodeid": node, "depth": depth[node], "split": names[int(one.feature[node])],
            "split_condition": single(one.threshold[node]), "yes": left["nodeid"], "no": right["nodeid"],
            "missing": missing["nodeid"], "children": [left, right],
        }  # fmt: skip

    found: dict[str, Any] = nested(one, of_node, of_leaf)
    return found


def feature_set(request: Request) -> dict[str, Any]:
    """The feature set: every feature of the model by its query, in the order of the model."""
    entries = request.mapping.defined(request.form.names, "template")
    features = [
        {"name": name, "params": entry.get("params", ["keywords"]), "template_language": "mustache",
         "template": entry["template"]}
        for name, entry in entries.items()
    ]  # fmt: skip
    return {"featureset": {"name": request.name, "features": features}}


def _json(value: Any) -> bytes:
    return (json.dumps(value, indent=1, ensure_ascii=False) + "\n").encode("utf-8", "surrogatepass")


_TYPE = Option(("xgboost", "ranklib"), "which of the plugin's tree formats")
_REFUSED = {"network": "the plugin knows weighted sums and trees alone"}

register(Target(
    "elasticsearch-ltr", "the learning-to-rank plugin of Elasticsearch",
    "o19s/elasticsearch-learning-to-rank 1dfed57, NaiveAdditiveDecisionTree.java, LinearRanker.java",
    ("linear", "trees"), write, _PLUGIN, options={"type": _TYPE}, refused=_REFUSED, by_option=elasticsearch,
    keeps_normalisers=True,
    reread=rereader("elasticsearch"),
))  # fmt: skip
register(Target(
    "opensearch-ltr", "the learning-to-rank plugin of OpenSearch",
    "opensearch-project/opensearch-learning-to-rank-base 3.6, as Elasticsearch's; NULL by its issues 200, 378",
    ("linear", "trees"), write, _PLUGIN,
    options={"type": _TYPE, "missing": Option(
        ("as-zero", "plain"), "as-zero: NULL is 0 from 3.6 on; plain: nothing is written of it, for up to 3.1")},
    refused=_REFUSED, by_option=opensearch, keeps_normalisers=True,
    reread=rereader("elasticsearch"),
))  # fmt: skip
